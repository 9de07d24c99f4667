"""The fields of an uploaded measurement: types, ranges and meaning, also for the OpenAPI document."""

from typing import Any

from marshmallow import RAISE, Schema

from service.api.fields import Number, Parameter, Whole
from service.api.openapi_parameters import choices
from service.api.written_text import Choice, Line, Period, Prose, WebAddress
from service.measurements.submission import Status

MOST_ROWS = 500
MOST_LOG = 4000
MOST_NOTE = 1000
MOST_ADDRESS = 500
_MOST_TOKENS = 10**8
_MOST_RATE = 10**9
BACKENDS = ("cuda", "rocm", "vulkan", "metal", "sycl", "cann", "musa", "opencl", "cpu", "openvino")


def _about(description: str, example: object) -> dict[str, Any]:
    return {"metadata": {"description": description, "example": example}}


def _whole(most: int, description: str, example: int, least: int = 1) -> Whole:
    return Whole((least, most), **_about(description, example))


def _rate(description: str, example: float) -> Number:
    return Number((0.001, _MOST_RATE), **_about(description, example))


def _choice(name: str, description: str, example: str) -> Choice:
    return Choice(tuple(choices()[name]), **_about(description, example))


def _line(description: str, example: str, most: int = 200, *, required: bool = False) -> Line:
    return Line(most, required=required, **_about(description, example))


SUBMISSION: dict[str, Parameter] = {
    "model": _line("The model: catalog id, alias or repository name.", "qwen3-8b", required=True),
    "gpu": _line("The accelerator: catalog id or alias.", "rtx-4090", required=True),
    "gpu_count": _whole(1024, "Number of GPUs.", 1),
    "interconnect": _line("What links several GPUs.", "PCIe 4.0 x16"),
    "tensor_parallel": _whole(1024, "Tensor-parallel degree.", 1),
    "expert_parallel": _whole(1024, "Expert-parallel degree.", 1),
    "engine": _choice("engine", "Inference engine.", "llama.cpp"),
    "engine_version": _line("Version or build of the engine.", "b9992", 100),
    "backend": Choice(BACKENDS, **_about("Backend of the engine.", "cuda")),
    "quantization": _choice("quantization", "Weight format.", "q4_k_m"),
    "context_tokens": _whole(
        _MOST_TOKENS, "Context that one sequence may fill, prompt and output included.", 8192
    ),
    "prompt_tokens": _whole(_MOST_TOKENS, "Tokens of the prompt; 0: decoding alone was tested.", 4096, 0),
    "output_tokens": _whole(_MOST_TOKENS, "Tokens of the output; 0: prefill alone was tested.", 512, 0),
    "concurrency": _whole(10**6, "Sequences at the same time.", 1),
    "speculative_tokens": _whole(64, "Draft tokens per step; 0: without drafts.", 0, 0),
    "draft_acceptance": Number((0, 1), **_about("Part of the drafted tokens that was accepted.", 0.7)),
    "kv_cache_dtype": _choice("kv_cache_dtype", "Type of the KV cache.", "fp16"),
    "cpu_offload_percent": Number((0, 100), **_about("Percent of the weights in system RAM.", 0)),
    "power_limit_watts": Number((1, 10**5), **_about("Power limit of each GPU, where one was set.", 300)),
    "decode_tokens_per_second": _rate("Decoding, all sequences together.", 110.5),
    "decode_tokens_per_second_per_sequence": _rate("Decoding, one of the sequences.", 110.5),
    "prefill_tokens_per_second": _rate("Tokens of prompts processed per second.", 6800),
    "time_to_first_token_ms": _rate("Time from the request to its first token, milliseconds.", 640),
    "date": Period(10, **_about("When it was measured: day, month or year.", "2026-11-20")),
    "source_url": WebAddress(
        MOST_ADDRESS, **_about("Where it was published, http or https.", "https://example.org/run/1")
    ),
    "log": Prose(MOST_LOG, **_about("What the engine printed, an excerpt.", "eval time = …")),
    "note": Prose(MOST_NOTE, **_about("What else a reader should know.", "second of three runs")),
}
REVIEW: dict[str, Parameter] = {
    "status": Choice(
        (str(Status.PUBLISHED), str(Status.REJECTED), str(Status.WITHDRAWN)),
        required=True,
        **_about("The new status.", "published"),
    ),
    "note": Prose(MOST_NOTE, **_about("Why; kept in the history.", "checked against the log")),
}


def _schema(parameters: dict[str, Parameter]) -> Schema:
    return Schema.from_dict(dict(parameters))(unknown=RAISE)


SUBMISSION_SCHEMA = _schema(SUBMISSION)
REVIEW_SCHEMA = _schema(REVIEW)
