"""Request -> Scenario: every default filled in, every value checked."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from service.core.architecture.model import Architecture
from service.core.engines import ENGINES
from service.core.engines.base import Engine, EngineDefaults, Reads, Settles
from service.core.hardware import Gpu, GpuKind, Platform
from service.core.layout import choose_layout
from service.core.request import PARAMETERS, RANGES, Request
from service.core.scenario import Scenario
from service.errors import InvalidParameters, ParameterError

DEFAULT_CONTEXT_TOKENS = 8192
DEFAULT_PROMPT_TOKENS = 4096
DEFAULT_OUTPUT_TOKENS = 512
DEFAULT_ENGINE = "llama.cpp"
_PLAIN = (
    "kv_cache_memory_bytes",
    "cpu_offload_percent",
    "system_memory_gib",
    "reserved_memory_bytes",
    "speculative_tokens",
    "hours_per_day",
    "electricity_usd_per_kwh",
    "hardware_budget_usd",
)
# What an engine may also be, asked once: a look into a protocol is slower than all of `resolve`.
_READING = {name: engine for name, engine in ENGINES.items() if isinstance(engine, Reads)}
_SETTLING = {name: engine for name, engine in ENGINES.items() if isinstance(engine, Settles)}


def resolve(request: Request) -> Scenario:
    """The scenario that a request means.

    Raises InvalidParameters with every wrong parameter that can be told apart from the others.
    """
    check_ranges({name: value for name in RANGES if (value := getattr(request, name)) is not None})
    engine = ENGINES[choose_engine(request)]
    quantization = _choose_quantization(request, engine)
    defaulted = tuple(name for name in PARAMETERS if getattr(request, name) is None)
    if engine.id in _READING:
        request = _READING[engine.id].read(request)
    count, layout = choose_layout(request, quantization, engine.id, splits_layers=engine.splits_layers)
    context = request.context_tokens or DEFAULT_CONTEXT_TOKENS
    architecture = request.model.architecture
    defaults = engine.defaults(architecture, request.gpu, layout.tensor, context)
    _check_engine_parameters(request, engine, defaults)
    prompt, output = prompt_and_output(request.prompt_tokens, request.output_tokens, context)
    key_dtype = _kv_dtype(request.kv_cache_dtype, defaults.kv_cache_dtype)
    scenario = Scenario(
        model=request.model,
        gpu=request.gpu,
        gpu_count=count,
        engine=engine.id,
        backend=choose_backend(request, engine.id),
        platform=choose_platform(request),
        quantization=quantization,
        kv_cache_dtype=key_dtype,
        kv_cache_dtype_v=_kv_dtype(request.kv_cache_dtype_v, key_dtype),
        context_tokens=context,
        concurrent_sequences=request.concurrent_sequences or 1,
        layout=layout,
        max_batched_tokens=request.max_batched_tokens or defaults.max_batched_tokens,
        prompt_tokens=prompt,
        output_tokens=output,
        memory_utilization=request.memory_utilization or defaults.memory_utilization,
        prefix_caching=defaults.prefix_caching if request.prefix_caching is None else request.prefix_caching,
        vision=bool(architecture.vision) and (defaults.vision if request.vision is None else request.vision),
        defaulted=defaulted,
        **_plain_values(request),
    )
    return _SETTLING[engine.id].settle(scenario) if engine.id in _SETTLING else scenario


def _plain_values(request: Request) -> dict[str, Any]:
    """Parameters that are taken as they are, where they were given."""
    return {name: value for name in _PLAIN if (value := getattr(request, name)) is not None}


def check_ranges(values: Mapping[str, float]) -> None:
    """Raise InvalidParameters for values that are not within their RANGES."""
    errors = []
    for name, value in values.items():
        low, high = RANGES[name]
        if not low <= value <= high:
            limits = {"minimum": low, "maximum": high}
            errors.append(ParameterError(name, "out_of_range", (low, high), limits))
    if errors:
        raise InvalidParameters(*errors)


def choose_engine(request: Request) -> str:
    """The engine asked for, else the first that loads the format; raises InvalidParameters."""
    if request.engine is not None:
        if request.engine not in ENGINES:
            raise InvalidParameters(ParameterError("engine", "not_allowed", tuple(ENGINES)))
        return request.engine
    if request.quantization is None:
        return DEFAULT_ENGINE
    able = [
        name
        for name, engine in ENGINES.items()
        if loads(engine, request.model.architecture, request.quantization)
    ]
    if not able:
        formats = sorted({f for engine in ENGINES.values() for f in engine.formats})
        raise InvalidParameters(ParameterError("quantization", "not_allowed", tuple(formats)))
    on_gpu = [name for name in able if request.gpu.backends(name)]
    return (on_gpu or able)[0]


def loads(engine: Engine, architecture: Architecture, quantization: str) -> bool:
    """Whether an engine loads a format of a model."""
    return quantization in engine.formats and (quantization != "native" or engine.loads_native(architecture))


def _choose_quantization(request: Request, engine: Engine) -> str:
    quantization = request.quantization or engine.default_format
    architecture = request.model.architecture
    if not loads(engine, architecture, quantization):
        allowed = sorted(f for f in engine.formats if loads(engine, architecture, f))
        raise InvalidParameters(
            ParameterError(
                "quantization",
                "format_not_supported",
                tuple(allowed),
                {"engine": engine.id, "format": quantization},
            )
        )
    return quantization


def choose_backend(request: Request, engine: str) -> str:
    """The backend asked for, else the first of the GPU; raises InvalidParameters."""
    available = request.gpu.backends(engine)
    if request.backend is None:
        return available[0] if available else "none"
    if available and request.backend not in available:
        raise InvalidParameters(ParameterError("backend", "not_allowed", available))
    return request.backend


def choose_platform(request: Request) -> Platform:
    """The platform asked for, else the default of the GPU; raises InvalidParameters."""
    allowed = platforms(request.gpu)
    if request.platform is None:
        return allowed[0]
    if request.platform not in allowed:
        raise InvalidParameters(ParameterError("platform", "not_allowed", tuple(allowed)))
    return Platform(request.platform)


def platforms(gpu: Gpu) -> tuple[Platform, ...]:
    """Platforms that an accelerator runs under, the default first."""
    if gpu.vendor == "Apple":
        return (Platform.MACOS,)
    server, desktop, windows = Platform.LINUX_SERVER, Platform.LINUX_DESKTOP, Platform.WINDOWS
    if gpu.kind in (GpuKind.CONSUMER, GpuKind.UNIFIED):
        return (desktop, server, windows)
    return (server, desktop, windows)


def _kv_dtype(asked: str | None, default: str) -> str:
    return default if asked in (None, "auto") else str(asked)


def _check_engine_parameters(request: Request, engine: Engine, defaults: EngineDefaults) -> None:
    """Parameters that the engine does not have are errors, never ignored."""
    errors = []
    allowed = ("auto", *engine.kv_dtypes)
    for name in ("kv_cache_dtype", "kv_cache_dtype_v"):
        value = getattr(request, name)
        if value is not None and value not in allowed:
            errors.append(ParameterError(name, "kv_dtype_not_supported", allowed, {"engine": engine.id}))
    if not engine.separate_value_dtype and request.kv_cache_dtype_v not in (None, request.kv_cache_dtype):
        value = request.kv_cache_dtype or "auto"
        errors.append(ParameterError("kv_cache_dtype_v", "not_supported_by_engine", (value,)))
    if request.memory_utilization is not None and defaults.memory_utilization is None:
        errors.append(ParameterError("memory_utilization", "not_supported_by_engine"))
    errors.extend(
        ParameterError(name, "not_supported_by_engine")
        for name in ("prefix_caching", "kv_cache_memory_bytes")
        if getattr(request, name) and engine.splits_layers
    )
    if request.cpu_offload_percent and not engine.offloads:
        errors.append(ParameterError("cpu_offload_percent", "not_supported_by_engine", (0,)))
    if errors:
        raise InvalidParameters(*(replace(e, values={"engine": engine.id, **e.values}) for e in errors))


def prompt_and_output(prompt: int | None, output: int | None, context: int) -> tuple[int, int]:
    """Prompt and output tokens; what was not given is cut so that both fit the context.

    Raises InvalidParameters for what was given and does not fit.
    """
    if prompt is not None and output is not None:
        if prompt + output > context:
            raise _beyond_context("prompt_tokens", context - output, context)
        return prompt, output
    if prompt is not None:
        if prompt > context:
            raise _beyond_context("prompt_tokens", context, context)
        return prompt, min(DEFAULT_OUTPUT_TOKENS, context - prompt)
    if output is None:
        output = min(DEFAULT_OUTPUT_TOKENS, context // 2)
    if output > context:
        raise _beyond_context("output_tokens", context, context)
    return min(DEFAULT_PROMPT_TOKENS, context - output), output


def _beyond_context(name: str, largest: int, context: int) -> InvalidParameters:
    values = {"maximum": max(0, largest), "context_tokens": context}
    return InvalidParameters(ParameterError(name, "exceeds_context", None, values))
