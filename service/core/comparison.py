"""A real measurement beside the estimate for the same conditions: measured divided by estimated."""

from dataclasses import dataclass

from service.core.catalogued import Model
from service.core.hardware import Gpu
from service.core.measurements import Measurement
from service.core.request import Request
from service.core.speed.result import Speed


@dataclass(frozen=True, slots=True)
class Ratio:
    """One rate of a record and the estimate for it, tokens/s."""

    rate: str
    measured: float
    estimate: float

    @property
    def ratio(self) -> float:
        """Measured divided by estimated; above 1 the estimate was too low."""
        return self.measured / self.estimate


def conditions(row: Measurement, model: Model, gpu: Gpu) -> Request | None:
    """The record's own conditions as a question; None for a record that is not compared.

    Only there the two figures answer the same question, whatever else was asked. Prompt and output fill the
    cache as far as it was filled on average while the record's output was decoded.
    """
    if not row.comparable or row.context_tokens is None:
        return None
    output = max(1, row.output_tokens or 1)
    prompt = max(1, (row.prompt_tokens or 1) if _prompts_alone(row) else row.context_tokens - output // 2)
    return Request(
        model=model,
        gpu=gpu,
        gpu_count=row.gpu_count,
        engine=row.engine,
        backend=row.backend,
        quantization=row.quantization,
        context_tokens=prompt + output,
        concurrent_sequences=row.concurrency,
        prompt_tokens=prompt,
        output_tokens=output,
        tensor_parallel=row.tensor_parallel,
    )


def ratios(row: Measurement, speed: Speed) -> tuple[Ratio, ...]:
    """The rates that the record states, beside the estimate for its conditions.

    A prompt that was processed after others, deeper in the context, has no estimate of its own.
    """
    found = []
    if row.decode_tokens_per_second is not None:
        estimate = speed.decode_aggregate.estimate
        found.append(Ratio("decode_tokens_per_second", row.decode_tokens_per_second, estimate))
    from_start = not _prompts_alone(row) or row.context_tokens == 0
    if row.prefill_tokens_per_second is not None and speed.prefill is not None and from_start:
        estimate = speed.prefill.estimate
        found.append(Ratio("prefill_tokens_per_second", row.prefill_tokens_per_second, estimate))
    return tuple(found)


def _prompts_alone(row: Measurement) -> bool:
    return row.decode_tokens_per_second is None
