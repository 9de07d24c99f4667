"""GGML's block types: bits per weight, whole blocks, and what replaces a type that a row does not fit."""

import pytest

from service.core.weights.block_types import GgmlType, fitting, tensor_bytes


@pytest.mark.parametrize(
    ("chosen", "row", "expected"),
    [
        (GgmlType.Q4_K, 4096, GgmlType.Q4_K),
        (GgmlType.Q4_K, 2880, GgmlType.Q5_0),
        (GgmlType.Q5_K, 2880, GgmlType.Q5_1),
        (GgmlType.Q6_K, 2880, GgmlType.Q8_0),
        (GgmlType.Q2_K, 2880, GgmlType.Q4_0),
        (GgmlType.IQ4_XS, 2880, GgmlType.IQ4_NL),
        (GgmlType.Q4_K, 100, GgmlType.F16),
        (GgmlType.MXFP4, 100, GgmlType.F16),
    ],
)
def test_rows_that_do_not_fit(chosen: GgmlType, row: int, expected: GgmlType) -> None:
    """A row that is not whole blocks falls back to a type of 32, and to F16 when that fails too."""
    assert fitting(chosen, row) is expected


@pytest.mark.parametrize(
    ("chosen", "bits"),
    [
        (GgmlType.F32, 32),
        (GgmlType.BF16, 16),
        (GgmlType.Q8_0, 8.5),
        (GgmlType.Q6_K, 6.5625),
        (GgmlType.Q5_K, 5.5),
        (GgmlType.Q5_1, 6),
        (GgmlType.Q4_K, 4.5),
        (GgmlType.Q4_1, 5),
        (GgmlType.IQ4_XS, 4.25),
        (GgmlType.MXFP4, 4.25),
        (GgmlType.Q3_K, 3.4375),
        (GgmlType.IQ3_XXS, 3.0625),
        (GgmlType.Q2_K, 2.625),
        (GgmlType.IQ2_S, 2.5625),
        (GgmlType.IQ2_XXS, 2.0625),
        (GgmlType.IQ1_M, 1.75),
        (GgmlType.IQ1_S, 1.5625),
    ],
)
def test_bits_per_weight(chosen: GgmlType, bits: float) -> None:
    """Block sizes give the bits per weight that llama.cpp documents."""
    assert tensor_bytes(chosen, (3, 512)) * 8 == 3 * 512 * bits


def test_a_partial_block_is_refused() -> None:
    """A row that is not whole blocks cannot be weighed in that type."""
    with pytest.raises(ValueError, match="not a multiple"):
        tensor_bytes(GgmlType.Q4_K, (1, 100))
