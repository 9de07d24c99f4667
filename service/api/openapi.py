"""The OpenAPI 3.1 document of the service."""

from http import HTTPStatus

from service.api.accept import HTML, JSON, MARKDOWN, PROBLEM
from service.api.openapi_catalog_schemas import catalog_schemas
from service.api.openapi_costs import cost_schemas
from service.api.openapi_headers import ANSWER_HEADERS, LIMIT_HEADERS
from service.api.openapi_inspect import inspect_operation, inspect_schemas
from service.api.openapi_matrix import matrix_path, matrix_schemas
from service.api.openapi_measurements import measurement_schemas
from service.api.openapi_parameters import (
    body_schemas,
    language_query,
    list_query,
    measurement_query,
    path_parameter,
    scenario_query,
)
from service.api.openapi_plan import as_plan, plan_schemas
from service.api.openapi_schemas import COMMON_PROBLEMS, Json, core_schemas, ref
from service.api.openapi_training import as_training, training_schemas
from service.api.openapi_upload_schemas import upload_schemas
from service.api.openapi_uploads import security_schemes, upload_paths
from service.api.openapi_web import report_schemas, web_paths
from service.api.problems import STATUSES
from service.catalog import Catalog
from service.version import VERSION

_DESCRIPTION = (
    "How much GPU memory an open-weight language model needs, whether it fits, and how well each figure is "
    "known. Bytes are integers; an amount also has GiB, rounded to two places. Answers are JSON; "
    "fragments are also HTML and Markdown. Errors are application/problem+json (RFC 9457)."
)
# Problems of operations with a body, beside those of all.
_BODY = ("malformed-body", "payload-too-large", "unsupported-media-type", "unsupported-architecture")


def build_document(catalog: Catalog) -> Json:
    """The document; examples name the first model and accelerator of the catalog."""
    model, gpu = next(iter(catalog.models)), next(iter(catalog.gpus))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "LLM sizing",
            "version": VERSION,
            "description": _DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "paths": {
            **_scenario_paths(model, gpu),
            **_catalog_paths(model, gpu),
            "/v1/matrix": matrix_path(_get),
            **upload_paths(_problems, _measurements()),
            "/v1/models/inspect": inspect_operation(_inspected()),
            **_service_paths(),
        },
        "components": {
            "securitySchemes": security_schemes(),
            "schemas": {
                **core_schemas(),
                **body_schemas(),
                **catalog_schemas(),
                **inspect_schemas(),
                **measurement_schemas(),
                **upload_schemas(),
                **cost_schemas(),
                **training_schemas(),
                **plan_schemas(),
                **matrix_schemas(),
                **report_schemas(),
            },
            "responses": {_status_name(s): _problem_response(s) for s in sorted(set(STATUSES.values()))},
        },
    }


def _scenario_paths(model: str, gpu: str) -> Json:
    example = {"model": model, "gpu": gpu, "gpu_count": 2, "engine": "vllm", "quantization": "native"}
    section = path_parameter("section", "Name of a section, see /v1/sections.", "memory")
    markup = {kind: {"schema": {"type": "string"}} for kind in (HTML, MARKDOWN)}
    return {
        "/v1/sizing": _asked("sizing", "Size one scenario.", {JSON: _content("Sizing")}, example),
        "/v1/costs": _asked(
            "costs", "What hardware costs that runs a scenario.", {JSON: _content("Costs")}, example
        ),
        "/v1/finetuning": as_training(
            _asked("finetuning", "What a fine-tuning takes.", {JSON: _content("FineTuning")}, example)
        ),
        "/v1/plan": as_plan(
            _asked("plan", "What runs a model, what a GPU runs.", {JSON: _content("Plan")}, example)
        ),
        "/v1/fragments/{section}": _asked(
            "fragment",
            "One section of the report about a scenario.",
            {JSON: _content("Fragment"), **markup},
            example,
            section,
        ),
        "/v1/report": _asked(
            "report",
            "All sections that apply to a scenario, a model alone or a GPU alone, in order, as one fragment.",
            {JSON: _content("Report"), **markup},
            example,
            complete=False,
        ),
    }


