"""What a measurement cannot be: figures that contradict the hardware, the model, or each other.

Every bound is the loosest that physics leaves, so that no honest figure is refused: a decode step reads each
dense weight and the experts of one token at least once (`speed.work`), a prompt token costs two operations
for each parameter that it passes, and what is read from GPU memory has to lie in it. What a submission does
not state counts as one GPU, one sequence, no drafts; stating it lifts the bound.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from service.core.catalogued import Model
from service.core.hardware import Gpu
from service.core.speed.run import family
from service.core.speed.work import Work, work
from service.core.weights.weigh import weigh
from service.errors import ParameterError

SLACK = 1.05  # rounding of published figures and of data sheets
_SMALLEST_FORMAT = "iq1_s"  # stands for a format that is not stated
_FASTER_THAN_PREFILL = 0.5  # of the time that the prompt takes at the stated rate
_SLOWER_THAN_PREFILL = 100  # times it, beside a minute of queueing
_QUEUE_SECONDS = 60
_APART = 1.25  # aggregate over concurrency times the rate of one sequence


@dataclass(frozen=True, slots=True)
class Claim:
    """A measurement as far as it can be checked; fields as in `Measurement`, None for what is not stated.

    context_tokens: what one sequence may hold. decode_tokens_per_second: all sequences together.
    draft_acceptance: part of the drafted tokens that was accepted, 0…1.
    """

    model: Model
    gpu: Gpu
    gpu_count: int | None = None
    engine: str | None = None
    quantization: str | None = None
    context_tokens: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    concurrency: int | None = None
    speculative_tokens: int | None = None
    draft_acceptance: float | None = None
    cpu_offload_percent: float | None = None
    decode_tokens_per_second: float | None = None
    decode_tokens_per_second_per_sequence: float | None = None
    prefill_tokens_per_second: float | None = None
    time_to_first_token_ms: float | None = None

    @property
    def gpus(self) -> int:
        """Number of GPUs, one when it is not stated."""
        return self.gpu_count or 1

    @property
    def tokens_per_step(self) -> float:
        """The most tokens that one sequence gains in a step."""
        drafted = self.speculative_tokens or 0
        return 1 + drafted * (1 if self.draft_acceptance is None else self.draft_acceptance)


CLAIMED = tuple(field.name for field in fields(Claim) if field.name not in ("model", "gpu"))


def contradictions(claim: Claim) -> tuple[ParameterError, ...]:
    """Every figure that cannot be true, with the arithmetic in its values; empty for a possible claim."""
    table = weigh(
        claim.model,
        claim.quantization or _SMALLEST_FORMAT,
        family=family(claim.engine or "", claim.quantization or _SMALLEST_FORMAT),
    )
    done = work(table, claim.model.architecture)
    return (
        *_context(claim),
        *_memory(claim, done),
        *_decode(claim, done),
        *_prefill(claim, done),
        *_first_token(claim),
        *_rates(claim),
    )


def _context(claim: Claim) -> Iterator[ParameterError]:
    if claim.context_tokens is None:
        return
    prompt, output = claim.prompt_tokens or 0, claim.output_tokens or 0
    if prompt + output > claim.context_tokens:
        values = {"prompt_tokens": prompt, "output_tokens": output, "sum": prompt + output}
        yield ParameterError("context_tokens", "context_too_small", None, values)


def _resident(claim: Claim, done: Work) -> float:
    """Bytes of weights that stay in GPU memory at least."""
    held = done.weights.fixed_bytes + done.weights.expert_bytes
    return held * (1 - (claim.cpu_offload_percent or 0) / 100)


def _memory(claim: Claim, done: Work) -> Iterator[ParameterError]:
    if claim.gpu.memory_bytes is None:
        return
    needed, present = _resident(claim, done), claim.gpus * claim.gpu.memory_bytes
    if needed > present:
        values = {
            "weights_bytes": int(needed),
            "gpu_count": claim.gpus,
            "memory_bytes": present,
            "gpu": claim.gpu.name,
        }
        yield ParameterError("gpu_count", "weights_exceed_memory", None, values)


def _decode(claim: Claim, done: Work) -> Iterator[ParameterError]:
    """A step reads at least what one token needs; what the host may hold is not counted."""
    if claim.gpu.memory_bandwidth_gbs is None:
        return
    weights = done.weights.fixed_bytes + done.weights.expert_bytes
    on_host = weights * (claim.cpu_offload_percent or 0) / 100
    read = max(0.0, done.bytes_read(1) - on_host)
    available = claim.gpus * claim.gpu.memory_bandwidth_gbs
    for name, sequences in (
        ("decode_tokens_per_second", claim.concurrency or 1),
        ("decode_tokens_per_second_per_sequence", 1),
    ):
        rate = getattr(claim, name)
        if rate is None:
            continue
        steps = rate / (sequences * claim.tokens_per_step)
        needed = steps * read / 1e9
        if needed > available * SLACK:
            values = {
                "rate": _short(rate),
                "sequences": sequences,
                "steps": _short(steps),
                "read_gb": _short(read / 1e9),
                "needed_gbs": _short(needed),
                "gpu_count": claim.gpus,
                "gpu": claim.gpu.name,
                "available_gbs": _short(available),
            }
            yield ParameterError(name, "exceeds_bandwidth", None, values)


def _prefill(claim: Claim, done: Work) -> Iterator[ParameterError]:
    """The output matrix is left out: only the last token of a prompt passes it."""
    rate = claim.prefill_tokens_per_second
    known = [rate for rate in _rates_of(claim.gpu) if rate is not None]
    if rate is None or not known:
        return
    architecture = claim.model.architecture
    output = architecture.hidden_size * architecture.vocabulary
    parameters = max(0.0, done.active_parameters - output)
    needed, available = 2 * parameters * rate / 1e12, claim.gpus * max(known)
    if needed > available * SLACK:
        values = {
            "rate": _short(rate),
            "gflop": _short(2 * parameters / 1e9),
            "needed_tflops": _short(needed),
            "gpu_count": claim.gpus,
            "gpu": claim.gpu.name,
            "available_tflops": _short(available),
        }
        yield ParameterError("prefill_tokens_per_second", "exceeds_compute", None, values)


def _rates_of(gpu: Gpu) -> tuple[float | None, ...]:
    return gpu.tflops.fp16, gpu.tflops.fp8, gpu.tflops.int8, gpu.tflops.fp4


def _first_token(claim: Claim) -> Iterator[ParameterError]:
    waited, rate, prompt = (
        claim.time_to_first_token_ms,
        claim.prefill_tokens_per_second,
        claim.prompt_tokens,
    )
    if waited is None or rate is None or not prompt:
        return
    expected = 1000 * prompt / rate
    most = _SLOWER_THAN_PREFILL * expected + _QUEUE_SECONDS * 1000
    if not expected * _FASTER_THAN_PREFILL <= waited <= most * (claim.concurrency or 1):
        values = {
            "prompt_tokens": prompt,
            "rate": _short(rate),
            "expected_ms": _short(expected),
            "stated_ms": _short(waited),
        }
        yield ParameterError("time_to_first_token_ms", "contradicts_prefill", None, values)


def _rates(claim: Claim) -> Iterator[ParameterError]:
    """All sequences together are not faster than each of them times their number."""
    together, one = claim.decode_tokens_per_second, claim.decode_tokens_per_second_per_sequence
    if together is None or one is None or claim.concurrency is None:
        return
    if together > one * claim.concurrency * _APART:
        values = {
            "rate": _short(together),
            "one": _short(one),
            "sequences": claim.concurrency,
            "product": _short(one * claim.concurrency),
        }
        yield ParameterError("decode_tokens_per_second", "contradicts_per_sequence", None, values)


def _short(value: float) -> float:
    """Four significant digits, for a sentence."""
    return float(f"{value:.4g}")
