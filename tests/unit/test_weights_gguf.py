"""The quantizer's rules on models that are built by hand, tensor by tensor."""

import pytest

from service.core.architecture.model import Architecture, Experts, FeedForward, Layer, LayerKind
from service.core.architecture.tensors import Tensor, TensorClass
from service.core.evidence import Evidence
from service.core.weights.block_types import GgmlType
from service.core.weights.formats import FORMATS, Family
from service.core.weights.gguf import weigh_gguf
from service.core.weights.gguf_rules import Among, Category, category, more_bits
from service.core.weights.weigh import weigh_architecture


def norm(role: str, width: int) -> Tensor:
    return Tensor(role, (width,), TensorClass.NORM)


def matrix(role: str, *shape: int, kind: TensorClass = TensorClass.ATTENTION) -> Tensor:
    return Tensor(role, shape, kind, linear=True)


def attention(width: int, heads: int, kv_heads: int, head: int) -> tuple[Tensor, ...]:
    return (
        norm("attn_norm.weight", width),
        matrix("attn_q.weight", heads * head, width),
        matrix("attn_k.weight", kv_heads * head, width),
        matrix("attn_v.weight", kv_heads * head, width),
        matrix("attn_output.weight", width, heads * head),
        norm("ffn_norm.weight", width),
    )


def dense(width: int, inner: int) -> tuple[Tensor, ...]:
    return (
        matrix("ffn_gate.weight", inner, width, kind=TensorClass.DENSE_FFN),
        matrix("ffn_up.weight", inner, width, kind=TensorClass.DENSE_FFN),
        matrix("ffn_down.weight", width, inner, kind=TensorClass.DENSE_FFN),
    )


def mixture(width: int, inner: int, experts: int) -> tuple[Tensor, ...]:
    routed = TensorClass.ROUTED_EXPERTS
    return (
        Tensor("ffn_gate_inp.weight", (experts, width), TensorClass.ROUTER),
        matrix("ffn_gate_exps.weight", experts, inner, width, kind=routed),
        matrix("ffn_up_exps.weight", experts, inner, width, kind=routed),
        matrix("ffn_down_exps.weight", experts, width, inner, kind=routed),
    )


def model(
    *,
    layers: int = 32,
    width: int = 4096,
    heads: int = 32,
    kv_heads: int = 8,
    inner: int = 14336,
    vocabulary: int = 128256,
    experts: int = 0,
    tied: bool = False,
    gguf: str = "llama",
    outer: tuple[Tensor, ...] = (),
) -> Architecture:
    head = 128
    feed_forward = mixture(width, inner, experts) if experts else dense(width, inner)
    layer = Layer(
        LayerKind.FULL,
        FeedForward.MOE if experts else FeedForward.DENSE,
        (*attention(width, heads, kv_heads, head), *feed_forward),
    )
    ends = (
        Tensor("token_embd.weight", (vocabulary, width), TensorClass.EMBEDDING),
        norm("output_norm.weight", width),
    )
    if not tied:
        ends += (Tensor("output.weight", (vocabulary, width), TensorClass.OUTPUT, linear=True),)
    return Architecture(
        engine_class="LlamaForCausalLM",
        model_type="llama",
        gguf_architecture=gguf,
        hidden_size=width,
        vocabulary=vocabulary,
        max_context_tokens=131072,
        attention_heads=heads,
        kv_heads=kv_heads,
        head_dim=head,
        dense_width=inner,
        tied=tied,
        outer=(*ends, *outer),
        layers=(layer,) * layers,
        experts=Experts(experts, 2, inner) if experts else None,
    )


def types(architecture: Architecture, quantization: str, role: str) -> list[str]:
    """The type of the tensor in each layer, in their order."""
    found = [w for w in weigh_gguf(architecture, quantization) if w.tensor.role == role]
    return [
        encoding for _, encoding in sorted((layer, w.encoding) for w in found for layer in w.layers or (-1,))
    ]


# llama-quantize --dry-run (llama.cpp of 2026-10-01) on a header of Llama 3.1 8B's shapes.
LLAMA_3_1_8B = {
    "q2_k": 3171295488,
    "q3_k_m": 4011081984,
    "iq4_xs": 4476526848,
    "q4_k_s": 4684833024,
    "q4_k_m": 4912898304,
    "q5_k_m": 5725151488,
    "q6_k": 6588170496,
    "q8_0": 8532934912,
}


@pytest.mark.parametrize(("quantization", "size"), LLAMA_3_1_8B.items())
def test_llama_is_weighed_to_the_byte(quantization: str, size: int) -> None:
    """A recipe applied to hand-written shapes gives the bytes that llama-quantize itself prints."""
    rope = Tensor("rope_freqs.weight", (64,), TensorClass.OTHER, in_checkpoint=False)
    table = weigh_architecture(model(outer=(rope,)), quantization)
    assert table.total_bytes == size
    assert table.sum == size
    assert table.evidence is Evidence.RECIPE


def test_the_converters_own_file() -> None:
    """A BF16 file keeps vectors at four bytes and everything else at two."""
    architecture = model(layers=1, width=256, heads=2, kv_heads=1, inner=512, vocabulary=1000)
    vectors = 3 * 256
    matrices = 2 * 1000 * 256 + 256 * (256 + 128 + 128) + 256 * 256 + 3 * 256 * 512
    table = weigh_architecture(architecture, "bf16", family=Family.GGUF)
    assert table.total_bytes == 4 * vectors + 2 * matrices


