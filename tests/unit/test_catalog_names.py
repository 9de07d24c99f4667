"""Finding models and accelerators by the names that people use."""

from pathlib import Path

import pytest

from service.catalog import Catalog, load_catalog
from service.catalog.names import Names, key
from service.errors import UnknownGpu, UnknownModel

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT / "config")


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("kimi-k3.1-pro", "kimi-k3.1-pro"),
        ("Kimi K3.1 Pro", "kimi-k3.1-pro"),
        ("moonshotai/Kimi-K3.1-Pro", "kimi-k3.1-pro"),
        ("KIMI_K3_1_PRO", "kimi-k3.1-pro"),
        ("Kimi K3.1 Pro (2.8T-A104B)", "kimi-k3.1-pro"),
        ("deepseek v3", "deepseek-v3-0324-671b"),
        ("DeepSeek-V3.2", "deepseek-v3.2-685b"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-r1-0528-671b"),
        ("llama 3.1 8b", "llama-3.1-8b-instruct"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b-instruct"),
        ("gemma 4 31B", "gemma-4-31b-it"),
        ("Qwen3.5 9B", "qwen3.5-9b"),
        ("gpt oss 20b", "gpt-oss-20b"),
        ("openai/gpt-oss-120b", "gpt-oss-120b"),
    ],
)
def test_common_spellings_of_models(catalog: Catalog, name: str, model: str) -> None:
    """Ids, aliases, repositories and display names work in any case and with any separators."""
    assert catalog.find_model(name).id == model


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("H20 141GB", "h20-141gb"),
        ("RTX 4090", "rtx-4090"),
        ("rtx4090", "rtx-4090"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("h100", "h100-80gb-sxm"),
        ("NVIDIA H100 80GB", "h100-80gb-sxm"),
        ("mi300x", "instinct-mi300x-192gb"),
        ("AMD Instinct MI300X", "instinct-mi300x-192gb"),
        ("a100-80gb", "a100-80gb-sxm"),
        ("m3 ultra 512gb", "mac-studio-m3-ultra-512gb"),
        ("Radeon RX 7900 XTX", "rx-7900-xtx-24gb"),
        ("DGX Spark", "dgx-spark-gb10-128gb"),
        ("rtx 5090 d", "rtx-5090-d"),
    ],
)
def test_common_spellings_of_accelerators(catalog: Catalog, name: str, gpu: str) -> None:
    """The vendor before the name, and the memory after it, may be given or left out."""
    assert catalog.find_gpu(name).id == gpu


def test_every_entry_answers_to_its_own_names(catalog: Catalog) -> None:
    """Ids, names and repositories of all 137 entries lead to their entry; no alias is another's id."""
    for model in catalog.models.values():
        for name in (model.id, model.name, model.hf_repo, model.id.upper(), *model.aliases):
            assert catalog.find_model(name) is model, name
    for gpu in catalog.gpus.values():
        for name in (gpu.id, gpu.name, f"{gpu.vendor} {gpu.name}"):
            assert catalog.find_gpu(name) is gpu, name


def test_a_name_that_two_cards_have_is_not_guessed(catalog: Catalog) -> None:
    """H20 is sold with 96 and with 141 GB: both are suggested, neither is taken."""
    with pytest.raises(UnknownGpu) as error:
        catalog.find_gpu("H20")
    assert set(error.value.suggestions[:2]) == {"h20-96gb", "h20-141gb"}


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [("kimi-k3.1-por", "kimi-k3.1-pro"), ("deepsek-v3.2", "deepseek-v3.2-685b"), ("qwen3-7b", "qwen3-8b")],
)
def test_the_closest_model_is_suggested_first(catalog: Catalog, misspelt: str, meant: str) -> None:
    """A misspelt name gets the one that was meant among at most five, and near the top."""
    with pytest.raises(UnknownModel) as error:
        catalog.find_model(misspelt)
    suggestions = error.value.suggestions
    assert meant in suggestions[:3]
    assert len(suggestions) <= 5
    assert set(suggestions) <= set(catalog.models)


@pytest.mark.parametrize("name", ["", " ", "()", "日本", "x" * 100_000, "\x00", "../../etc/passwd"])
def test_nonsense_is_unknown_and_nothing_worse(catalog: Catalog, name: str) -> None:
    """Any text is an answerable question."""
    with pytest.raises(UnknownModel):
        catalog.find_model(name)
    with pytest.raises(UnknownGpu):
        catalog.find_gpu(name)


def test_only_between_digits_a_separator_counts() -> None:
    """Qwen3 8B and Qwen3.8 B may be written alike, Qwen 38B may not."""
    assert key("Qwen3 8B") == key("qwen3.8b") == key("QWEN_3-8B")
    assert key("qwen38b") != key("qwen3-8b")


def test_an_id_beats_anothers_alias() -> None:
    """An alias that repeats another entry's id does not make that id ambiguous."""
    names = Names({"a-1": ["one"], "b-2": ["a-1", "one"]})
    assert names.find("A1") == "a-1"
    assert names.find("one") is None
    assert names.ambiguous() == {"one": ("a-1", "b-2")}
    assert names.suggest("one")[:2] == ("a-1", "b-2")


def test_a_name_that_grows_when_it_is_compared_stays_short() -> None:
    """A compatibility form may stand for eighteen letters (U+FDFA); what is compared has its own limit."""
    assert 0 < len(key("\ufdfa" * 500)) <= 120
    assert 0 < len(key("\ufdfb" * 500)) <= 120
