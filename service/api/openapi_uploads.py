"""Writing and reviewing measurements, as paths and schemas of the OpenAPI document."""

from collections.abc import Callable

from service.api.accept import CSV, JSON
from service.api.openapi_parameters import language_query, path_parameter
from service.api.openapi_schemas import COMMON_PROBLEMS, Json, ref
from service.core.measurements import UPLOADED

Problems = Callable[[tuple[str, ...]], Json]
_KEY = "api_key"
_STORAGE = ("storage-unavailable",)
_DENIED = ("key-required", "key-unknown", "key-revoked", "scope-missing")
_WRITES = (
    *_DENIED,
    *_STORAGE,
    *COMMON_PROBLEMS,
    "malformed-body",
    "payload-too-large",
    "unsupported-media-type",
)
_READS = (*_STORAGE, *COMMON_PROBLEMS)
_EXAMPLE: Json = {
    "model": "qwen3-8b",
    "gpu": "rtx-4090",
    "gpu_count": 1,
    "engine": "llama.cpp",
    "engine_version": "b9992",
    "backend": "cuda",
    "quantization": "q4_k_m",
    "context_tokens": 8192,
    "prompt_tokens": 4096,
    "output_tokens": 512,
    "concurrency": 1,
    "speculative_tokens": 0,
    "decode_tokens_per_second": 110.5,
    "prefill_tokens_per_second": 6800,
    "date": "2026-11-20",
    "source_url": "https://example.org/run/1",
}
_REVIEWERS = ("review_measurement", "measurement_history")
_MEASUREMENT_ID = path_parameter("id", "Id of a measurement.", f"{UPLOADED}-0123456789abcdef01234567")
_IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": True,
    "description": "The ETag of the measurement as the reviewer read it; `*` for whichever version it is.",
    "schema": {"type": "string", "examples": ['"1-en"']},
}
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The client's name for this submission: sent again with the same body it stores nothing.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "examples": ["run-42"]},
}


def upload_paths(problems: Problems, listing: Json) -> Json:
    """The list with its POST, one measurement with its PATCH, and its history.

    problems: responses of problem types. listing: the GET of the list.
    """
    listed = listing["get"]
    responses = {**listed["responses"], **problems((*_DENIED, *_STORAGE))}
    ok = responses["200"]
    text = {"schema": {"type": "string"}}
    responses["200"] = {**ok, "content": {**ok["content"], CSV: text}}
    list_with_keys = {**listed, "security": [{}, {_KEY: []}], "responses": responses}
    return {
        "/v1/measurements": {"get": list_with_keys, "post": _post(problems)},
        "/v1/measurements/{id}": {"get": _one(problems), "patch": _patch(problems)},
        "/v1/measurements/{id}/history": {"get": _history(problems)},
    }


def security_schemes() -> Json:
    """How a key is sent."""
    about = "An API key with the scope `submit` or `review`, made with `sizing keys create`."
    return {_KEY: {"type": "http", "scheme": "bearer", "description": about}}


def _post(problems: Problems) -> Json:
    schema = {"anyOf": [ref("Submission"), ref("SubmissionBatch")]}
    csv = {"schema": {"type": "string", "contentMediaType": CSV}}
    return {
        "operationId": "submit_measurements",
        "summary": "Submit measurements, which are shown once they are reviewed.",
        "description": (
            'One object, `{"measurements": […]}`, or CSV with a header of field names. Names are resolved '
            "like everywhere, unknown fields are refused, and so is what the hardware cannot do; all faults "
            "of all rows are named at once. Takes the scope `submit`."
        ),
        "security": [{_KEY: []}],
        "parameters": [_IDEMPOTENCY_KEY, *language_query()],
        "requestBody": {
            "required": True,
            "content": {JSON: {"schema": schema, "example": _EXAMPLE}, CSV: csv},
        },
        "responses": {
            "201": _answer(
                "Stored as pending, all of them.",
                "Receipt",
                {"Location": "Where they are.", "Idempotency-Replayed": "`true` for a repetition."},
            )
            | {"links": _links("$response.body#/ids/0", ("get_measurement", *_REVIEWERS))},
            **problems((*_WRITES, "idempotency-conflict", "too-many-pending", "storage-read-only")),
        },
    }


def _one(problems: Problems) -> Json:
    etag = {"ETag": "Validator; a review sends it as If-Match."}
    return {
        "operationId": "get_measurement",
        "summary": "One measurement.",
        "description": "What is not published is shown to reviewers and to the key that submitted it.",
        "security": [{}, {_KEY: []}],
        "parameters": [_MEASUREMENT_ID, *language_query()],
        "responses": {
            "200": _answer("The answer.", "Measurement", etag),
            "304": {"description": "If-None-Match names the current answer."},
            **problems((*_READS, *_DENIED[:3], "unknown-measurement")),
        },
    }


def _patch(problems: Problems) -> Json:
    return {
        "operationId": "review_measurement",
        "summary": "Publish, reject or withdraw a measurement.",
        "description": "Takes the scope `review`. Published ones are shown at once; the history is kept.",
        "security": [{_KEY: []}],
        "parameters": [_MEASUREMENT_ID, _IF_MATCH, *language_query()],
        "requestBody": {
            "required": True,
            "content": {
                JSON: {"schema": ref("Review"), "example": {"status": "published", "note": "log checked"}}
            },
        },
        "responses": {
            "200": _answer("As it is now.", "Measurement", {"ETag": "Validator of the new version."})
            | {"links": _links("$request.path.id", ("get_measurement", *_REVIEWERS))},
            **problems(
                (*_WRITES, "unknown-measurement", "wrong-status", "version-outdated", "version-required")
            ),
        },
    }


def _history(problems: Problems) -> Json:
    return {
        "operationId": "measurement_history",
        "summary": "What happened to a measurement.",
        "description": "Takes the scope `review`.",
        "security": [{_KEY: []}],
        "parameters": [_MEASUREMENT_ID, *language_query()],
        "responses": {
            "200": _answer("The answer.", "History", {}),
            **problems((*_READS, *_DENIED, "unknown-measurement")),
        },
    }


def _links(name: str, operations: tuple[str, ...]) -> Json:
    """What leads on from an answer about a measurement; name: a runtime expression of its id."""
    return {operation: {"operationId": operation, "parameters": {"id": name}} for operation in operations}


def _answer(about: str, schema: str, headers: dict[str, str]) -> Json:
    said = {name: {"description": text, "schema": {"type": "string"}} for name, text in headers.items()}
    return {"description": about, "headers": said, "content": {JSON: {"schema": ref(schema)}}}
