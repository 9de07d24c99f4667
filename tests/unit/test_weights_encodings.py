"""Bytes of a matrix in the encodings of checkpoints, against arithmetic written out."""

import pytest

from service.core.architecture.tensors import Dtype, Tensor, TensorClass
from service.core.weights.checkpoint import format_encoder
from service.core.weights.encodings import ENCODINGS
from service.core.weights.formats import FORMATS
from service.core.weights.scaling import scaled_to
from service.core.weights.table import Weighed
from tests.unit.test_weights_gguf import model

ROWS, COLUMNS = 1024, 4096
ELEMENTS = ROWS * COLUMNS


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("bf16", 2 * ELEMENTS),
        ("f32", 4 * ELEMENTS),
        ("fp8_tensor", ELEMENTS + 4),
        ("fp8_channel", ELEMENTS + 4 * ROWS),
        ("fp8_block_128", ELEMENTS + 4 * (ROWS // 128) * (COLUMNS // 128)),
        ("fp8_block_128_e8m0", ELEMENTS + (ROWS // 128) * (COLUMNS // 128)),
        ("fp8_block_32", ELEMENTS + (ROWS // 32) * (COLUMNS // 32)),
        ("mxfp8", ELEMENTS + ELEMENTS // 32),
        ("mxfp4", ELEMENTS // 2 + ELEMENTS // 32),
        ("nvfp4", ELEMENTS // 2 + ELEMENTS // 16 + 4),
        ("int8_channel", ELEMENTS + 2 * ROWS),
        ("int4_group_32", ELEMENTS // 2 + 2 * ELEMENTS // 32),
        ("awq_group_128", ELEMENTS // 2 + ELEMENTS // 128 * 2 + ELEMENTS // 128 // 2),
        ("gptq_group_128", ELEMENTS // 2 + ELEMENTS // 128 * 2 + ELEMENTS // 128 // 2 + 4 * COLUMNS),
        ("nf4", ELEMENTS // 2 + ELEMENTS // 64 + ELEMENTS // 64 // 256 * 4),
        ("affine_4", ELEMENTS // 2 + ELEMENTS // 64 * 4),
        ("affine_8", ELEMENTS + ELEMENTS // 64 * 4),
        ("affine_3", ELEMENTS * 3 // 8 + ELEMENTS // 64 * 4),
    ],
)
def test_bytes_of_a_matrix(encoding: str, expected: int) -> None:
    """Values, scales and zero points are all counted."""
    assert ENCODINGS[encoding]((ROWS, COLUMNS)) == expected


@pytest.mark.parametrize(
    ("encoding", "bits"), [("mxfp4", 4.25), ("awq_group_128", 4.15625), ("affine_4", 4.5)]
)
def test_bits_per_weight(encoding: str, bits: float) -> None:
    """The encodings give the bits per weight that their publishers state."""
    assert ENCODINGS[encoding]((ROWS, COLUMNS)) * 8 / ELEMENTS == bits


def test_a_partial_block_has_a_whole_scale() -> None:
    """7168 x 576 in 128 x 128 blocks needs 56 x 5 scales, the fifth for half a block."""
    assert ENCODINGS["fp8_block_128"]((576, 7168)) == 576 * 7168 + 5 * 56 * 4


def test_experts_are_encoded_one_by_one() -> None:
    """Sixteen experts of 64 rows have sixteen times the scales of one, not those of 1024 rows."""
    one = ENCODINGS["fp8_block_128"]((64, 256))
    assert one == 64 * 256 + 2 * 4
    assert ENCODINGS["fp8_block_128"]((16, 64, 256)) == 16 * one


def chosen(quantization: str, tensor: Tensor, *, experts: int = 0) -> str:
    return format_encoder(FORMATS[quantization], model(layers=1, experts=experts))(tensor)


LINEAR = Tensor("attn_q.weight", (64, 128), TensorClass.ATTENTION, linear=True)
EXPERTS = Tensor("ffn_up_exps.weight", (8, 64, 128), TensorClass.ROUTED_EXPERTS, linear=True)
ROUTER = Tensor("ffn_gate_inp.weight", (8, 128), TensorClass.ROUTER, linear=True)
EMBEDDING = Tensor("token_embd.weight", (100, 128), TensorClass.EMBEDDING)
HEAD = Tensor("output.weight", (100, 128), TensorClass.OUTPUT, linear=True)
NORM = Tensor("attn_norm.weight", (128,), TensorClass.NORM)
BIAS = Tensor("exp_probs_b.bias", (8,), TensorClass.ROUTER, dtype=Dtype.F32)


@pytest.mark.parametrize("quantization", ["fp8", "int8", "awq-int4", "gptq-int4", "nvfp4", "bnb-nf4"])
def test_what_quantizers_spare(quantization: str) -> None:
    """Embedding, head, norms and router stay at 16 bit, and 32-bit tensors at 32."""
    assert {chosen(quantization, t) for t in (EMBEDDING, HEAD, NORM, ROUTER)} == {"bf16"}
    assert chosen(quantization, BIAS) == "f32"
    assert chosen(quantization, LINEAR) == FORMATS[quantization].encoding


def test_fused_experts_are_no_linear_modules() -> None:
    """bitsandbytes replaces nn.Linear only, so a fused expert tensor stays at 16 bit; AWQ packs it."""
    assert chosen("bnb-nf4", EXPERTS, experts=8) == "bf16"
    assert chosen("awq-int4", EXPERTS, experts=8) == "awq_group_128"


def test_mxfp4_is_for_experts() -> None:
    """MXFP4 quantizes routed experts alone, and every linear layer of a model without experts."""
    assert chosen("mxfp4", EXPERTS, experts=8) == "mxfp4"
    assert chosen("mxfp4", LINEAR, experts=8) == "bf16"
    assert chosen("mxfp4", LINEAR) == "mxfp4"


def test_mlx_quantizes_the_embedding_too() -> None:
    """MLX quantizes embedding and head, keeps routers at 8 bit, norms and odd rows as they are."""
    odd = Tensor("odd.weight", (10, 100), TensorClass.ATTENTION, linear=True)
    assert {chosen("mlx-4bit", t) for t in (EMBEDDING, HEAD, LINEAR)} == {"affine_4"}
    assert chosen("mlx-4bit", ROUTER) == "affine_8"
    assert {chosen("mlx-4bit", t) for t in (NORM, odd)} == {"bf16"}


def test_half_precision_names_itself() -> None:
    """`fp16` stores what `bf16` stores, and leaves 32-bit tensors alone."""
    assert (chosen("fp16", LINEAR), chosen("fp16", BIAS)) == ("fp16", "f32")


def test_a_published_total_is_spread_exactly() -> None:
    """Spread bytes sum to the total, keep their proportions and leave 32-bit tensors alone."""
    table = [
        Weighed(LINEAR, (0,), 300, "q4_k"),
        Weighed(BIAS, (0,), 50, "f32"),
        Weighed(EXPERTS, (0,), 700, "q6_k"),
    ]
    spread = scaled_to(1051, table)
    assert [weighed.bytes for weighed in spread] == [300, 50, 701]
    assert sum(weighed.all_bytes for weighed in scaled_to(99_991, table)) == 99_991


def test_layers_that_are_alike_stay_alike_when_a_total_is_spread() -> None:
    """Three layers of 100 bytes and a table of 50 share 366: 104 each (104.57), 52 and the 2 left over."""
    table = [Weighed(LINEAR, (0, 1, 2), 100, "q4_k"), Weighed(EXPERTS, (), 50, "q4_k")]
    spread = [(weighed.layers, weighed.bytes) for weighed in scaled_to(366, table)]
    assert spread == [((0, 1, 2), 104), ((), 54)]


def test_what_is_left_over_goes_to_the_first_layer_where_no_tensor_is_single() -> None:
    """Three layers of 100 bytes share 365 bytes: 121 each (121.67) and 2 more in the first."""
    spread = scaled_to(365, [Weighed(LINEAR, (4, 5, 6), 100, "q4_k")])
    assert [(weighed.layers, weighed.bytes) for weighed in spread] == [((4,), 123), ((5, 6), 121)]
