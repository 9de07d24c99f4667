"""What a user submits, how it is kept, and the `Measurement` that it becomes."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from service.core.measurements import UPLOADED, Measurement


class Status(StrEnum):
    """Where a submission stands."""

    PENDING = "pending"
    PUBLISHED = "published"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


# The statuses that a review may lead to, by the present one; nothing leads back to `pending`.
NEXT: Mapping[Status, tuple[Status, ...]] = {
    Status.PENDING: (Status.PUBLISHED, Status.REJECTED, Status.WITHDRAWN),
    Status.PUBLISHED: (Status.WITHDRAWN,),
    Status.REJECTED: (Status.PUBLISHED,),
    Status.WITHDRAWN: (Status.PUBLISHED,),
}


@dataclass(frozen=True, slots=True)
class Submission:
    """One measurement as a user states it; None is what is not stated.

    model, gpu: catalog ids; published_model, published_gpu: as they were written. context_tokens: what one
    sequence may hold. speculative_tokens: drafts per step, 0 without. draft_acceptance: part of them that was
    accepted, 0…1. decode_tokens_per_second: all sequences together. cpu_offload_percent: of the weights.
    power_limit_watts: of each GPU. date: day, month or year. log: an excerpt of what the engine printed.
    """

    model: str
    gpu: str
    published_model: str
    published_gpu: str
    gpu_count: int | None = None
    interconnect: str | None = None
    tensor_parallel: int | None = None
    expert_parallel: int | None = None
    engine: str | None = None
    engine_version: str | None = None
    backend: str | None = None
    quantization: str | None = None
    context_tokens: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    concurrency: int | None = None
    speculative_tokens: int | None = None
    draft_acceptance: float | None = None
    kv_cache_dtype: str | None = None
    cpu_offload_percent: float | None = None
    power_limit_watts: float | None = None
    decode_tokens_per_second: float | None = None
    decode_tokens_per_second_per_sequence: float | None = None
    prefill_tokens_per_second: float | None = None
    time_to_first_token_ms: float | None = None
    date: str | None = None
    source_url: str | None = None
    log: str | None = None
    note: str | None = None


SUBMITTED = tuple(field.name for field in fields(Submission))


@dataclass(frozen=True, slots=True)
class Stored:
    """A submission with its place in the database. version: rises with each review; times: Unix seconds."""

    id: str
    status: Status
    version: int
    created_at: int
    updated_at: int
    key_id: str
    submission: Submission


def stored(row: Mapping[str, Any]) -> Stored:
    """The submission of a database row, whose columns may be those of another version of the tables."""
    values: dict[str, Any] = {name: row.get(name) for name in SUBMITTED}
    return Stored(
        id=row["id"],
        status=Status(row["status"]),
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        key_id=row["key_id"],
        submission=Submission(**values),
    )


def measurement(found: Stored) -> Measurement:
    """The record that is shown and compared.

    context_tokens of a record is the mean fill of the cache while decoding: the prompt and half of the
    output, the whole context where a run states no prompt (a test of decoding at a depth).
    """
    given = found.submission
    drafted = given.speculative_tokens
    offloaded = bool(given.cpu_offload_percent)
    same = {name: getattr(given, name) for name in _SAME}
    return Measurement(
        id=found.id,
        source=f"{UPLOADED}:{found.id}",
        source_detail=given.source_url or "",
        context_tokens=_mean_fill(given),
        speculative=None if drafted is None else drafted > 0,
        offload=f"{given.cpu_offload_percent:g} %" if offloaded else None,
        decode_tokens_per_second=_aggregate(given),
        flags=("offload",) if offloaded else (),
        **same,
    )


_SAME = tuple(
    field.name
    for field in fields(Measurement)
    if field.name in SUBMITTED and field.name not in ("context_tokens", "decode_tokens_per_second")
)


def _mean_fill(given: Submission) -> int | None:
    if given.prompt_tokens is None:
        return given.context_tokens
    if given.output_tokens is None:
        return None
    return given.prompt_tokens + given.output_tokens // 2


def _aggregate(given: Submission) -> float | None:
    """All sequences together; where only one is stated, that rate times their stated number."""
    if given.decode_tokens_per_second is not None:
        return given.decode_tokens_per_second
    if given.decode_tokens_per_second_per_sequence is None or given.concurrency is None:
        return None
    return given.decode_tokens_per_second_per_sequence * given.concurrency
