"""The facts under config/, as they are loaded."""

from collections import Counter
from pathlib import Path
from types import MappingProxyType

import pytest
import yaml

from service.catalog import Catalog, load_catalog
from service.catalog.check import main
from service.core.evidence import Evidence
from service.core.hardware import GpuKind

ROOT = Path(__file__).resolve().parents[2]
MIB = 2**20


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT / "config")


def expected(name: str) -> list[dict]:
    return yaml.load((ROOT / "tests" / "data" / name).read_text(encoding="utf-8"), yaml.CSafeLoader)


def test_everything_is_there(catalog: Catalog) -> None:
    """80 models, 57 accelerators, 155 offers and 7 engines are served, as the task lists them."""
    assert (len(catalog.models), len(catalog.gpus), len(catalog.offers), len(catalog.engines)) == (
        80,
        57,
        155,
        7,
    )


def test_every_model_of_the_expectations_is_a_model(catalog: Catalog) -> None:
    """Ids are the API's and never change."""
    assert {row["id"] for row in expected("expectations.yaml")} == set(catalog.models)


def test_active_parameters_agree_with_the_second_derivation(catalog: Catalog) -> None:
    """The catalog's active count of every model is the one derived apart from it."""
    differing = {
        row["id"]: (catalog.models[row["id"]].parameters_active, row["active_parameters"])
        for row in expected("expectations.yaml")
        if catalog.models[row["id"]].parameters_active != row["active_parameters"]
    }
    assert differing == {}


def test_support_is_what_the_registries_say(catalog: Catalog) -> None:
    """yes, no and unknown of the four engines that were read; a version floor counts as yes."""
    for row in expected("expectations.yaml"):
        for engine, status in row["supported"].items():
            wanted = status if status in {"yes", "no", "unknown"} else "yes"
            assert catalog.models[row["id"]].support[engine].status == wanted, (row["id"], engine)


def test_support_floors_are_kept(catalog: Catalog) -> None:
    """Kimi K3.1 Pro runs from llama.cpp b12180 on, on vLLM after 0.33.0, and not on SGLang 0.5.23."""
    support = catalog.models["kimi-k3.1-pro"].support
    assert support["llama.cpp"].since == "b12180"
    assert "0.33.0" in support["vllm"].since
    assert support["sglang"].status == "no"


def test_what_embeds_llama_cpp_supports_the_same_models(catalog: Catalog) -> None:
    """Ollama and LM Studio run what llama.cpp runs; TensorRT-LLM was not read for any model."""
    for model in catalog.models.values():
        assert set(model.support) == set(catalog.engines)
        assert model.support["ollama"].status == model.support["llama.cpp"].status
        assert model.support["lm-studio"].status == model.support["llama.cpp"].status
        assert model.support["tensorrt-llm"].status == "unknown"


# Models trained further from another's weights, or published again: the same graph, hence the same buffers.
SAME_GRAPH = {
    "deepseek-v3-0324-671b": "deepseek-r1-0528-671b",
    "deepseek-r1-distill-llama-70b": "llama-3.3-70b-instruct",
    "deepseek-r1-distill-llama-8b": "llama-3.1-8b-instruct",
    "qwen3.5-27b": "qwen3.8-27b",
    "qwen3.5-35b-a3b": "qwen3.6-35b-a3b",
}


def test_compute_floats_are_llama_cpps_own(catalog: Catalog) -> None:
    """45 models carry the compute buffer that llama.cpp printed, 5 that of their architecture, 30 none."""
    figures = {row["model"]: row for row in expected("llamacpp_figures.yaml")}
    for model in catalog.models.values():
        row = figures.get(SAME_GRAPH.get(model.id, model.id))
        assert model.compute_floats == (row["compute_floats_per_token"] if row else None), model.id
        assert model.compute_exact == bool(row and row["c_exact"]), model.id


def test_published_files_have_api_format_ids(catalog: Catalog) -> None:
    """A published GGUF is found under the id that a scenario names, also gpt-oss's own mxfp4 file."""
    assert catalog.models["qwen3-8b"].published_files == {"q4_k_m": 5027783488, "q8_0": 8709519808}
    assert catalog.models["gpt-oss-20b"].published_files["mxfp4_moe"] == 12109566560
    for model in catalog.models.values():
        assert set(model.published_files) <= set(catalog.quantizations), model.id


def test_native_bytes_of_a_known_checkpoint(catalog: Catalog) -> None:
    """gpt-oss-20b loads 13,761,264,768 bytes (its index); unpublished sizes are unknown, not guessed."""
    assert catalog.models["gpt-oss-20b"].native_bytes == 13_761_264_768
    unknown = {m.id for m in catalog.models.values() if m.native_bytes is None}
    assert unknown == {"glm-5.3-flash", "minimax-m3.1-flash", "step-5-preview", "mistral-large-4"}
    assert all(catalog.models[m].native_evidence is Evidence.UNKNOWN for m in unknown)


def test_driver_memory_is_what_the_driver_reports(catalog: Catalog) -> None:
    """nvidia-smi says 81559 MiB for an H100 80GB and 143771 MiB for an H200; labels do not count."""
    h100, h200 = catalog.gpus["h100-80gb-sxm"], catalog.gpus["h200-141gb-sxm"]
    assert (h100.memory_bytes, h100.memory_evidence) == (81559 * MIB, Evidence.CALIBRATED)
    assert h200.memory_bytes == 143771 * MIB
    assert isinstance(h100.memory_bytes, int)


