"""Compute buffers and runtime of a rank."""

from service.core.derivation.expressions import Expression, add, largest
from service.core.derivation.facts import rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.vllm.budget import Stage
from service.core.evidence import Evidence
from service.core.scenario import Scenario
from service.core.units import ceil_div

_PROFILER = rule(
    "vLLM 0.33.0 v1/worker/gpu_worker.py determine_available_memory, approximated", Evidence.ESTIMATE
)
_LOADED = rule(
    "vLLM 0.33.0 process_weights_after_loading: copies, tables and padding beside the checkpoint",
    Evidence.ESTIMATE,
)
_GRAPHS = rule("CUDA graphs, which vLLM sets aside before it sizes the pool (since 0.21)", Evidence.ESTIMATE)
_RUNTIME = rule(
    "NVIDIA aiconfigurator 0.12.0: CUDA context, libraries, and NCCL between GPUs", Evidence.ESTIMATE
)


def buffers(trace: Trace, scenario: Scenario, stage: Stage) -> Expression:
    """Peak of the profiling step, what loading adds, CUDA graphs, workspace of sparse attention."""
    context = trace.asked(scenario, "context_tokens", Unit.TOKENS)
    trace.about(Topic.BUFFERS)
    each = ceil_div(scenario.concurrent_sequences, scenario.layout.data)
    activations = stage.activations
    sequences = max(activations.sequences, each)
    layer = trace.given("layer_activations", activations.layer, Unit.BYTES, _PROFILER)
    profiled = trace.given("profiled_sequences", sequences, Unit.SEQUENCES, _PROFILER)
    sampler = profiled * trace.given("sampler_bytes", activations.sampler, Unit.BYTES, _PROFILER)
    widest = [layer, sampler]
    if activations.vision:
        widest.append(trace.given("vision_activations", activations.vision, Unit.BYTES, _PROFILER))
    figure = activations.peak(each)
    parts = [trace.follows("activation_peak", largest(*widest), Unit.BYTES, _PROFILER, figure=figure)]
    if stage.loaded_buffers:
        parts.append(trace.given("loaded_buffers", stage.loaded_buffers, Unit.BYTES, _LOADED))
    parts.append(trace.given("cuda_graphs", stage.fixed_buffers, Unit.BYTES, _GRAPHS))
    if stage.workspace_per_token:
        parts.append(trace.given("workspace", stage.workspace_per_token, Unit.BYTES, _PROFILER) * context)
    return add(parts)


def overhead(trace: Trace, stage: Stage) -> Expression:
    """Runtime of the process; the pool's null block comes on top."""
    trace.about(Topic.OVERHEAD)
    return trace.given("runtime", stage.overhead, Unit.BYTES, _RUNTIME)
