"""`/v1/plan` in the OpenAPI document."""

from service.api.openapi_parameters import body_schemas, query, value_schema
from service.api.openapi_schemas import (
    ANY_OBJECT,
    NUMBER,
    TEXT,
    TRUTH,
    WHOLE,
    Json,
    array,
    described,
    maybe,
    record,
    ref,
)
from service.api.planning import PLAN
from service.core.hardware import GpuKind
from service.core.sizing import Verdict

_VERDICT: Json = {"type": "string", "enum": [str(verdict) for verdict in Verdict]}
_RANGE: Json = record(
    "The estimate with the interval of eight of ten measurements.",
    {
        "low": NUMBER,
        "estimate": NUMBER,
        "high": NUMBER,
    },
)
_SPEED: Json = {
    "decode_tokens_per_second": _RANGE,
    "per_sequence": _RANGE,
    "time_to_first_token_ms": maybe(_RANGE),
    "bound": TEXT,
    "interval": TEXT,
    "indicative": described(TRUTH, "No benchmark of this class of hardware or load is known."),
}
_RENT: Json = {
    "usd_per_hour": NUMBER,
    "machines": WHOLE,
    "id": TEXT,
    "provider": TEXT,
    "as_of": maybe(TEXT),
    "age_days": maybe(WHOLE),
    "current": described(TRUTH, "Dated, at most 180 days old, and from a dependable source."),
    "source": TEXT,
}
_PURCHASE: Json = {
    "kind": TEXT,
    "used": TRUTH,
    "usd": record("All accelerators together.", {"low": NUMBER, "high": NUMBER}),
    "as_of": maybe(TEXT),
}
_OPTION: Json = {
    "model": TEXT,
    "model_name": TEXT,
    "gpu": TEXT,
    "gpu_name": TEXT,
    "gpu_count": WHOLE,
    "engine": TEXT,
    "quantization": TEXT,
    "nominal_bits": described(
        WHOLE, "Bits that the format's name promises; 16 for the weights as published."
    ),
    "kv_cache_dtype": TEXT,
    "verdict": {"type": "string", "enum": [str(Verdict.FITS), str(Verdict.TIGHT)]},
    "utilization": maybe(NUMBER),
    "needed_per_gpu": ref("Amount"),
    "usable_per_gpu": maybe(ref("Amount")),
    "speed": maybe(record("Parts of the speed of a sizing.", _SPEED), "Null where it is not known."),
    "rent": maybe(record("The best offer for just this hardware.", _RENT)),
    "purchase": maybe(record("The lowest known price.", _PURCHASE)),
    "notes": array(ref("Note"), "What is to be said of the speed, the prices and the engine."),
}
_PLACE: Json = {
    "place": WHOLE,
    "pareto": described(TRUTH, "On the front: none is known to be as good in price, speed and format."),
    **_OPTION,
    "reasons": array(ref("Note"), "Why it is here, and why ahead of the next place."),
    "sizing": maybe(TEXT, "Address that sizes it in full; null for what only a POST describes."),
}
_EXCLUDED: Json = {
    "model": maybe(TEXT),
    "gpu": maybe(TEXT),
    "gpu_name": maybe(TEXT),
    "gpu_count": maybe(WHOLE),
    "engine": maybe(TEXT),
    "quantization": maybe(TEXT),
    "verdict": _VERDICT,
    "reason": ref("Note"),
}
_PICKS = ("best_single_gpu", "best_value", "best_value_used", "unified_memory", "cloud")
_VALUE: Json = {
    **_OPTION,
    "usd_per_token_per_second": described(
        NUMBER, "Low end of the purchase price / tokens per second of one sequence."
    ),
}
_HIGHLIGHTS: Json = {
    name: maybe(ref("PlanValue" if name.startswith("best_value") else "PlanOption"))
    for name in (*_PICKS, *(f"smallest_{kind}" for kind in GpuKind))
}
_PLAN: Json = {
    "scenario": described(ANY_OBJECT, "What was given, the model, and the accelerators that were tried."),
    "items": array(ref("PlanPlace"), "Best place first."),
    "total": described(WHOLE, "Of options found; `limit` cuts the list."),
    "highlights": maybe(record("Null in a plan of models.", _HIGHLIGHTS)),
    "excluded": array(record("What was left out, and why.", _EXCLUDED)),
    "as_of": described(TEXT, "Day on which prices were collected."),
    "versions": ANY_OBJECT,
}


def as_plan(operation: Json) -> Json:
    """The GET and POST of a scenario, made those of a plan: of a model, of an accelerator, or of both."""
    get, post = operation["get"], operation["post"]
    parameters = [{**p, "required": False} for p in get["parameters"]]
    example = {"model": post["requestBody"]["content"]["application/json"]["example"]["model"]}
    example |= {"context_tokens": 32768, "min_decode_tokens_per_second": 20}
    content = {"application/json": {"schema": ref("PlanBody"), "example": example}}
    description = "The plan, with the names of the query parameters; see the schema PlanBody."
    return {
        "get": {
            **get,
            "description": "With `model`, the hardware for it; with `gpu` alone, the models that it runs.",
            "parameters": [*parameters, *query(PLAN)],
        },
        "post": {
            **post,
            "requestBody": {"required": True, "description": description, "content": content},
        },
    }


def plan_schemas() -> dict[str, Json]:
    """The plan as a JSON body, where null means not given, and its answer."""
    scenario = body_schemas()["ScenarioBody"]
    own = {}
    for name, parameter in PLAN.items():
        schema = {**value_schema(name, parameter), "description": parameter.metadata["description"]}
        kinds = [schema["type"], "array", "null"] if name == "gpus" else [schema["type"], "null"]
        own[name] = {**schema, "type": kinds}
    return {
        "PlanBody": {
            **scenario,
            "description": "One plan; the names are those of the query parameters.",
            "properties": {**scenario["properties"], **own},
        },
        "PlanOption": record("A configuration that runs.", _OPTION),
        "PlanValue": record("A configuration that runs, and the price that makes it a value.", _VALUE),
        "PlanPlace": record("A configuration that runs, at its place.", _PLACE),
        "Plan": record(
            "Ranked options, and what was left out.", _PLAN | {"currency": ref("Currency")}, ("currency",)
        ),
    }
