"""Steps of a prompt: its products, reads and attention, the rate, and the time to the first token."""

from service.core.derivation.decode import read_weights
from service.core.derivation.expressions import Expression, ceil_div, root_of_squares, smallest
from service.core.derivation.facts import rule
from service.core.derivation.speed_terms import MICRO, Told, printed
from service.core.derivation.steps import Topic, Unit
from service.core.speed.decode import pick
from service.core.speed.estimate import prompt_interval
from service.core.speed.prefill import (
    ACTIVATION_BYTES,
    CHUNK_LAYER_US,
    PIPELINED,
    START_SECONDS,
    TOKENS_PER_EXPERT,
    WEIGHT_READ,
)
from service.core.speed.result import Speed

_FIXED = rule("service/core/speed/prefill.py")


def prompt_steps(told: Told, speed: Speed, step: Expression) -> None:
    """Steps of a request that runs alone, to the figures that are printed; nothing where none are."""
    if speed.prefill is None or speed.time_to_first_token_ms is None:
        return
    told.trace.about(Topic.SPEED)
    prompt, interval = told.asked("prompt_tokens", Unit.TOKENS), prompt_interval(told.run, told.constants)
    whole = told.run.layer_split
    seconds = _layer_split(told, prompt) if whole else _tensor_parallel(told, prompt)
    first = seconds + step if whole else seconds + _of_layers(told)
    first = told.follows("first_token_seconds", first)
    rate = told.follows("prefill_rate", prompt / (seconds if whole else first), Unit.TOKENS_PER_SECOND)
    printed(
        told, "prefill_rate", rate, interval, "prefill_tokens_per_second", speed.prefill, inverse=not whole
    )
    waited = told.follows("first_token", first * 1000, Unit.MILLISECONDS)
    place, found = "time_to_first_token_ms", speed.time_to_first_token_ms
    printed(told, "first_token", waited, interval, place, found, unit=Unit.MILLISECONDS, inverse=whole)


def _of_layers(told: Told) -> Expression:
    """What a first token costs at any length."""
    run, found = told.run, told.constants.serving
    each = told.constant("first_token_layer_ms", found.first_token_layer_ms[run.engine], Unit.MILLISECONDS)
    layers = told.fact("passed_layers", run.work.layers, Unit.LAYERS)
    return told.follows("first_token_layers_seconds", each * layers / 1000)


def _tensor_parallel(told: Told, prompt: Expression) -> Expression:
    run, found, work = told.run, told.constants.serving, told.run.work
    assert run.peak is not None  # else there is no prefill
    assert run.weight_peak is not None
    ranks = told.degree("tensor_parallel", run.layout.tensor)
    peak = told.of_gpu("half_peak", run.peak, Unit.OPERATIONS_PER_SECOND)
    fixed = told.fact("fixed_parameters", work.weights.fixed_parameters, Unit.ELEMENTS)
    weight_peak = told.of_gpu("weight_peak", run.weight_peak, Unit.OPERATIONS_PER_SECOND)
    reached = told.constant("prompt_mfu", found.prompt_mfu)
    total = told.follows("products_seconds", 2 * fixed * prompt / (ranks * weight_peak * reached))
    if work.experts:
        active = told.fact("active_expert_parameters", work.active_expert_parameters, Unit.ELEMENTS)
        reached = told.constant("expert_prompt_mfu", found.expert_prompt_mfu)
        total += told.follows("expert_products_seconds", 2 * active * prompt / (ranks * peak * reached))
    attention = told.fact("attention_operations", run.prompt_attention(), Unit.OPERATIONS)
    reached = told.constant("attention_mfu", found.attention_mfu)
    total += told.follows("attention_seconds", attention / (ranks * peak * reached))
    if run.interconnect and run.layout.tensor > 1:
        total += _activations(told, prompt, ranks)
    return told.follows("prefill_seconds", total)


