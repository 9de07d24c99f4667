"""Steps of decoding: what a step spends its time on, and the rates that follow from it."""

from service.core.derivation.expressions import Expression, binary_logarithm, largest, smallest
from service.core.derivation.speed_terms import MICRO, Told, printed, sequences
from service.core.derivation.steps import Topic, Unit
from service.core.speed.decode import pick, step
from service.core.speed.estimate import decode_interval
from service.core.speed.result import Speed


def decode_steps(told: Told, speed: Speed) -> Expression:
    """Steps of decoding, to the rates that are printed; returns the seconds of a step of all streams."""
    told.trace.about(Topic.SPEED)
    seconds = _layer_split(told) if told.run.layer_split else _serving(told)
    rate = told.follows("decode_rate", 1 / seconds, Unit.TOKENS_PER_SECOND)
    interval = decode_interval(told.run, told.constants)
    printed(told, "decode_rate", rate, interval, "per_sequence", speed.decode)
    together = rate * told.asked("concurrent_sequences", Unit.SEQUENCES)
    rate = told.follows("aggregate_rate", together, Unit.TOKENS_PER_SECOND)
    printed(told, "aggregate_rate", rate, interval, "decode_tokens_per_second", speed.decode_aggregate)
    return seconds


def read_weights(told: Told) -> tuple[Expression, Expression | None]:
    """Weights that every step reads, and the routed experts."""
    sums, given = told.run.work.weights, told.trace.given
    fixed = given("fixed_weights", sums.fixed_bytes, Unit.BYTES, told.weights)
    if not sums.expert_bytes:
        return fixed, None
    return fixed, given("expert_weights", sums.expert_bytes, Unit.BYTES, told.weights)


def _layer_split(told: Told) -> Expression:
    run, streams = told.run, sequences(told)
    bandwidth = told.of_gpu("memory_bandwidth", run.bandwidth, Unit.BYTES_PER_SECOND)
    weights, host = _tiers(told, streams, bandwidth)
    found = told.constants.runtime(run.runtime)
    part = told.constant("read_efficiency", pick(found.efficiency, run.generation))
    part *= told.constant("format_factor", found.grains.get(run.grain, 1.0))
    pace = told.follows("weights_pace", smallest(1.0, part), Unit.RATIO)
    caches = streams * told.fact("cache_read", run.cache.on_rank(1), Unit.BYTES)
    slower = told.constant("cache_efficiency", found.cache_efficiency)
    cache_pace = told.follows("caches_pace", smallest(1.0, part * slower), Unit.RATIO)
    memory = told.follows("memory_seconds", (weights / pace + caches / cache_pace) / bandwidth)
    total = memory + _layers(told, found.layer_us, found.expert_layer_factor)
    if (beyond := _beyond_reads(told, streams, memory)) is not None:
        total += beyond
    if host is not None:
        total += host
    if run.gpu_count > 1:
        hop = told.constant("hop_us", told.constants.hop_us, Unit.MICROSECONDS)
        total += told.follows("exchange_seconds", (told.asked("gpu_count", Unit.GPUS) - 1) * hop * MICRO)
    return told.follows("step_seconds", total)


def _beyond_reads(told: Told, streams: Expression, memory: Expression) -> Expression | None:
    """What the products of many sequences take beyond the reads, which they overlap; None where nothing."""
    run, found = told.run, told.constants.runtime(told.run.runtime)
    if run.weight_peak is None or not step(run, told.constants).compute:
        return None
    work = told.fact("passed_parameters", run.work.active_parameters, Unit.ELEMENTS)
    peak = told.of_gpu("weight_peak", run.weight_peak, Unit.OPERATIONS_PER_SECOND)
    part = told.constant("prefill_mfu", pick(found.mfu, run.generation))
    part *= told.constant("prefill_format_factor", found.prefill_grains.get(run.grain, 1.0))
    reached = told.follows("products_pace", smallest(1.0, part), Unit.RATIO)
    products = streams * 2 * work / (peak * reached)
    return told.follows("beyond_reads_seconds", products - memory)


