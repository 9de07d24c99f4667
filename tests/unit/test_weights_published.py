"""Computed weights beside what llama-quantize prints and what publishers publish."""

from collections.abc import Mapping
from functools import cache

import pytest
import yaml

from service.core.architecture.model import Architecture
from service.core.architecture.parse import parse
from service.core.catalogued import Model
from service.core.evidence import Evidence
from service.core.weights.formats import FORMATS, Family
from service.core.weights.weigh import weigh, weigh_architecture
from tests import published

# Published files of these formats do not follow llama-quantize's plain recipe: the publisher overrode types
# of single tensors, or kept the experts as the checkpoint has them (gpt-oss).
OWN_MIXES = {
    ("qwen3.8-27b", "q4_k_m"),
    ("qwen3.6-35b-a3b", "q4_k_m"),
    ("qwen3.5-9b", "q4_k_m"),
    ("qwen3.5-4b", "q4_k_m"),
    ("qwen3-coder-next-80b-a3b", "q4_k_m"),
    ("gpt-oss-20b", "q4_k_m"),
}
# Tokenizer and metadata of a published file: 5.95 MB (152k vocabulary) to 15.82 MB (262k vocabulary).
METADATA = range(5_900_000, 15_900_000)


@cache
def architecture(name: str) -> Architecture:
    return parse(published.models()[name]["config"])


@cache
def catalogued(name: str) -> Model:
    facts = published.models()[name]
    return Model(
        id=name,
        name=facts["name"],
        family=facts["family"],
        publisher=facts["publisher"],
        hf_repo=facts["hf_repo"],
        architecture=architecture(name),
        parameters_total=facts["parameters"]["total"],
        parameters_active=facts["parameters"]["active"],
        parameters_exact=facts["parameters"]["exact"],
        evidence=facts["evidence"],
        sources=tuple(facts["sources"]),
        native_bytes=facts["native_weights"]["bytes"],
        native_evidence=Evidence(facts["native_weights"]["evidence"]),
        published_files=facts["gguf_bytes"] or {},
    )


def sizes(
    name: str, wanted: Mapping[str, int], *, mtp: bool = False, unused_kv: bool = True
) -> dict[str, int]:
    return {
        quantization: weigh_architecture(
            architecture(name), quantization, mtp=mtp, unused_kv=unused_kv
        ).total_bytes
        for quantization in wanted
    }


RAN = sorted(published.llamacpp_figures())
WITH_BYTES = sorted(i for i, facts in published.models().items() if facts["native_weights"]["bytes"])
FILES = sorted(
    (name, quantization)
    for name, facts in published.models().items()
    for quantization in facts["gguf_bytes"] or {}
    if quantization in FORMATS
)


@pytest.mark.parametrize("name", RAN)
def test_gguf_sizes_to_the_byte(name: str) -> None:
    """Every file type that llama-quantize was asked for comes out at exactly its size."""
    wanted = published.llamacpp_figures()[name]["sizes_bytes"]
    assert sizes(name, wanted) == wanted


@pytest.mark.parametrize("name", RAN)
def test_unquantised_gguf_to_the_byte(name: str) -> None:
    """The converter's own output, before any quantization, comes out at exactly its size."""
    table = weigh_architecture(architecture(name), "bf16", family=Family.GGUF)
    assert table.total_bytes == published.llamacpp_figures()[name]["unquantised_bytes"]


@pytest.mark.parametrize(
    "name", [n for n in RAN if "sizes_with_mtp_bytes" in published.llamacpp_figures()[n]]
)
def test_gguf_sizes_with_prediction_layers(name: str) -> None:
    """MTP layers count as further layers of the recipe."""
    wanted = published.llamacpp_figures()[name]["sizes_with_mtp_bytes"]
    assert sizes(name, wanted, mtp=True) == wanted


@pytest.mark.parametrize(
    "name", [n for n in RAN if "sizes_without_shared_kv_bytes" in published.llamacpp_figures()[n]]
)
def test_gguf_sizes_without_unused_keys_and_values(name: str) -> None:
    """Files without the K and V matrices that no layer reads are smaller by exactly those."""
    wanted = published.llamacpp_figures()[name]["sizes_without_shared_kv_bytes"]
    assert sizes(name, wanted, unused_kv=False) == wanted


