"""Time of a prompt: prefill, and the first token."""

from math import ceil, hypot

from service.core.speed.constants import Runtime, Serving, SpeedConstants
from service.core.speed.decode import pick
from service.core.speed.run import Run

_MICRO = 1e-6
TOKENS_PER_EXPERT = 8  # tokens of one expert at which its products reach half their rate
CHUNK_LAYER_US = 60  # launches of a layer, for each pass
START_SECONDS = 0.002
PIPELINED = 0.35  # of the overlap that a perfect pipeline of GPUs would give
ACTIVATION_BYTES = 2
WEIGHT_READ = 0.75  # of the bandwidth while weights stream in


def prefill_seconds(run: Run, constants: SpeedConstants, before: float = 0.0) -> float | None:
    """Seconds until the prompt is processed, `before` tokens being in the cache; None without a known peak.

    llama.cpp and MLX: products and weight reads overlap (hypot), attention and launches add to them.
    """
    if run.peak is None or run.weight_peak is None:
        return None
    if run.layer_split:
        return _layer_split(run, constants.runtime(run.runtime), run.peak, before)
    return _tensor_parallel(run, constants.serving, run.peak, run.weight_peak, before)


def first_token_seconds(run: Run, constants: SpeedConstants, prefill: float, step: float) -> float:
    """Seconds from the request to its first token, nothing queued before it."""
    if run.layer_split:
        return prefill + step
    found = constants.serving
    return prefill + found.first_token_layer_ms[run.engine] * run.work.layers / 1000


def _tensor_parallel(run: Run, found: Serving, peak: float, weight_peak: float, before: float) -> float:
    """Products of the ranks, attention, and two all-reduces of the activations in each layer.

    Experts see few tokens each and gain little from narrow formats, so they count against the 16-bit peak.
    """
    tokens, ranks, done = run.prompt_tokens, run.layout.tensor, run.work
    seconds = 2 * done.weights.fixed_parameters * tokens / (ranks * weight_peak * found.prompt_mfu)
    seconds += 2 * done.active_expert_parameters * tokens / (ranks * peak * found.expert_prompt_mfu)
    seconds += run.prompt_attention(before) / (ranks * peak * found.attention_mfu)
    if run.interconnect:
        activations = 2 * done.layers * tokens * run.architecture.hidden_size * ACTIVATION_BYTES
        seconds += activations * 2 * (ranks - 1) / ranks / run.interconnect
    return seconds


def _layer_split(run: Run, found: Runtime, peak: float, before: float) -> float:
    tokens, done = run.prompt_tokens, run.work
    chunk = min(run.chunk_tokens, tokens)
    chunks = ceil(tokens / chunk)
    rate = peak * pick(found.mfu, run.generation)
    products = rate * found.prefill_grains.get(run.grain, 1.0)
    seconds = 2 * done.weights.fixed_parameters * tokens / products
    if done.experts:
        each = chunk * done.experts_per_token / done.experts
        reached = found.expert_mfu * each / (each + TOKENS_PER_EXPERT)
        seconds += 2 * done.active_expert_parameters * tokens / (products * reached)
    reads = chunks * done.bytes_read(chunk) / (run.bandwidth * WEIGHT_READ)
    stages = run.gpu_count * chunks / (chunks + run.gpu_count - 1)
    overlapped = hypot(seconds, reads) / (1 + PIPELINED * (stages - 1))
    attention = run.prompt_attention(before) / (rate * found.attention_mfu)
    return overlapped + attention + chunks * done.layers * CHUNK_LAYER_US * _MICRO + START_SECONDS
