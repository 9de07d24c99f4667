"""The parameters of each resource: types, ranges and meaning; the OpenAPI document prints the same table."""

from typing import Any

from marshmallow import RAISE, Schema

from service.api.fields import Document, Number, Parameter, Text, Truth, Whole, fail
from service.api.written_text import Choice
from service.core.cost.currency import CURRENCIES
from service.core.request import RANGES
from service.errors import InvalidParameters
from service.i18n import negotiate
from service.measurements.submission import Status


class LanguageTag(Text):
    """A language that the service speaks, in any spelling that negotiation understands."""

    def check(self, value: object) -> str:
        """The negotiated tag."""
        try:
            return negotiate(super().check(value))
        except InvalidParameters as error:
            raise fail(error.errors[0].code, error.errors[0].allowed) from None


class CurrencyCode(Text):
    """A currency that prices can be shown in, its code in any case."""

    def check(self, value: object) -> str:
        """The code as ISO 4217 writes it."""
        code = super().check(value).strip().upper()
        if code not in CURRENCIES:
            raise fail("not_allowed", CURRENCIES)
        return code


def _about(description: str, example: object = None, default: str | None = None) -> dict[str, Any]:
    """What the API document says of a parameter; `default` in words, because most depend on the rest."""
    return {"metadata": {"description": description, "example": example, "default": default}}


def _whole(name: str, description: str, example: int, default: str) -> Whole:
    return Whole(RANGES[name], **_about(description, example, default))


def _number(name: str, description: str, example: float, default: str) -> Number:
    return Number(RANGES[name], **_about(description, example, default))


_BY_ENGINE = "the engine's default"
_LANG = "Language of the answer: de, zh or en, also with a region such as zh-CN; beats Accept-Language."
_CURRENCY = (
    "Currency that prices are also given in: USD, EUR or CNY, by a dated reference rate. Beside each field "
    "whose name holds `usd` stands one with the code in its place, and `currency` tells the rate and its day."
)

# Names and order of the scenario's parameters; `model` and `gpu` are required unless a body describes them.
SCENARIO: dict[str, Parameter] = {
    "model": Text(**_about("Catalog id, alias or Hugging Face repository name, in any case.", "qwen3-8b")),
    "gpu": Text(**_about("Catalog id or alias of the accelerator.", "rtx-4090")),
    "gpu_count": _whole("gpu_count", "Number of GPUs.", 2, "1"),
    "engine": Text(
        **_about("Inference engine.", "vllm", "the first that loads `quantization`, else llama.cpp")
    ),
    "backend": Text(**_about("Backend of the engine.", "cuda", "the GPU's first for the engine")),
    "platform": Text(**_about("Operating environment.", "linux-server", "by the kind of GPU")),
    "quantization": Text(
        **_about("Weight format.", "q4_k_m", "q4_k_m for llama.cpp, mlx-4bit for MLX, else native")
    ),
    "kv_cache_dtype": Text(**_about("Type of the KV cache.", "fp8", "auto: the engine's choice")),
    "kv_cache_dtype_v": Text(**_about("Type of the cached values.", "q8_0", "same as kv_cache_dtype")),
    "context_tokens": _whole(
        "context_tokens", "Prompt and output held in the cache, tokens per sequence.", 32768, "8192"
    ),
    "concurrent_sequences": _whole("concurrent_sequences", "Sequences at the same time (batch).", 4, "1"),
    "prompt_tokens": _whole(
        "prompt_tokens", "Tokens of the prompt, for speed only.", 4096, "4096, cut to fit"
    ),
    "output_tokens": _whole("output_tokens", "Tokens of the output, for speed only.", 512, "512, cut to fit"),
    "tensor_parallel": _whole(
        "tensor_parallel", "Tensor-parallel degree.", 2, "the largest valid up to 8 and one node"
    ),
    "pipeline_parallel": _whole("pipeline_parallel", "Pipeline stages.", 1, "the rest of gpu_count"),
    "expert_parallel": _whole(
        "expert_parallel", "Expert-parallel degree.", 1, "1, or all ranks where slices would need padding"
    ),
    "data_parallel": _whole("data_parallel", "Data-parallel replicas.", 1, "1"),
    "decode_context_parallel": _whole("decode_context_parallel", "Decode context parallelism.", 1, "1"),
    "cpu_offload_percent": _number(
        "cpu_offload_percent", "Percent of the weight bytes of the GPUs kept in system RAM.", 25, "0"
    ),
    "system_memory_gib": _number("system_memory_gib", "System RAM, GiB.", 64, "not known"),
    "reserved_memory_bytes": _whole(
        "reserved_memory_bytes", "GPU memory that something else uses, bytes per GPU.", 1_073_741_824, "0"
    ),
    "vision": Truth(**_about("Load the vision tower.", True, _BY_ENGINE)),
    "memory_utilization": _number(
        "memory_utilization", "Share of the GPU memory that the engine may use.", 0.9, _BY_ENGINE
    ),
    "kv_cache_memory_bytes": _whole(
        "kv_cache_memory_bytes", "Exact size of the KV pool, bytes per GPU.", 8_589_934_592, "what is left"
    ),
    "max_batched_tokens": _whole("max_batched_tokens", "Most tokens of one forward pass.", 2048, _BY_ENGINE),
    "prefix_caching": Truth(**_about("Keep prefixes in the cache.", True, _BY_ENGINE)),
    "speculative_tokens": _whole("speculative_tokens", "Draft tokens per step; 0 is off.", 0, "0"),
    "hours_per_day": _number("hours_per_day", "Hours of use per day, for cost.", 8, "4"),
    "electricity_usd_per_kwh": _number(
        "electricity_usd_per_kwh", "Price of electricity, USD per kWh.", 0.25, "0.25"
    ),
    "hardware_budget_usd": _number(
        "hardware_budget_usd", "Budget for hardware, USD.", 2000, "price of the GPU times gpu_count"
    ),
    "currency": CurrencyCode(**_about(_CURRENCY, "EUR", "USD")),
    "lang": LanguageTag(**_about(_LANG, "de", "negotiated, else en")),
    "explain": Truth(**_about("Add the derivation of every number.", False, "false")),
}
POSTED: dict[str, Parameter] = {
    "model_config": Document(**_about("A published Hugging Face config.json, instead of `model`.")),
    "parameters_total": Whole((1, 10**15), **_about("Beside `model_config`: number of parameters.", 10**9)),
    "weight_bytes": Whole((1, 2**50), **_about("Beside `model_config`: bytes of the checkpoint.", 10**9)),
    "model_name": Text(**_about("Beside `model_config`: the model's name.", "my-model")),
    "gpu_spec": Document(**_about("Facts of an accelerator, instead of `gpu`.")),
}
LISTED: dict[str, Parameter] = {
    "q": Text(**_about("Only items whose id, name or publisher contains this text, in any case.", "qwen")),
    "family": Text(**_about("Only items of this family, in any case.", "Qwen3")),
    "limit": Whole((1, 500), **_about("Most items in one answer.", 20, "100")),
    "cursor": Text(**_about("The `next_cursor` of the answer before.")),
    "lang": LanguageTag(**_about(_LANG, "de", "negotiated, else en")),
}