@pytest.mark.parametrize(("name", "quantization"), [pair for pair in FILES if pair not in OWN_MIXES])
def test_published_files(name: str, quantization: str) -> None:
    """A published file is the recipe's tensors plus a tokenizer; a dynamic one has exactly its own bytes."""
    file_bytes = published.models()[name]["gguf_bytes"][quantization]
    model = catalogued(name)
    if FORMATS[quantization].neighbour:
        table = weigh(model, quantization)
        assert table.total_bytes == table.published_file_bytes == file_bytes
        assert (table.evidence, table.estimated) == (Evidence.CHECKPOINT, False)
        assert table.sum == file_bytes
        return
    # Google leaves the unused K and V of its Gemma 4 E files out; nobody else has any.
    table = weigh(model, quantization, family=Family.GGUF, unused_kv=False)
    assert table.published_file_bytes == file_bytes
    assert file_bytes - table.total_bytes in METADATA


@pytest.mark.parametrize("name", WITH_BYTES)
def test_native_checkpoints(name: str) -> None:
    """The tensors of the config in the checkpoint's formats agree with the published bytes within 0.1 %."""
    wanted = published.models()[name]["native_weights"]["bytes"]
    computed = weigh_architecture(architecture(name), "native", mtp=True, vision=True).total_bytes
    assert computed == pytest.approx(wanted, rel=0.001)
    assert weigh(catalogued(name), "native", mtp=True, vision=True).total_bytes == wanted


def test_kimi_k3_1_with_its_vision_tower() -> None:
    """Only the routed experts are MXFP4: 2,722,740,830,208 at 4.25 bits, everything else at 16."""
    experts = 896 * 92 * 3 * 3584 * 3072
    table = weigh(catalogued("kimi-k3.1-pro"), "native", vision=True)
    assert table.total_bytes == 1_561_195_115_712
    assert experts * 17 // 32 < table.total_bytes
    assert table.evidence is Evidence(published.models()["kimi-k3.1-pro"]["native_weights"]["evidence"])
    routed = sum(w.count * w.tensor.parameters for w in table.tensors if w.encoding == "mxfp4")
    assert routed == experts


def test_unpublished_checkpoints_are_estimates() -> None:
    """Unpublished, a quantized checkpoint is an estimate and a 16-bit one follows from the config."""
    plain = weigh_architecture(architecture("qwen3-8b"), "native")
    quantized = weigh_architecture(architecture("deepseek-v3.2-685b"), "native")
    assert (plain.evidence, quantized.evidence) == (Evidence.CONFIG, Evidence.ESTIMATE)


def test_vision_and_prediction_layers_are_left_out_unless_asked_for() -> None:
    """Without them a native table is smaller by exactly their bytes."""
    model = catalogued("qwen3.5-27b")
    whole = weigh(model, "native", mtp=True, vision=True)
    text = weigh(model, "native")
    # Parameters of the MTP layer and the vision tower, at two bytes.
    assert whole.total_bytes - text.total_bytes == 2 * (424_699_392 + 460_730_096)


def test_sixteen_bit_is_the_native_checkpoint_where_nothing_is_quantized() -> None:
    """`bf16` and `native` are the same table for a 16-bit model, and differ for a quantized one."""
    same, quantized = catalogued("qwen3-8b"), catalogued("gpt-oss-20b")
    assert weigh(same, "bf16").total_bytes == weigh(same, "native").total_bytes
    assert weigh(quantized, "bf16").total_bytes > 2 * weigh(quantized, "native").total_bytes
    assert weigh(quantized, "mxfp4").total_bytes == weigh(quantized, "native").total_bytes


def test_a_table_is_made_once() -> None:
    """Asking twice gives the same object; another model of the same id is another table."""
    model = catalogued("qwen3-8b")
    assert weigh(model, "q4_k_m") is weigh(model, "q4_k_m")
    assert weigh(model, "q4_k_m") is not weigh(model, "q4_k_m", mtp=True)


def test_the_published_list_of_formats() -> None:
    """Every format that the catalog lists can be weighed, and none is left out of the list."""
    rows = yaml.safe_load((published.ROOT / "config" / "quantizations.yaml").read_text(encoding="utf-8"))
    listed = {row["id"]: row["family"] for row in rows}
    home = {row.id: row.family.value for row in FORMATS.values()} | {"native": "native"}
    assert listed == home