def _asked(
    name: str,
    summary: str,
    content: Json,
    example: Json,
    place: Json | None = None,
    *,
    complete: bool = True,
) -> Json:
    """The GET and the POST of a resource that is asked with a scenario; complete: both its subjects."""
    ok = {"200": {"description": "The answer.", "headers": ANSWER_HEADERS, "content": content}}
    places = [] if place is None else [place]
    problems = (*COMMON_PROBLEMS, "unknown-model")
    whole = complete and place is None
    query = scenario_query(needs_gpu=whole, needs_model=whole)
    body = {
        "required": True,
        "description": "The scenario, with the names of the query parameters; see the schema ScenarioBody.",
        "content": {JSON: {"schema": ref("ScenarioBody"), "example": example}},
    }
    return {
        "get": {
            "operationId": f"get_{name}",
            "summary": summary,
            "parameters": [*places, *query],
            "responses": {**ok, "304": _NOT_MODIFIED, **_problems(problems)},
        },
        "post": {
            "operationId": f"post_{name}",
            "summary": summary,
            "description": "As GET; the body may also describe a model or an accelerator of its own.",
            "parameters": [*places, *language_query()],
            "requestBody": body,
            "responses": {**ok, **_problems((*problems, *_BODY))},
        },
    }


def _catalog_paths(model: str, gpu: str) -> Json:
    lists = {
        "models": "Models of the catalog.",
        "gpus": "Accelerators of the catalog.",
        "engines": "Inference engines.",
        "quantizations": "Weight formats.",
        "offers": "Prices for renting accelerators.",
        "languages": "Languages of the service.",
        "sections": "Sections of a report.",
    }
    paths: Json = {}
    for name, summary in lists.items():
        schema = f"{name[:-1].capitalize()}List"
        paths[f"/v1/{name}"] = _get(f"list_{name}", summary, {JSON: _content(schema)}, list_query())
        if name in ("models", "gpus"):
            kind, example = ("Model", model) if name == "models" else ("Gpu", gpu)
            place = path_parameter("id", "Catalog id or alias, in any case.", example)
            paths[f"/v1/{name}/{{id}}"] = _get(
                f"get_{kind.lower()}",
                f"{kind}: everything the service knows.",
                {JSON: _content(kind)},
                [place, *language_query()],
                ("unknown-model",),
            )
    return paths


def _measurements() -> Json:
    answer = {JSON: _content("MeasurementList")}
    summary = "Real measurements of speed, with their provenance."
    return _get("list_measurements", summary, answer, measurement_query(), ("unknown-model",))


def _inspected() -> Json:
    ok = {
        "description": "The answer.",
        "headers": ANSWER_HEADERS,
        "content": {JSON: _content("InspectedModel")},
    }
    return {"200": ok, **_problems((*COMMON_PROBLEMS, *_BODY))}


def _service_paths() -> Json:
    text = {"schema": {"type": "string"}}
    slug = path_parameter("slug", "Slug of a problem type.", "unknown-model")
    lang = language_query()
    return {
        **web_paths(_get),
        "/docs": _get("docs", "This document as a page.", {HTML: text}, lang),
        "/openapi.json": _get("openapi", "This document.", {JSON: {"schema": {"type": "object"}}}, lang),
        "/problems/{slug}": _get(
            "problem", "What a problem type means.", {HTML: text}, [slug, *lang], ("not-found",)
        ),
        "/health/live": _get("live", "Whether the process answers.", {JSON: _content("Live")}, lang),
        "/health/ready": _get("ready", "Whether the service can answer.", {JSON: _content("Ready")}, lang),
        "/health/info": _get("info", "Version and data digest.", {JSON: _content("Info")}, lang),
        "/metrics": _get("metrics", "Metrics for Prometheus.", {"text/plain": text}, []),
    }


def _get(
    name: str, summary: str, content: Json, parameters: list[Json], problems: tuple[str, ...] = ()
) -> Json:
    ok = {"description": "The answer.", "headers": ANSWER_HEADERS, "content": content}
    responses = {"200": ok, "304": _NOT_MODIFIED, **_problems((*COMMON_PROBLEMS, *problems))}
    return {
        "get": {"operationId": name, "summary": summary, "parameters": parameters, "responses": responses}
    }


def _content(schema: str) -> Json:
    return {"schema": ref(schema)}


def _problems(slugs: tuple[str, ...]) -> Json:
    statuses = sorted({STATUSES[slug] for slug in slugs})
    return {str(s): {"$ref": f"#/components/responses/{_status_name(s)}"} for s in statuses}


def _status_name(status: int) -> str:
    return f"Problem{status}"


def _problem_response(status: int) -> Json:
    slugs = ", ".join(f"/problems/{slug}" for slug, found in STATUSES.items() if found == status)
    limits = {"headers": LIMIT_HEADERS} if status == HTTPStatus.TOO_MANY_REQUESTS else {}
    content = {PROBLEM: {"schema": ref("Problem")}}
    return {"description": f"A problem: {slugs}.", **limits, "content": content}


_NOT_MODIFIED: Json = {"description": "If-None-Match names the current answer."}
