"""The report and the pages for people in the OpenAPI document."""

from collections.abc import Callable

from service.api.accept import HTML, JAVASCRIPT, XML
from service.api.accept import TEXT as PLAIN
from service.api.configurator import CONFIGURATOR, SECOND
from service.api.openapi_parameters import Json, language_query, query, scenario_query
from service.api.openapi_schemas import TEXT, array, record, ref

Get = Callable[..., Json]


def report_schemas() -> Json:
    """The whole report as data."""
    fields = {"language": TEXT, "title": TEXT, "sections": array(ref("Fragment"))}
    return {"Report": record("The sections of a report, in order.", fields)}


def web_paths(get: Get) -> Json:
    """The pages, the custom element, and the sitemap; `get` writes a GET operation."""
    text = {"schema": {"type": "string"}}
    page, lang = {HTML: text}, language_query()
    report = get(
        "report_page",
        "The report about a model on a GPU, or one of them alone, as a whole page.",
        page,
        scenario_query(needs_gpu=False, needs_model=False),
        ("unknown-model",),
    )
    blank = {"description": "Moved to the same address without its empty parameters."}
    start = get("start", "The configurator.", page, _two_scenarios(), ("unknown-model",))
    for operation in (report, start):
        operation["get"]["responses"]["302"] = blank
    return {
        "/": start,
        "/report": report,
        "/embed.js": get("embed", "A custom element for other sites.", {JAVASCRIPT: text}, lang),
        "/sitemap.xml": get(
            "sitemap",
            "Addresses of all reports; 404 unless the service knows its own address.",
            {XML: text},
            lang,
            ("not-found",),
        ),
        "/robots.txt": get("robots", "What crawlers may read.", {PLAIN: text}, lang),
    }


def _two_scenarios() -> list[Json]:
    """A scenario, and with `b_` before the names a second one to compare it with."""
    parameters = query(CONFIGURATOR)
    for parameter in parameters:
        if parameter["name"].startswith(SECOND):
            parameter["description"] = f"Of the second scenario. {parameter['description']}"
    return parameters
