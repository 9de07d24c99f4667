"""Cache, state and compute buffer against what llama.cpp itself allocated for 45 models."""

from functools import cache
from typing import Any

import pytest

from service.core.architecture.model import Architecture
from service.core.architecture.parse import parse
from service.core.engines.llama_cpp.cache import cache_bytes, kv_bytes_per_token
from service.core.engines.llama_cpp.compute import graph, layer_stage_bytes, output_stage_bytes
from service.core.engines.llama_cpp.pool import pool
from service.core.engines.llama_cpp.state import state_bytes
from tests.published import expectations, llamacpp_figures, models

MODELS = sorted(llamacpp_figures())


@cache
def architecture(model: str) -> Architecture:
    return parse(models()[model]["config"])


def runs(model: str) -> list[dict[str, Any]]:
    """The runs that llama.cpp started; it refuses different types of K and V where there is no V."""
    return [run for run in llamacpp_figures()[model]["runs"] if "error" not in run]


def arguments(run: dict[str, Any]) -> dict[str, Any]:
    return {
        "sequences": run["np"],
        "unified": run["unified"],
        "micro_batch": run["ub"],
        "type_k": run["type_k"],
        "type_v": run["type_v"],
        "flash_attention": run["flash_attention"],
        "swa_full": run["swa_full"],
    }


def is_served(run: dict[str, Any]) -> bool:
    """A run as llama-server makes it by default: f16, flash attention, logits of the last tokens."""
    plain = run["type_k"] == run["type_v"] == "f16" and run["flash_attention"] and not run["swa_full"]
    return bool(plain and run["n_out"])


@pytest.mark.parametrize("model", MODELS)
def test_the_cache_has_the_bytes_that_llama_cpp_allocated(model: str) -> None:
    """Every run of a model: contexts, sequences, streams, types, flash attention, full windows."""
    computed = [
        cache_bytes(architecture(model), context_total=run["ctx"], **arguments(run)) for run in runs(model)
    ]
    assert computed == [run["kv_bytes"] for run in runs(model)]


@pytest.mark.parametrize("model", MODELS)
def test_the_state_has_the_bytes_that_llama_cpp_allocated(model: str) -> None:
    """Recurrent state grows with the sequences and with nothing else."""
    computed = [state_bytes(architecture(model), run["np"]) for run in runs(model)]
    assert computed == [run["state_bytes"] for run in runs(model)]


@pytest.mark.parametrize("model", MODELS)
def test_the_rule_gives_the_compute_buffer_within_15_percent(model: str) -> None:
    """Without the model's own figure the buffer follows from its shapes, for every run of a server."""
    shape = graph(architecture(model))
    for run in (run for run in runs(model) if run["n_out"]):
        cells = pool(run["ctx"], **arguments(run))
        computed = max(layer_stage_bytes(shape, cells), output_stage_bytes(shape, cells, run["n_out"]))
        assert computed == pytest.approx(run["compute_bytes"], rel=0.15), run


@pytest.mark.parametrize("model", [name for name in MODELS if llamacpp_figures()[name]["c_exact"]])
def test_the_models_own_figure_gives_the_compute_buffer_exactly(model: str) -> None:
    """With the recorded floats a token a server of one sequence comes out to 1 part in 10,000."""
    figures = llamacpp_figures()[model]
    shape = graph(architecture(model), figures["compute_floats_per_token"], exact=True)
    for run in (run for run in runs(model) if is_served(run) and run["np"] == 1):
        cells = pool(run["ctx"], **arguments(run))
        computed = max(layer_stage_bytes(shape, cells), output_stage_bytes(shape, cells, run["n_out"]))
        assert computed == pytest.approx(run["compute_bytes"], rel=1e-4), run


@pytest.mark.parametrize("model", [name for name in MODELS if not llamacpp_figures()[name]["c_exact"]])
def test_an_index_lets_the_recorded_figure_grow_with_the_context(model: str) -> None:
    """Scores of an index grow with the cells; the figure read at 8k, moved, stays within 6 percent."""
    figures = llamacpp_figures()[model]
    shape = graph(architecture(model), figures["compute_floats_per_token"], exact=False)
    for run in (run for run in runs(model) if is_served(run) and run["np"] == 1):
        cells = pool(run["ctx"], **arguments(run))
        computed = max(layer_stage_bytes(shape, cells), output_stage_bytes(shape, cells, run["n_out"]))
        assert computed == pytest.approx(run["compute_bytes"], rel=0.06), run


@pytest.mark.parametrize("model", sorted(models()))
def test_a_token_adds_what_was_derived_for_llama_cpp(model: str) -> None:
    """Growing layers and index keys of all catalog models, in 16 bit."""
    expected = expectations()[model]
    index = expected["indexer_bytes_per_token_16bit"]
    index = expected.get("indexer_bytes_per_token_by_engine", {}).get("llama.cpp", index)
    kv = expected["kv_bytes_per_token_16bit"]
    assert kv_bytes_per_token(architecture(model)) == kv + index


def test_kimi_k31_keeps_what_its_worked_example_says() -> None:
    """24 latent layers of 576 + 128 values in f16; 69 KDA layers of 110,592 + 1,572,864 f32 values."""
    kimi = architecture("kimi-k3.1-pro")
    assert kv_bytes_per_token(kimi) == 24 * (576 + 128) * 2 == 33_792
    assert state_bytes(kimi) == 69 * (110_592 + 1_572_864) * 4 == 464_633_856


@pytest.mark.parametrize(
    ("model", "total"),
    [("glm-5.3-flash", 798_556_160), ("kimi-k3", 1_370_603_520), ("deepseek-v4-flash", 271_466_496)],
)
def test_hybrid_memory_is_cache_and_state(model: str, total: int) -> None:
    """Cache and state at 32k and one sequence, as llama-fit-params printed them together."""
    shape = architecture(model)
    assert cache_bytes(shape, context_total=32_768) + state_bytes(shape) == total
