"""Schemas of real measurements in the OpenAPI document."""

from service.api.openapi_schemas import (
    NUMBER,
    TEXT,
    TRUTH,
    WHOLE,
    Json,
    array,
    described,
    list_of,
    maybe,
    record,
)
from service.api.openapi_upload_schemas import uploaded_properties
from service.core.measurements import FLAGS
from service.i18n.messages.measured import FIELDS, REASONS

_PUBLISHED: Json = {"model": TEXT, "gpu": TEXT, "engine": maybe(TEXT), "quantization": maybe(TEXT)}
_SOURCE: Json = {
    "id": TEXT,
    "name": TEXT,
    "url": described(TEXT, "Where the source is public."),
    "note": maybe(TEXT, "What holds for every record of the source."),
    "detail": maybe(TEXT, "File, issue or row inside the source."),
}
_REASON: Json = {
    "code": {"type": "string", "enum": list(REASONS)},
    "message": described(TEXT, "The reason in the language of the answer."),
}
_MEASUREMENT: Json = {
    "id": TEXT,
    "model": described(TEXT, "Catalog id."),
    "gpu": described(TEXT, "Catalog id."),
    "equivalent": described(
        TRUTH, "Measured on a sister model of the same architecture, named in `published`."
    ),
    "gpu_count": maybe(WHOLE),
    "interconnect": maybe(TEXT),
    "tensor_parallel": maybe(WHOLE),
    "expert_parallel": maybe(WHOLE),
    "engine": maybe(TEXT, "Id of the API; null for an engine that it does not have."),
    "backend": maybe(TEXT),
    "engine_version": maybe(TEXT),
    "quantization": maybe(TEXT, "Id of the API; null for a format that it does not have."),
    "weights_gib": maybe(NUMBER),
    "context_tokens": maybe(WHOLE, "Mean fill of the cache while decoding."),
    "prompt_tokens": maybe(WHOLE, "0: a test of decoding alone."),
    "output_tokens": maybe(WHOLE, "0: a test of prefill alone."),
    "concurrency": maybe(WHOLE, "Sequences at the same time."),
    "speculative": maybe(TRUTH, "Whether drafts were used; null when the source does not say."),
    "draft_acceptance": maybe(NUMBER),
    "kv_cache_dtype": maybe(TEXT),
    "offload": maybe(TEXT, "What was kept in system RAM, in the source's words."),
    "decode_tokens_per_second": maybe(NUMBER, "All sequences together."),
    "decode_tokens_per_second_per_sequence": maybe(NUMBER),
    "prefill_tokens_per_second": maybe(NUMBER),
    "time_to_first_token_ms": maybe(NUMBER),
    "time_per_output_token_ms": maybe(NUMBER),
    "date": maybe(TEXT, "Day, month or year, ISO 8601."),
    "published": record("Names as the source writes them.", _PUBLISHED),
    "source": record("Where the record was published.", _SOURCE),
    "remark": maybe(TEXT, "What the source says of the record, in English."),
    "missing": array(
        {"type": "string", "enum": list(FIELDS)}, "Fields that a comparison needs and the source leaves out."
    ),
    "flags": array({"type": "string", "enum": list(FLAGS)}, "What speaks against a comparison."),
    "comparable": described(TRUTH, "Complete, and nothing speaks against it."),
    "reasons": array(record("Why a record is in no comparison.", _REASON)),
}
_VALUE: Json = {"anyOf": [TEXT, NUMBER, TRUTH]}
_DIFFERENCE: Json = {
    "parameter": described(
        TEXT, "A parameter of the scenario, or `cached_tokens`: the mean fill while decoding."
    ),
    "scenario": described(_VALUE, "The value of the scenario."),
    "measured": described(_VALUE, "The value of the measurement."),
}


_RATIO: Json = {
    "rate": described(TEXT, "The field that is compared."),
    "measured": NUMBER,
    "estimate": NUMBER,
    "ratio": described(NUMBER, "Measured divided by estimated."),
}


def measurement_schemas() -> dict[str, Json]:
    """A measurement, one that comes close to a scenario, and the list."""
    comparison = array(
        record("One rate under the record's own conditions.", _RATIO),
        "Measured beside estimated; null for a record that is not compared, or where there is no estimate.",
    )
    differences = array(
        record("A parameter that the two do not share.", _DIFFERENCE),
        "Where the measurement states something else than the scenario.",
    )
    return {
        "Measurement": record(
            "One record as it was published; null: its source does not say.",
            {**_MEASUREMENT, **uploaded_properties()},
        ),
        "MeasurementList": list_of("Measurement"),
        "ClosestMeasurement": record(
            "A real measurement of this model on this GPU.",
            {**_MEASUREMENT, "differences": differences, "comparison": maybe(comparison)},
        ),
    }
