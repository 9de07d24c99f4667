"""Schemas of the answers in the OpenAPI document."""

from typing import Any

from service.api.schemas import SCENARIO
from service.core.derivation.steps import Topic, Unit
from service.core.evidence import Evidence
from service.core.provenance import ProvidedBy
from service.core.sizing import Verdict
from service.core.speed.result import Bound

Json = dict[str, Any]
# Any operation may answer with these.
COMMON_PROBLEMS = (
    "invalid-parameters",
    "not-acceptable",
    "uri-too-long",
    "headers-too-large",
    "too-many-requests",
    "internal-error",
)
TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}
NUMBER: Json = {"type": "number"}
TRUTH: Json = {"type": "boolean"}
ANY_OBJECT: Json = {"type": "object"}
TEXTS: Json = {"type": "array", "items": TEXT}
PROVIDED_BY: Json = {
    "type": "string",
    "enum": [str(who) for who in ProvidedBy],
    "description": "Who states the facts: this service's catalog, its operator, or the caller.",
}


def ref(name: str) -> Json:
    """A reference to a component schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def maybe(schema: Json, description: str = "") -> Json:
    """The schema or null."""
    found: Json = {"anyOf": [schema, {"type": "null"}]}
    return found | ({"description": description} if description else {})


def record(description: str, properties: Json, optional: tuple[str, ...] = ()) -> Json:
    """An object whose properties are all there, but for the optional ones."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "description": description, "properties": properties, "required": required}


def array(items: Json, description: str = "") -> Json:
    """A list of things that are alike."""
    return {"type": "array", "items": items} | ({"description": description} if description else {})


def mapping(values: Json, description: str) -> Json:
    """An object with free names."""
    return {"type": "object", "description": description, "additionalProperties": values}


def described(schema: Json, description: str) -> Json:
    """A schema with what it means."""
    return {**schema, "description": description}


def list_of(name: str) -> Json:
    """One page of a list."""
    return record(
        "One page of a list.",
        {
            "items": array(ref(name)),
            "total": described(WHOLE, "Items that match, on all pages."),
            "next_cursor": maybe(TEXT, "Pass it as `cursor` to read on; null on the last page."),
        },
    )


_TERMS = ("weights", "kv_cache", "recurrent_state", "compute_buffers", "runtime_overhead", "total")
_MEMORY: Json = {name: ref("Amount") for name in _TERMS}
_CACHE: Json = {
    "kv_bytes_per_token": described(WHOLE, "Bytes that each further token of one sequence adds."),
    "kv_window_bytes_per_sequence": described(WHOLE, "Bytes of sliding and chunked layers per sequence."),
    "state_bytes_per_sequence": described(WHOLE, "Bytes of recurrent state per sequence."),
}
_NOTE: Json = {
    "code": described(TEXT, "Stable, for programs."),
    "parameters": described(ANY_OBJECT, "Values that the sentence names."),
    "message": described(TEXT, "The sentence in the language of the answer."),
}
_EVIDENCED: Json = {"evidence": {"type": "string", "enum": [str(e) for e in Evidence]}, "source": TEXT}
_FIT: Json = {
    "verdict": {"type": "string", "enum": [str(verdict) for verdict in Verdict]},
    "usable": maybe(ref("Amount"), "Memory that the engine may use, per GPU."),
    "headroom": maybe(ref("Amount"), "Usable memory less the need, per GPU; may be negative."),
    "utilization": maybe(NUMBER, "Need of the fullest GPU divided by its usable memory."),
    "reasons": array(ref("Note")),
}
_LIMITS: Json = {
    "max_context_tokens": maybe(WHOLE, "Longest context that fits for these sequences."),
    "max_concurrent_sequences": maybe(WHOLE, "Most sequences that fit at this context."),
    "kv_cache_capacity_tokens": maybe(WHOLE, "Tokens that the pool holds, as the engine prints them."),
    "min_gpu_count": maybe(
        WHOLE,
        "Smallest number of these GPUs whose default layout fits, at most that of a scenario that fits.",
    ),
}
_SUBJECT_MODEL: Json = {
    "id": TEXT,
    "name": TEXT,
    "publisher": TEXT,
    "hf_repo": TEXT,
    "parameters_total": WHOLE,
    "parameters_active": WHOLE,
    "evidence": TEXT,
    "provided_by": PROVIDED_BY,
    "max_context_tokens": WHOLE,
}
_SUBJECT_GPU: Json = {
    "id": TEXT,
    "name": TEXT,
    "memory": maybe(ref("Amount"), "Total that the driver reports."),
    "memory_bandwidth_gbs": maybe(NUMBER),
    "evidence": TEXT,
    "provided_by": PROVIDED_BY,
}
_STEP: Json = {
    "symbol": described(TEXT, "Unique in this trace; formulas name it."),
    "topic": {"type": "string", "enum": [str(topic) for topic in Topic]},
    "title": ref("Note"),
    "formula": maybe(TEXT, "Over the symbols of earlier steps; null for a fact that stands for itself."),
    "substituted": maybe(
        TEXT,
        "The formula with values: `+ - * / //` and the functions ceil_div, pad, max, min, round, power, "
        "hypot, log2, digits (significant ones) and money (to the cent, below one dollar to four places).",
    ),
    "value": described(NUMBER, "What `substituted` gives, exactly."),
    "gib": described(NUMBER, "Beside bytes: the value divided by 2**30, rounded to two places."),
    "unit": {"type": "string", "enum": [str(unit) for unit in Unit]},
    "source": described(TEXT, "A parameter of the scenario, the model's config, or a rule of the engine."),
    "evidence": maybe(_EVIDENCED["evidence"], "Null for what the caller chose."),
    "inputs": described(TEXTS, "Symbols that the formula names, each a step before this one."),
    "prints": described(TEXTS, "Places of the answer that print this value; an amount's bytes and GiB."),
}
_SIZING: Json = {
    "scenario": ref("Scenario"),
    "model": record("The model that was sized.", _SUBJECT_MODEL),
    "gpu": record("The accelerator that was sized for.", _SUBJECT_GPU),
    "memory": record(
        "Memory over all GPUs.", {**_MEMORY, "host": ref("Amount"), "model_weights": ref("Amount"), **_CACHE}
    ),
    "per_gpu": record("Memory of the fullest GPU.", _MEMORY),
    "fit": record("Whether it fits.", _FIT),
    "limits": record("What the configuration could hold at most.", _LIMITS),
    "speed": maybe(ref("Speed"), "Null unless it runs and can be estimated; a warning says why."),
    "cost": maybe(ref("Cost"), "Null unless the scenario runs."),
    "measured": array(
        ref("ClosestMeasurement"),
        "Real measurements of this model on this GPU: three at most, closest first.",
    ),
    "warnings": array(ref("Note")),
    "evidence": mapping(
        record("", _EVIDENCED), "How well each term is known, and where its rule comes from."
    ),
    "trace": array(ref("Step"), "With explain=true: the derivation, each step after its inputs."),
    "versions": record(
        "What the numbers come from.",
        {"service": TEXT, "data_digest": TEXT, "engine": TEXT, "engine_version": TEXT},
    ),
}
_ERROR: Json = {
    "parameter": TEXT,
    "code": TEXT,
    "message": TEXT,
    "allowed": described({"type": "array"}, "Allowed values, or the two ends of the allowed range."),
}
_PROBLEM: Json = {
    "type": described(TEXT, "A stable URI reference such as /problems/unknown-model; it has a page."),
    "title": TEXT,
    "status": WHOLE,
    "detail": TEXT,
    "instance": TEXT,
    "errors": array(record("What is wrong with one parameter.", _ERROR, ("allowed",))),
    "suggestions": described(TEXTS, "Ids that come closest, closest first."),
    "request_id": TEXT,
    "limit": described(WHOLE, "How many measurements of a key may wait for review."),
    "pending": described(WHOLE, "How many of them wait now."),
    "submitted": described(WHOLE, "How many are in the request."),
}
_SOMETIMES = ("errors", "suggestions", "request_id", "limit", "pending", "submitted")


