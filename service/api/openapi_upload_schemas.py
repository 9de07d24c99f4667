"""Schemas of submissions, reviews and their history in the OpenAPI document."""

from service.api.openapi_parameters import described_parameter
from service.api.openapi_schemas import TEXT, WHOLE, Json, array, described, maybe, record, ref
from service.api.submission_fields import MOST_ROWS, REVIEW, SUBMISSION
from service.core.measurements import UPLOADED
from service.measurements.submission import SUBMITTED, Status

_STATUS: Json = {"type": "string", "enum": [str(status) for status in Status]}
_AT = described(TEXT, "UTC, ISO 8601.")


def upload_schemas() -> dict[str, Json]:
    """A submission, its receipt, a review, and the history."""
    item = record(
        "One stored measurement.",
        {"id": TEXT, "status": _STATUS, "location": described(TEXT, "Its address.")},
    )
    event = record(
        "One step: the submission, or a review.",
        {
            "version": WHOLE,
            "status": _STATUS,
            "note": maybe(TEXT),
            "key": described(TEXT, "Id of the API key."),
            "at": _AT,
        },
    )
    return {
        "Submission": _body("One measurement; null means not stated.", SUBMISSION, nullable=True),
        "SubmissionBatch": {
            "type": "object",
            "description": "Several measurements, of which all are stored or none.",
            "properties": {
                "measurements": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MOST_ROWS,
                    "items": ref("Submission"),
                }
            },
            "required": ["measurements"],
            "additionalProperties": False,
        },
        "Review": _body("The decision about a measurement.", REVIEW, nullable=True),
        "Receipt": record(
            "What was stored.",
            {
                "id": described(TEXT, "Of a single object."),
                "status": _STATUS,
                "ids": array(TEXT, "In the order of the submission."),
                "items": array(item),
                "total": WHOLE,
            },
            ("id", "status"),
        ),
        "History": record(
            "All steps of a measurement, from its submission on.",
            {"items": array(event), "total": WHOLE, "next_cursor": {"type": "null"}},
        ),
    }


def uploaded_properties() -> Json:
    """What a listed measurement has beside the record: where it stands and what was submitted."""
    submitted = {name: described({}, "As submitted; null: not stated.") for name in SUBMITTED}
    uploaded = record(
        "Of an uploaded measurement.",
        {
            "version": described(WHOLE, "Rises with each review."),
            "submitted_at": _AT,
            "changed_at": _AT,
            "submitted": record("Every field as it was submitted.", submitted),
        },
    )
    return {
        "provenance": {"type": "string", "enum": ["catalog", UPLOADED]},
        "status": _STATUS,
        "uploaded": maybe(uploaded, "Null for a record of the catalog's files."),
    }


def _body(about: str, parameters: Json, *, nullable: bool) -> Json:
    properties = {}
    for name, parameter in parameters.items():
        schema = described_parameter(name, parameter)
        if nullable and not parameter.required:
            schema["type"] = [schema["type"], "null"]
            if "enum" in schema:
                schema["enum"] = [*schema["enum"], None]
        properties[name] = schema
    return {
        "type": "object",
        "description": about,
        "properties": properties,
        "required": [name for name, parameter in parameters.items() if parameter.required],
        "additionalProperties": False,
    }
