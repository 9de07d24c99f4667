"""SGLang's figures for a log, by its public interface."""

from dataclasses import replace

from service.core.engines import ENGINES
from service.core.scenario import Layout
from service.core.units import GIB
from tests.evidence.cases import Case, catalog, model
from tests.unit.factories import make_scenario


def compare(case: Case, term: str) -> tuple[float, float]:
    """Bytes of a token on one GPU, heads divided; only that term is scored."""
    assert term == "token bytes"
    engine, degree = ENGINES["sglang"], case.ask["tensor"]
    scenario = make_scenario(
        model=model(case),
        gpu=catalog().gpus["h100-80gb-sxm"],
        engine="sglang",
        quantization="native",
        kv_cache_dtype="bf16",
        kv_cache_dtype_v="bf16",
        layout=Layout(tensor=degree),
        gpu_count=degree,
        max_batched_tokens=8192,
    )
    one = engine.plan(scenario, limits=False)
    two = engine.plan(replace(scenario, context_tokens=2 * scenario.context_tokens), limits=False)
    reported = case.reported
    printed = reported["kv_cache_gib"] * GIB / reported["kv_cache_tokens"]
    return printed, (two.fullest.kv_cache - one.fullest.kv_cache) / scenario.context_tokens