def _tiers(told: Told, streams: Expression, bandwidth: Expression) -> tuple[Expression, Expression | None]:
    """Bytes that the GPUs read, and the seconds in which the host reads what it keeps: experts first."""
    fixed, experts = read_weights(told)
    share = told.share("touched_share", streams) if experts is not None else None
    if not told.run.host_share:
        read = fixed if experts is None or share is None else fixed + experts * share
        return told.follows("weights_read", read, Unit.BYTES), None
    all_weights = fixed if experts is None else fixed + experts
    part = told.asked("cpu_offload_percent", Unit.PERCENT) / 100
    held = told.follows("host_weights", part * all_weights, Unit.BYTES)
    dense_rate = told.constant("host_dense_efficiency", told.constants.host_dense_efficiency)
    if experts is None or share is None:
        return (
            told.follows("weights_read", fixed - held, Unit.BYTES),
            told.follows("host_seconds", held / (bandwidth * dense_rate)),
        )
    outside = told.follows("host_experts", smallest(held, experts), Unit.BYTES)
    expert_rate = told.constant("host_expert_efficiency", told.constants.host_expert_efficiency)
    seconds = outside * share / (bandwidth * expert_rate) + (held - outside) / (bandwidth * dense_rate)
    read = fixed - (held - outside) + (experts - outside) * share
    return told.follows("weights_read", read, Unit.BYTES), told.follows("host_seconds", seconds)


def _serving(told: Told) -> Expression:
    run, found, layout = told.run, told.constants.serving, told.run.layout
    streams = sequences(told)
    tensor = told.degree("tensor_parallel", layout.tensor)
    batch = streams
    if layout.pipeline > 1:
        batch = largest(1.0, streams / told.degree("pipeline_parallel", layout.pipeline))
    read, experts = read_weights(told)
    if experts is not None:
        data = told.degree("data_parallel", layout.data)
        read += experts * told.share("touched_share", batch * data) / data
    rate = told.of_gpu("memory_bandwidth", run.bandwidth, Unit.BYTES_PER_SECOND)
    rate *= told.constant("read_efficiency", found.efficiency)
    caches = batch * told.fact("cache_read_rank", run.cache.on_rank(layout.tensor), Unit.BYTES)
    caches = caches / told.constant("cache_efficiency", found.cache_efficiency)
    total = told.follows("memory_seconds", (read / tensor + caches) / rate)
    total += _layers(told, found.layer_us, found.expert_layer_factor)
    for part in (_exchange(told, tensor), _interference(told, streams, tensor)):
        total = total if part is None else total + part
    factor = told.constant("engine_factor", found.factors.get(run.engine, 1.0))
    return told.follows("step_seconds", total * factor)


def _exchange(told: Told, tensor: Expression) -> Expression | None:
    """Two all-reduces a layer, and the hops of a pipeline."""
    layout, found = told.run.layout, told.constants
    parts: list[Expression] = []
    if layout.tensor > 1:
        once = told.constant("exchange_us", found.serving.exchange_us, Unit.MICROSECONDS)
        layers = told.fact("passed_layers", told.run.work.layers, Unit.LAYERS)
        parts.append(2 * layers * once * binary_logarithm(tensor))
    if layout.pipeline > 1:
        hop = told.constant("hop_us", found.hop_us, Unit.MICROSECONDS)
        parts.append((told.degree("pipeline_parallel", layout.pipeline) - 1) * hop)
    if not parts:
        return None
    total = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    return told.follows("exchange_seconds", total * MICRO)


def _interference(told: Told, streams: Expression, tensor: Expression) -> Expression | None:
    """Prompts of the other streams between the steps."""
    run, found = told.run, told.constants.serving
    if run.sequences <= 1 or run.weight_peak is None:
        return None
    prompt = told.asked("prompt_tokens", Unit.TOKENS)
    tokens = (streams - 1) * prompt / largest(1, told.asked("output_tokens", Unit.TOKENS))
    work = told.fact("passed_parameters", run.work.active_parameters, Unit.ELEMENTS)
    ranks = tensor
    if run.layout.pipeline > 1:
        ranks = tensor * told.degree("pipeline_parallel", run.layout.pipeline)
    peak = told.of_gpu("weight_peak", run.weight_peak, Unit.OPERATIONS_PER_SECOND)
    reached = told.constant("interference_mfu", found.interference_mfu)
    return told.follows("interference_seconds", tokens * 2 * work / (ranks * peak * reached))


def _layers(told: Told, layer_us: float, expert_factor: float) -> Expression:
    """Launches and small operations of the layers; one with experts counts more."""
    done = told.run.work
    layers = told.fact("passed_layers", done.layers, Unit.LAYERS)
    if done.expert_layers:
        more = told.constant("expert_layer_factor", expert_factor) - 1
        layers += more * told.fact("expert_layers", done.expert_layers, Unit.LAYERS)
    each = told.constant("layer_us", layer_us, Unit.MICROSECONDS)
    return told.follows("layer_seconds", each * layers * MICRO)
