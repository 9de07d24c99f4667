"""The peak of the profiling step, and what the engine fills of the memory that is free."""

from service.core.derivation.expressions import Expression, largest, lift
from service.core.derivation.facts import config, gpu_memory, rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.platforms import free_at_start
from service.core.engines.tensorrt_llm.budget import FREE_FRACTION
from service.core.engines.tensorrt_llm.buffers import activation_bytes
from service.core.evidence import Evidence
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan

_FITTED = rule("NVIDIA aiconfigurator 0.12.0, fitted to TensorRT-LLM", Evidence.CALIBRATED)
_FRACTION = rule("TensorRT-LLM _torch/pyexecutor/_util.py _cal_max_memory", Evidence.ESTIMATE)
_HALF = 2
# Elements that are stored together, and their bytes.
_MANY = 2**30  # tokens at which the fitted coefficient stands alone


def activations(trace: Trace, scenario: Scenario) -> Expression:
    """2 bytes x tokens x the elements of all heads x a fitted coefficient, at least a floor."""
    model = scenario.model.architecture
    tokens = trace.asked(scenario, "max_batched_tokens", Unit.TOKENS)
    trace.about(Topic.BUFFERS)
    figure = activation_bytes(model, scenario.layout, scenario.max_batched_tokens)
    floor = trace.given("least_activations", activation_bytes(model, scenario.layout, 0), Unit.BYTES, _FITTED)
    width = model.attention_heads * model.head_dim
    formula = None
    if width:
        per_token = activation_bytes(model, scenario.layout, _MANY) / (_HALF * _MANY * width)
        source = config(scenario.model)
        heads = trace.given("attention_heads", model.attention_heads, Unit.HEADS, source)
        size = trace.given("head_dim", model.head_dim, Unit.ELEMENTS, source)
        factor = trace.given("activation_coefficient", per_token, Unit.RATIO, _FITTED)
        formula = largest(floor, tokens * heads * size * _HALF * factor // 1)
    return trace.follows("activation_peak", formula, Unit.BYTES, _FITTED, figure=figure)


def usable(trace: Trace, scenario: Scenario, plan: EnginePlan) -> Expression | None:
    """What is taken before the pools, and the pools' fraction of what is then free.

    A leaf where another pipeline stage than the fullest decides; None where the memory is not known.
    """
    free = free_at_start(scenario.gpu, scenario.platform, scenario.reserved_memory_bytes).bytes
    if free is None or plan.usable_bytes is None:
        return None
    memory = plan.fullest
    peak = memory.weights + memory.compute_buffers + memory.runtime_overhead
    share = FREE_FRACTION if scenario.memory_utilization is None else scenario.memory_utilization
    if plan.usable_bytes == free:
        return _free(trace, scenario, free)
    if scenario.kv_cache_memory_bytes is not None or plan.usable_bytes != peak + int((free - peak) * share):
        return lift(plan.usable_bytes)
    found = _free(trace, scenario, free)
    taken = trace.given("taken_before_pools", peak, Unit.BYTES, _FITTED)
    fraction = trace.asked(scenario, "memory_utilization", Unit.RATIO, share)
    trace.about(Topic.FIT)
    pool = trace.follows("pool_bytes", (found - taken) * fraction // 1, Unit.BYTES, _FRACTION)
    return taken + pool


def _free(trace: Trace, scenario: Scenario, free: int) -> Expression:
    """The driver's total less what the platform keeps and what the caller reserved."""
    total, reserved = scenario.gpu.memory_bytes or 0, scenario.reserved_memory_bytes
    source = free_at_start(scenario.gpu, scenario.platform, reserved).sourced
    left = gpu_memory(trace, scenario.gpu)
    if (kept := total - free - reserved) > 0:
        trace.about(Topic.FIT)
        left -= trace.given("kept_by_platform", kept, Unit.BYTES, source)
    if reserved:
        left -= trace.asked(scenario, "reserved_memory_bytes", Unit.BYTES)
    trace.about(Topic.FIT)
    return trace.follows("free_at_start", left, Unit.BYTES, source, figure=free)
