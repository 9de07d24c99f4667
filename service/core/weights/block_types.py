"""GGML's storage types: how many elements a block holds and how many bytes it takes."""

from enum import Enum
from functools import lru_cache
from math import prod


class GgmlType(Enum):
    """A GGML type as (name, elements per block, bytes per block); gguf-py constants.py GGML_QUANT_SIZES."""

    F32 = ("f32", 1, 4)
    F16 = ("f16", 1, 2)
    BF16 = ("bf16", 1, 2)
    I32 = ("i32", 1, 4)
    I64 = ("i64", 1, 8)
    Q4_0 = ("q4_0", 32, 18)
    Q4_1 = ("q4_1", 32, 20)
    Q5_0 = ("q5_0", 32, 22)
    Q5_1 = ("q5_1", 32, 24)
    Q8_0 = ("q8_0", 32, 34)
    Q2_K = ("q2_k", 256, 84)
    Q3_K = ("q3_k", 256, 110)
    Q4_K = ("q4_k", 256, 144)
    Q5_K = ("q5_k", 256, 176)
    Q6_K = ("q6_k", 256, 210)
    IQ1_S = ("iq1_s", 256, 50)
    IQ1_M = ("iq1_m", 256, 56)
    IQ2_XXS = ("iq2_xxs", 256, 66)
    IQ2_XS = ("iq2_xs", 256, 74)
    IQ2_S = ("iq2_s", 256, 82)
    IQ3_XXS = ("iq3_xxs", 256, 98)
    IQ3_S = ("iq3_s", 256, 110)
    IQ4_NL = ("iq4_nl", 32, 18)
    IQ4_XS = ("iq4_xs", 256, 136)
    TQ1_0 = ("tq1_0", 256, 54)
    TQ2_0 = ("tq2_0", 256, 66)
    MXFP4 = ("mxfp4", 32, 17)
    NVFP4 = ("nvfp4", 64, 36)
    Q1_0 = ("q1_0", 128, 18)
    Q2_0 = ("q2_0", 64, 18)

    __hash__ = object.__hash__  # Enum hashes the name, in Python, at every look-up

    def __init__(self, label: str, block_elements: int, block_bytes: int) -> None:
        self.label = label
        self.block_elements = block_elements
        self.block_bytes = block_bytes

    def fits(self, row_length: int) -> bool:
        """Whether rows of this length are whole blocks."""
        return row_length % self.block_elements == 0

    def row_bytes(self, row_length: int) -> int:
        """Bytes of one row; ValueError when the row is not a whole number of blocks."""
        if not self.fits(row_length):
            raise ValueError(f"{self.label}: {row_length} is not a multiple of {self.block_elements}")
        return row_length // self.block_elements * self.block_bytes


# What llama.cpp src/llama-quant.cpp takes when a row is not whole blocks of the type chosen first.
FALLBACKS = {
    **dict.fromkeys(
        (
            GgmlType.IQ1_S,
            GgmlType.IQ1_M,
            GgmlType.IQ2_XXS,
            GgmlType.IQ2_XS,
            GgmlType.IQ2_S,
            GgmlType.IQ3_XXS,
            GgmlType.IQ3_S,
            GgmlType.IQ4_XS,
        ),
        GgmlType.IQ4_NL,
    ),
    **dict.fromkeys(
        (GgmlType.Q2_0, GgmlType.Q2_K, GgmlType.Q3_K, GgmlType.TQ1_0, GgmlType.TQ2_0), GgmlType.Q4_0
    ),
    GgmlType.Q4_K: GgmlType.Q5_0,
    GgmlType.Q5_K: GgmlType.Q5_1,
    GgmlType.Q6_K: GgmlType.Q8_0,
}


@lru_cache(maxsize=2**16)
def fitting(chosen: GgmlType, row_length: int) -> GgmlType:
    """The chosen type, or what takes its place for rows that it cannot hold; F16 when nothing else does."""
    if chosen.fits(row_length):
        return chosen
    second = FALLBACKS.get(chosen, chosen)
    return second if second.fits(row_length) else GgmlType.F16


def tensor_bytes(chosen: GgmlType, shape: tuple[int, ...]) -> int:
    """Bytes of a tensor of this shape (row length last); a whole number of blocks per row."""
    return prod(shape[:-1]) * chosen.row_bytes(shape[-1])