_ESTIMATE: Json = {"low": NUMBER, "estimate": NUMBER, "high": NUMBER}
_BASIS: Json = {
    "class": described(TEXT, "The class of measurements whose spread the interval is."),
    "measurements": described(WHOLE, "How many measurements the interval comes from."),
    "evidence": _EVIDENCED["evidence"],
    "indicative": described(TRUTH, "No benchmark of the class; the interval is that of users' reports."),
}
_SPEED: Json = {
    "decode_tokens_per_second": described(ref("Estimate"), "All concurrent sequences together."),
    "per_sequence": described(ref("Estimate"), "Decode of one of them, tokens/s."),
    "prefill_tokens_per_second": maybe(ref("Estimate"), "Prompt tokens/s of a request that runs alone."),
    "time_to_first_token_ms": maybe(ref("Estimate"), "When no other request waits before it."),
    "bound": {"type": "string", "enum": [str(bound) for bound in Bound]},
    "interval": {"type": "string", "enum": ["p10-p90"]},
    "basis": record(
        "What the intervals rest on.",
        {"decode": ref("SpeedBasis"), "prefill": maybe(ref("SpeedBasis"))},
    ),
    "notes": array(ref("Note"), "What the estimate leaves out."),
}


def core_schemas() -> dict[str, Json]:
    """Amounts, notes, the scenario as it was understood, the sizing, and problems."""
    scenario: Json = {name: {"description": p.metadata["description"]} for name, p in SCENARIO.items()}
    return {
        "Amount": record(
            "An amount of memory: bytes are the truth, GiB are rounded to two places.",
            {"bytes": WHOLE, "gib": NUMBER},
        ),
        "Note": record("A reason or a warning.", _NOTE),
        "Scenario": record(
            "Every parameter with the value used.",
            {**scenario, "defaulted": described(TEXTS, "Parameters that were not given.")},
        ),
        "Estimate": record("A figure with the P10 and P90 of its class.", _ESTIMATE),
        "SpeedBasis": record("The measurements behind an interval.", _BASIS),
        "Speed": record("How fast the scenario would run.", _SPEED),
        "Sizing": record("The answer for one scenario.", _SIZING, ("trace",)),
        "Step": record("One number of the derivation and where it comes from.", _STEP, ("gib",)),
        "Problem": record("RFC 9457 problem details.", _PROBLEM, _SOMETIMES),
    }
