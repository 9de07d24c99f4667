"""Parameters and bodies of the OpenAPI document, made from the same table that reads them."""

from collections.abc import Mapping
from typing import Any

from service.api.fields import MAX_TEXT, Document, Number, Parameter, Truth, Whole
from service.api.schemas import GPU_SPEC, LISTED, MEASURED, POSTED, SCENARIO
from service.api.written_text import Choice, Line
from service.core.cost.currency import CURRENCIES
from service.core.engines import ENGINES
from service.core.hardware import Platform

Json = dict[str, Any]


def choices() -> Mapping[str, list[str]]:
    """Parameters whose values are a closed set."""
    engines = ENGINES.values()
    cache_types = sorted({dtype for engine in engines for dtype in engine.kv_dtypes})
    return {
        "engine": list(ENGINES),
        "platform": [str(platform) for platform in Platform],
        "quantization": sorted({name for engine in engines for name in engine.formats}),
        "kv_cache_dtype": ["auto", *cache_types],
        "kv_cache_dtype_v": ["auto", *cache_types],
        "currency": list(CURRENCIES),
    }


def value_schema(name: str, parameter: Parameter) -> Json:
    """The JSON Schema of one value."""
    about = parameter.metadata
    schema: Json = _type(parameter)
    if name in choices():
        schema["enum"] = choices()[name]
    if about.get("example") is not None:
        schema["examples"] = [about["example"]]
    if about.get("default"):
        schema["x-default"] = about["default"]
    return schema


def _type(parameter: Parameter) -> Json:
    if isinstance(parameter, Whole | Number):
        low, high = parameter.limits
        kind = "integer" if isinstance(parameter, Whole) else "number"
        return {"type": kind, "minimum": low, "maximum": high}
    if isinstance(parameter, Truth):
        return {"type": "boolean"}
    if isinstance(parameter, Document):
        return {"type": "object"}
    if isinstance(parameter, Choice):
        return {"type": "string", "enum": list(parameter.allowed)}
    if isinstance(parameter, Line):
        return {"type": "string", "minLength": 1, "maxLength": parameter.maximum}
    return {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}


def query(parameters: Mapping[str, Parameter], required: tuple[str, ...] = ()) -> list[Json]:
    """Query parameters of an operation."""
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": parameter.metadata["description"],
            "schema": value_schema(name, parameter),
        }
        for name, parameter in parameters.items()
    ]


def scenario_query(*, needs_gpu: bool = True, needs_model: bool = True) -> list[Json]:
    """The scenario as a query string."""
    needed = {"model": needs_model, "gpu": needs_gpu}
    return query(SCENARIO, tuple(name for name, required in needed.items() if required))


def list_query() -> list[Json]:
    """Filter and page of a list."""
    return query(LISTED)


def measurement_query() -> list[Json]:
    """Filters and page of the measurements."""
    return query(MEASURED)


def language_query() -> list[Json]:
    """The language alone."""
    return query({"lang": SCENARIO["lang"]})


def path_parameter(name: str, description: str, example: str) -> Json:
    """A part of the path."""
    schema = {"type": "string", "examples": [example]}
    return {"name": name, "in": "path", "required": True, "description": description, "schema": schema}


def body_schemas() -> dict[str, Json]:
    """The scenario as a JSON body, where null means not given, and the accelerator that it may describe."""
    properties = {name: _nullable(name, parameter) for name, parameter in (SCENARIO | POSTED).items()}
    properties["gpu_spec"] = {
        "anyOf": [{"$ref": "#/components/schemas/GpuSpec"}, {"type": "null"}],
        "description": POSTED["gpu_spec"].metadata["description"],
    }
    spec = {n: f for n, f in GPU_SPEC.fields.items() if isinstance(f, Parameter)}
    return {
        "ScenarioBody": {
            "type": "object",
            "description": "One scenario; the names are those of the query parameters.",
            "properties": properties,
            "additionalProperties": False,
        },
        "GpuSpec": {
            "type": "object",
            "description": "An accelerator that the catalog does not have.",
            "properties": {n: described_parameter(n, f) for n, f in spec.items()},
            "required": [n for n, f in spec.items() if f.required],
            "additionalProperties": False,
        },
    }


def described_parameter(name: str, parameter: Parameter) -> Json:
    """The JSON Schema of one value with what it means."""
    return {**value_schema(name, parameter), "description": parameter.metadata["description"]}


def _nullable(name: str, parameter: Parameter) -> Json:
    schema = described_parameter(name, parameter)
    schema["type"] = [schema["type"], "null"]
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    return schema