def test_memory_without_a_reading_is_an_estimate(catalog: Catalog) -> None:
    """A 24 GB card whose driver total no one published counts 24 GiB, and says that this is an estimate."""
    card = catalog.gpus["arc-pro-b60-24gb"]
    assert (card.memory_bytes, card.memory_evidence) == (24 * 1024 * MIB, Evidence.ESTIMATE)


def test_a_product_that_never_existed_has_no_memory(catalog: Catalog) -> None:
    """The M4 Ultra is answered for, but nothing is made up about it."""
    card = catalog.gpus["mac-studio-m4-ultra-256gb"]
    assert (card.exists, card.memory_bytes, card.memory_evidence) == (False, None, Evidence.UNKNOWN)
    assert card.engines == ()


@pytest.mark.parametrize(
    ("gpu", "capability"),
    [
        ("rtx-3090", 86),
        ("a100-80gb-sxm", 80),
        ("a800-80gb-sxm", 80),
        ("cmp-170hx-64gb", 80),
        ("rtx-4090", 89),
        ("l40s-48gb", 89),
        ("h20-141gb", 90),
        ("b200-180gb", 100),
        ("b300-288gb", 103),
        ("gb300-per-gpu", 103),
        ("rtx-5090", 120),
        ("rtx-pro-6000-blackwell", 120),
        ("dgx-spark-gb10-128gb", 121),
        ("instinct-mi300x-192gb", None),
    ],
)
def test_compute_capability(catalog: Catalog, gpu: str, capability: int | None) -> None:
    """Compute capabilities are those of developer.nvidia.com/cuda-gpus; other vendors have none."""
    assert catalog.gpus[gpu].compute_capability == capability


def test_every_nvidia_card_and_no_other_has_a_compute_capability(catalog: Catalog) -> None:
    """No NVIDIA card was forgotten."""
    for gpu in catalog.gpus.values():
        assert (gpu.compute_capability is not None) == (gpu.vendor == "NVIDIA"), gpu.id


@pytest.mark.parametrize(
    ("gpu", "engine", "backends"),
    [
        ("rtx-4090", "llama.cpp", ("cuda", "vulkan")),
        ("rtx-4090", "lm-studio", ("cuda", "vulkan")),
        ("instinct-mi300x-192gb", "llama.cpp", ("rocm", "vulkan")),
        ("ryzen-ai-max-395-128gb", "llama.cpp", ("vulkan", "rocm")),
        ("mac-studio-m3-ultra-512gb", "mlx", ("metal",)),
        ("mac-studio-m3-ultra-512gb", "lm-studio", ("metal",)),
        ("ascend-910b-64gb", "vllm", ("cann",)),
        ("atlas-300i-duo-96gb", "ollama", ()),
        ("gaudi-3-128gb", "llama.cpp", ()),
        ("gaudi-3-128gb", "lm-studio", ()),
    ],
)
def test_backends_in_order_of_preference(catalog: Catalog, gpu: str, engine: str, backends: tuple) -> None:
    """An accelerator's first backend is the default; LM Studio runs wherever llama.cpp or MLX does."""
    assert catalog.gpus[gpu].backends(engine) == backends


def test_only_engines_of_the_api_run_on_accelerators(catalog: Catalog) -> None:
    """Vendors' own engines are noted in the row, never offered."""
    assert {e.engine for gpu in catalog.gpus.values() for e in gpu.engines} <= set(catalog.engines)
    assert catalog.gpu_rows["ascend-910b-64gb"]["other_engines"] == ("mindie",)


def test_unified_memory_says_how_much_the_gpu_may_use(catalog: Catalog) -> None:
    """Every machine with unified memory has a usable fraction, no card has one."""
    for gpu in catalog.gpus.values():
        assert (gpu.unified_usable_fraction is not None) == (gpu.kind is GpuKind.UNIFIED), gpu.id


def test_offers_are_dated_or_say_that_they_are_not(catalog: Catalog) -> None:
    """96 prices have the day they were seen; the other 59 an estimate and low confidence."""
    assert Counter(offer.as_of is not None for offer in catalog.offers) == {True: 96, False: 59}
    assert {offer.confidence for offer in catalog.offers if offer.as_of is None} == {"low"}


def test_an_offers_price_is_that_of_the_whole_instance(catalog: Catalog) -> None:
    """8 x B300 at 55.52 USD an hour is 6.94 for one."""
    offer = next(o for o in catalog.offers_for("b300-288gb") if o.count == 8 and o.provider == "RunPod")
    assert offer.usd_per_hour == 55.52
    assert offer.usd_per_gpu_hour == pytest.approx(6.94)


def test_nothing_can_be_changed(catalog: Catalog) -> None:
    """Facts are shared by all requests, so they are read-only at every depth."""
    assert isinstance(catalog.models, MappingProxyType)
    assert isinstance(catalog.model_files["kimi-k3"]["config"]["text_config"], MappingProxyType)
    with pytest.raises(TypeError):
        catalog.models["kimi-k3"].support["vllm"] = None  # type: ignore[index]
    with pytest.raises(TypeError):
        catalog.models["kimi-k3"].published_files["q8_0"] = 1  # type: ignore[index]


def test_the_checker_counts_what_it_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m service.catalog.check` prints the counts and succeeds."""
    assert main([str(ROOT / "config")]) == 0
    printed = capsys.readouterr().out
    assert "models          80" in printed
    assert "offers          155" in printed
