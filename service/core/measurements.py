"""Real measurements of speed: what a record states, what it leaves out, and whether it may be compared."""

from dataclasses import dataclass

# What a record may be flagged with, each a reason to keep it out of comparisons.
FLAGS = (
    "exceeds_bandwidth",  # single-stream decode that reads more bytes/s than the memory can deliver
    "source_anomaly",  # the source contradicts itself
    "crowd",  # submitted by a user, conditions not verified
    "end_to_end",  # output tokens over the whole time, prompt included
    "mlperf_saturated",  # a whole system at saturation, batch not stated
    "offload",  # weights in system RAM, described in words only
    "cpu_only",  # ran on the CPU
    "no_flash_attn",  # without flash attention, which engines use by default today
    "first_run_warmup",  # the first run, kernels still being compiled
    "eager",  # CUDA graphs switched off
    "fewer_experts",  # fewer experts active than the model was trained with
    "attention_data_parallel",  # attention replicated instead of split
    "expert_parallel",  # expert parallelism of a degree that is not stated
)
# Id of the source of what users uploaded; the source of one such record is `uploaded:<its id>`.
UPLOADED = "uploaded"


@dataclass(frozen=True, slots=True)
class Source:
    """Where measurements were published; note: what holds for all of its records."""

    id: str
    name: str
    url: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """One record as it was published; None is what its source does not state.

    model / gpu: catalog ids. equivalent: published_model is a sister model of the same architecture.
    engine / quantization: ids of the API, None where the published name is none of them.
    published_engine / published_quantization: the published spelling where it differs from the id.
    context_tokens: mean fill of the cache while decoding. prompt_tokens or output_tokens 0: a test of the
    other phase alone. decode_tokens_per_second: all sequences together. speculative: None when not stated.
    date: day, month or year, ISO 8601. source_detail: file, issue or row inside the source.
    """

    id: str
    model: str
    gpu: str
    source: str
    source_detail: str
    published_model: str
    published_gpu: str
    equivalent: bool = False
    gpu_count: int | None = None
    interconnect: str | None = None
    tensor_parallel: int | None = None
    expert_parallel: int | None = None
    engine: str | None = None
    published_engine: str | None = None
    backend: str | None = None
    engine_version: str | None = None
    quantization: str | None = None
    published_quantization: str | None = None
    weights_gib: float | None = None
    context_tokens: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    concurrency: int | None = None
    speculative: bool | None = None
    draft_acceptance: float | None = None
    kv_cache_dtype: str | None = None
    offload: str | None = None
    decode_tokens_per_second: float | None = None
    decode_tokens_per_second_per_sequence: float | None = None
    prefill_tokens_per_second: float | None = None
    time_to_first_token_ms: float | None = None
    time_per_output_token_ms: float | None = None
    date: str | None = None
    note: str | None = None
    flags: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Fields without which two figures cannot be compared and that the source does not state."""
        return tuple(name for name in _NEEDED if getattr(self, name) is None) + self._missing_by_kind()

    @property
    def set_aside(self) -> tuple[str, ...]:
        """Codes of the reasons, beside missing fields, why this record is in no comparison."""
        unnamed = []
        if self.engine is None:
            unnamed.append("other_engine")
        if self.quantization is None and self.published_quantization is not None:
            unnamed.append("other_quantization")
        return (*self.flags, *unnamed)

    @property
    def comparable(self) -> bool:
        """Whether the record is complete and nothing speaks against it."""
        return not self.missing and not self.set_aside

    def _missing_by_kind(self) -> tuple[str, ...]:
        """What only some records need: links of several GPUs, both phases of a whole run, drafts accepted."""
        stated = self.quantization or self.published_quantization
        several = self.gpu_count is not None and self.gpu_count > 1
        prefill = self.prefill_tokens_per_second or self.time_to_first_token_ms
        lacking = {
            "quantization": not stated,
            "interconnect": several and self.interconnect is None,
            "tensor_parallel": several and self.tensor_parallel is None,
            "decode_tokens_per_second": self.output_tokens != 0 and self.decode_tokens_per_second is None,
            "prefill_tokens_per_second": self.prompt_tokens != 0 and prefill is None,
            "draft_acceptance": self.speculative is True and self.draft_acceptance is None,
        }
        return tuple(name for name, lacks in lacking.items() if lacks)


_NEEDED = ("gpu_count", "context_tokens", "engine_version", "backend", "concurrency", "speculative")