MEASURED: dict[str, Parameter] = {
    "model": Text(**_about("Only measurements of this model: id, alias or repository.", "gpt-oss-120b")),
    "gpu": Text(**_about("Only measurements on this accelerator: id or alias.", "rtx-4090")),
    "engine": Text(**_about("Only measurements with this engine.", "vllm")),
    "quantization": Text(**_about("Only measurements of this weight format.", "q4_k_m")),
    "min_concurrency": Whole((1, 10**6), **_about("Fewest sequences at the same time.", 1)),
    "max_concurrency": Whole((1, 10**6), **_about("Most sequences at the same time.", 16)),
    "comparable": Truth(**_about("Only complete records without a flag, or only the others.", True)),
    "status": Choice(
        tuple(map(str, Status)),
        **_about("Uploads of this status; all but published ones take a key.", "published", "published"),
    ),
    **{name: LISTED[name] for name in ("limit", "cursor", "lang")},
}


def _schema(parameters: dict[str, Parameter]) -> Schema:
    return Schema.from_dict(dict(parameters))(unknown=RAISE)


INSPECTED: dict[str, Parameter] = {
    "config": Document(required=True, **_about("A published Hugging Face config.json.")),
    "index": Document(**_about("The checkpoint's model.safetensors.index.json; its size is used.")),
    "model_name": Text(**_about("The model's name.", "my-model")),
    "lang": SCENARIO["lang"],
}
SCENARIO_QUERY = _schema(SCENARIO)
SCENARIO_BODY = _schema(SCENARIO | POSTED)
LIST_QUERY = _schema(LISTED)
INSPECT_BODY = _schema(INSPECTED)
MEASUREMENT_QUERY = _schema(MEASURED)
LANGUAGE_QUERY = _schema({"lang": SCENARIO["lang"]})
GPU_SPEC: Schema = _schema(
    {
        "name": Text(required=True, **_about("Name of the accelerator.", "Prototype 96GB")),
        "memory_gib": Number(
            (0.5, 65_536), required=True, **_about("Memory that the driver reports, GiB.", 96)
        ),
        "memory_bandwidth_gbs": Number((1, 10**6), required=True, **_about("Memory bandwidth, GB/s.", 1800)),
        "fp16_tflops": Number((0.1, 10**6), required=True, **_about("Dense 16-bit rate, TFLOPS.", 200)),
        "fp8_tflops": Number((0.1, 10**6), **_about("Dense 8-bit float rate, TFLOPS.", 400)),
        "fp4_tflops": Number((0.1, 10**6), **_about("Dense 4-bit float rate, TFLOPS.", 800)),
        "int8_tflops": Number((0.1, 10**6), **_about("Dense 8-bit integer rate, TOPS.", 400)),
        "interconnect_gbs": Number((0, 10**6), **_about("Bandwidth between GPUs, GB/s.", 64)),
        "tdp_watts": Whole((1, 10**5), **_about("Power limit, watts.", 350)),
        "usd_per_hour": Number((0, 10**6), **_about("Rent of one GPU, USD per hour.", 1.5)),
        "price_usd": Number((0, 10**9), **_about("Price of one GPU, USD.", 5000)),
    }
)
