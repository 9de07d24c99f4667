"""Cards of the usual sizes, known by their memory alone, and what llama.cpp needs on one of them.

A question about a model without an accelerator is answered for such a card: one sequence, f16 cache. A card
sold as 24 GB is taken to have 24 * 2**30 bytes, which is about what its driver reports.
"""

from dataclasses import replace

from service.core.architecture.model import Architecture
from service.core.catalogued import Model
from service.core.engines.llama_cpp import ENGINE
from service.core.engines.llama_cpp.plan import arrange, plan_with, weights
from service.core.engines.platforms import Allowance
from service.core.evidence import Evidence
from service.core.hardware import EngineOnGpu, Gpu, GpuKind, Tflops
from service.core.request import Request
from service.core.resolve import DEFAULT_CONTEXT_TOKENS, resolve
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Sourced
from service.core.units import GIB
from service.core.weights.formats import Family
from service.core.weights.weigh import weigh

# Memory of graphics cards and machines that people own, GiB.
TIERS_GIB = (4, 6, 8, 10, 11, 12, 16, 20, 22, 24, 32, 48, 64, 96, 128, 256, 512)
# Part of a card that is counted on: Windows keeps about a tenth (WDDM), Linux 1 GiB by `--fit` and less.
WATERMARK_PERCENT = 90
_WATERMARK = Sourced(Evidence.ESTIMATE, "a watermark of the card's memory")
# Formats to try, best first.
_LADDER = ("q8_0", "q6_k", "q5_k_m", "q4_k_m", "iq4_xs", "q3_k_m", "q2_k")
TIER_ENGINE = ENGINE.id

CARD = Gpu(
    id="card",
    name="card",
    vendor="",
    family="",
    kind=GpuKind.DATACENTER,
    memory_bytes=None,
    memory_evidence=Evidence.UNKNOWN,
    label_gb=0,
    memory_bandwidth_gbs=None,
    tflops=Tflops(),
    tdp_watts=None,
    interconnect=None,
    interconnect_gbs=None,
    max_per_node=1,
    engines=(EngineOnGpu(TIER_ENGINE, "cuda"),),
    evidence="estimate",
    sources=(),
)


def usual_context(architecture: Architecture) -> int:
    """8,192 tokens, or what the model is made for where that is less."""
    return min(DEFAULT_CONTEXT_TOKENS, architecture.max_context_tokens)


def ladder(model: Model) -> tuple[str, ...]:
    """Formats to try, best first; the published weights lead where GGUF holds them in no more than 8 bit."""
    architecture = model.architecture
    if ENGINE.loads_native(architecture) and _bytes(model, "native") <= _bytes(model, _LADDER[0]):
        return ("native", *_LADDER)
    return _LADDER


def _bytes(model: Model, quantization: str) -> int:
    return weigh(model, quantization, family=Family.GGUF).total_bytes


def usable_bytes(tier_gib: int) -> int:
    """Bytes of a card of `tier_gib` GiB up to the watermark."""
    return tier_gib * GIB * WATERMARK_PERCENT // 100


def smallest_tier(needed_bytes: int) -> int | None:
    """The smallest card, in GiB, whose watermark holds so much; None when the largest does not."""
    return next((tier for tier in TIERS_GIB if needed_bytes <= usable_bytes(tier)), None)


def on_card(model: Model, quantization: str, context_tokens: int) -> Scenario:
    """One sequence of `context_tokens` with llama.cpp's defaults on a card."""
    return resolve(
        Request(
            model=model,
            gpu=CARD,
            engine=TIER_ENGINE,
            quantization=quantization,
            context_tokens=context_tokens,
        )
    )


def plan_on_card(scenario: Scenario, tier_gib: int | None = None) -> EnginePlan:
    """The allocation on a card; with `tier_gib` also the largest context up to the watermark."""
    usable = None if tier_gib is None else usable_bytes(tier_gib)
    return plan_with(scenario, weights(scenario), Allowance(usable, _WATERMARK))


def without_experts(scenario: Scenario) -> Scenario | None:
    """The scenario with all routed experts in system RAM (`--cpu-moe`); None for a model without."""
    placed = arrange(scenario, weights(scenario)).placed
    experts = sum(layer.experts for layer in placed.layers)
    if not experts:
        return None
    # A hair less than their share: rounding must not move a piece of anything else.
    held = placed.total - placed.tables
    return replace(scenario, cpu_offload_percent=100 * experts / held * (1 - 1e-12))