def test_routers_are_not_quantized() -> None:
    """The router of a mixture of experts stays in 32 bit whatever the file type."""
    architecture = model(layers=2, experts=16)
    assert set(types(architecture, "q2_k", "ffn_gate_inp.weight")) == {"f32"}


@pytest.mark.parametrize(
    ("index", "expected"),
    [(0, True), (3, True), (4, False), (5, False), (6, True), (7, False), (9, True), (27, True), (28, True)],
)
def test_more_bits(index: int, expected: bool) -> None:
    """Of 32 layers the first and last four and every third between get more bits."""
    chosen = more_bits(GgmlType.Q6_K)(Among(32, 4, 0), index)
    assert chosen is (GgmlType.Q6_K if expected else None)


def test_a_tied_head_is_the_embedding() -> None:
    """Where output and embedding are one matrix it gets the head's type, else the base type."""
    assert types(model(tied=True), "q4_k_m", "token_embd.weight") == ["q6_k"]
    assert types(model(), "q4_k_m", "token_embd.weight") == ["q4_k"]
    assert types(model(), "q4_k_m", "output.weight") == ["q6_k"]
    assert types(model(), "iq3_xxs", "token_embd.weight") == ["iq3_s"]
    assert types(model(), "iq3_xxs", "output.weight") == ["q5_k"]


def test_grouped_heads_get_more_value_bits() -> None:
    """Q2_K gives values Q4_K from four query heads per KV head, Q3_K below."""
    assert set(types(model(layers=2), "q2_k", "attn_v.weight")) == {"q4_k"}
    assert set(types(model(layers=2, kv_heads=16), "q2_k", "attn_v.weight")) == {"q3_k"}


@pytest.mark.parametrize(("gguf", "expected"), [("llama", "q5_k"), ("qwen2", "q5_k"), ("qwen3", "q4_k")])
def test_eighty_layers(gguf: str, expected: str) -> None:
    """The 70B models of two architectures get Q5_K values where others of 80 layers get Q4_K."""
    architecture = model(layers=80, gguf=gguf)
    assert types(architecture, "q3_k_m", "attn_v.weight")[40] == expected


def test_eight_experts() -> None:
    """Exactly eight experts raise attention: values and keys Q8_0, output Q5_K; sixteen do not."""
    eight, sixteen = model(layers=4, experts=8), model(layers=4, experts=16)
    assert set(types(eight, "q4_k_m", "attn_v.weight")) == {"q8_0"}
    assert set(types(eight, "q4_k_m", "attn_k.weight")) == {"q8_0"}
    assert set(types(eight, "q4_k_m", "attn_output.weight")) == {"q5_k"}
    assert set(types(eight, "q5_k_m", "attn_output.weight")) == {"q5_k"}
    assert set(types(eight, "iq1_s", "attn_k.weight")) == {"q4_k"}
    assert set(types(sixteen, "q4_k_m", "attn_k.weight")) == {"q4_k"}


def test_low_bit_types() -> None:
    """IQ2 and IQ1 give the first eighth of the down projections Q2_K and their output its own type."""
    architecture = model(layers=16)
    assert types(architecture, "iq1_m", "ffn_down.weight") == ["q2_k"] * 2 + ["iq1_m"] * 14
    assert set(types(architecture, "iq1_m", "attn_output.weight")) == {"iq2_xxs"}
    assert set(types(architecture, "iq2_s", "attn_q.weight")) == {"iq2_xs"}
    assert set(types(architecture, "iq2_s", "attn_v.weight")) == {"q4_k"}


def test_experts_become_mxfp4() -> None:
    """MXFP4_MOE writes three-dimensional tensors as MXFP4 and the rest as Q8_0."""
    architecture = model(layers=2, experts=16)
    assert set(types(architecture, "mxfp4_moe", "ffn_down_exps.weight")) == {"mxfp4"}
    assert set(types(architecture, "mxfp4_moe", "attn_q.weight")) == {"q8_0"}


def test_names_decide_the_category() -> None:
    """An indexer's key counts as a key, the head only outside the layers."""
    assert category("indexer.attn_k.weight", inside=True) is Category.KEY
    assert category("output.weight", inside=False) is Category.HEAD
    assert category("attn_output.weight", inside=True) is Category.ATTENTION_OUTPUT
    assert category("ffn_down_shexp.weight", inside=True) is Category.DOWN


@pytest.mark.parametrize("name", [row.id for row in FORMATS.values() if row.neighbour])
def test_dynamic_formats_are_estimates(name: str) -> None:
    """A publisher's own per-tensor mix has no rule: its bytes are marked as estimated."""
    table = weigh_architecture(model(layers=2), name)
    assert table.estimated
    assert table.evidence is Evidence.ESTIMATE


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_weighs_every_tensor(name: str) -> None:
    """Every format has bytes for a dense and a mixture model, and they sum to the total."""
    for architecture in (model(layers=2), model(layers=2, experts=16)):
        table = weigh_architecture(architecture, name)
        assert table.total_bytes == table.sum > 0
        assert sum(weighed.count for weighed in table.tensors) == sum(1 for _ in architecture.text_tensors())


def test_forms_that_do_not_exist() -> None:
    """A GGUF of AWQ weights, or safetensors of a K-quant, is refused."""
    with pytest.raises(ValueError, match="no GGUF form"):
        weigh_architecture(model(), "awq-int4", family=Family.GGUF)
    with pytest.raises(ValueError, match="GGUF format"):
        weigh_architecture(model(), "q4_k_m", family=Family.SAFETENSORS)