def _activations(told: Told, prompt: Expression, ranks: Expression) -> Expression:
    """Two all-reduces of the activations in each layer."""
    run = told.run
    hidden = told.fact("hidden_size", run.architecture.hidden_size, Unit.ELEMENTS)
    layers = told.fact("passed_layers", run.work.layers, Unit.LAYERS)
    size = told.trace.given("activation_bytes", ACTIVATION_BYTES, Unit.BYTES, _FIXED)
    assert run.interconnect is not None
    link = told.of_gpu("link_rate", run.interconnect, Unit.BYTES_PER_SECOND)
    sent = 2 * layers * prompt * hidden * size
    return told.follows("activations_seconds", sent * 2 * (ranks - 1) / ranks / link)


def _layer_split(told: Told, prompt: Expression) -> Expression:
    run, found = told.run, told.constants.runtime(told.run.runtime)
    assert run.peak is not None  # else there is no prefill
    chunk = told.follows(
        "prompt_pass", smallest(told.asked("max_batched_tokens", Unit.TOKENS), prompt), Unit.TOKENS
    )
    passes = told.follows("prompt_passes", ceil_div(prompt, chunk), Unit.COUNT)
    peak = told.of_gpu("half_peak", run.peak, Unit.OPERATIONS_PER_SECOND)
    rate = told.follows(
        "prefill_peak",
        peak * told.constant("prefill_mfu", pick(found.mfu, run.generation)),
        Unit.OPERATIONS_PER_SECOND,
    )
    work = root_of_squares(_products(told, prompt, chunk, rate), _reads(told, chunk, passes))
    gpus = told.asked("gpu_count", Unit.GPUS)
    stages = told.follows("prompt_stages", gpus * passes / (passes + gpus - 1), Unit.RATIO)
    overlap = told.trace.given("stage_overlap", PIPELINED, Unit.RATIO, _FIXED)
    total = told.follows("products_and_reads_seconds", work / (1 + overlap * (stages - 1)))
    attention = told.fact("attention_operations", run.prompt_attention(), Unit.OPERATIONS)
    reached = told.constant("attention_mfu", found.attention_mfu)
    total += told.follows("attention_seconds", attention / (rate * reached))
    layers = told.fact("passed_layers", run.work.layers, Unit.LAYERS)
    each = told.trace.given("pass_layer_us", CHUNK_LAYER_US, Unit.MICROSECONDS, _FIXED)
    total += told.follows("launch_seconds", passes * layers * each * MICRO)
    return told.follows(
        "prefill_seconds", total + told.trace.given("start_seconds", START_SECONDS, Unit.SECONDS, _FIXED)
    )


def _products(told: Told, prompt: Expression, chunk: Expression, rate: Expression) -> Expression:
    """Seconds of the products with the weights; an expert of few tokens works below its rate."""
    run, found = told.run, told.constants.runtime(told.run.runtime)
    factor = told.constant("prefill_format_factor", found.prefill_grains.get(run.grain, 1.0))
    fixed = told.fact("fixed_parameters", run.work.weights.fixed_parameters, Unit.ELEMENTS)
    seconds = told.follows("products_seconds", 2 * fixed * prompt / (rate * factor))
    if not run.work.experts:
        return seconds
    chosen = told.fact("experts_per_token", run.work.experts_per_token, Unit.COUNT)
    each = chunk * chosen / told.fact("experts", run.work.experts, Unit.COUNT)
    each = told.follows("tokens_per_expert", each, Unit.TOKENS)
    half = told.trace.given("half_rate_tokens", TOKENS_PER_EXPERT, Unit.TOKENS, _FIXED)
    reached = told.constant("expert_mfu", found.expert_mfu) * each / (each + half)
    reached = told.follows("expert_reached", reached, Unit.RATIO)
    active = told.fact("active_expert_parameters", run.work.active_expert_parameters, Unit.ELEMENTS)
    more = told.follows("expert_products_seconds", 2 * active * prompt / (rate * factor * reached))
    return seconds + more


def _reads(told: Told, chunk: Expression, passes: Expression) -> Expression:
    """Seconds in which the weights stream in, once a pass."""
    read, experts = read_weights(told)
    if experts is not None:
        read += experts * told.share("touched_share_of_pass", chunk)
    bandwidth = told.of_gpu("memory_bandwidth", told.run.bandwidth, Unit.BYTES_PER_SECOND)
    part = told.trace.given("streamed_share", WEIGHT_READ, Unit.RATIO, _FIXED)
    return told.follows("pass_reads_seconds", passes * read / (bandwidth * part))
