"""`GET|POST /v1/report`, the whole report as one fragment, and `GET /report`, the same as a page."""

from flask import Blueprint, Response, g, render_template, request
from markupsafe import Markup

from service.api.accept import HTML, JSON, MARKDOWN
from service.api.addresses import address, alternates, tidied, without_language
from service.api.answers import bytes_answer, negotiated
from service.api.browser_rules import PAGE_WITH_SCRIPT
from service.api.scenarios import Asked, asked
from service.catalog import Catalog
from service.core.scenario import Scenario
from service.i18n import content_language
from service.render.report import description, report_with, title

_REPRESENTATIONS = (JSON, HTML, MARKDOWN)
_PATH = "/report"


def blueprint(catalog: Catalog, public_url: str | None) -> Blueprint:
    """The resources over a catalog. public_url: where the pages are reached from outside, if known."""
    resource = Blueprint("report", __name__, template_folder="../web/templates")

    @resource.route("/v1/report", methods=["GET", "POST"])
    def fragment() -> Response:
        question = asked(request, catalog, needs_gpu=False, needs_model=False)
        media_type = negotiated(_REPRESENTATIONS)
        body = report_with(question.speaker, question.subject, question.sizing, catalog, media_type)
        return bytes_answer(body, media_type)

    @resource.get(_PATH)
    def page() -> Response:
        if (elsewhere := tidied(request)) is not None:
            return elsewhere
        question = asked(request, catalog, needs_gpu=False, needs_model=False)
        negotiated((HTML,))
        page_bytes = report_page(question, catalog, public_url).encode()
        return bytes_answer(page_bytes, HTML, policy=PAGE_WITH_SCRIPT)

    return resource


def report_page(question: Asked, catalog: Catalog, public_url: str | None) -> str:
    """The whole page, in the language of the current request."""
    speaker, alone, sizing = question.speaker, question.subject, question.sizing
    subject = {} if question.model is None else {"model": question.model.id}
    gpu = question.gpu if sizing is None else sizing.scenario.gpu
    subject |= {} if gpu is None else {"gpu": gpu.id}
    report = report_with(speaker, alone, sizing, catalog, HTML)
    return render_template(
        "report.html",
        _=speaker.text,
        lang=content_language(g.language),
        title=title(speaker, alone, sizing),
        description=description(speaker, alone, sizing, catalog),
        # Scenarios without end are variations of one page: this model, on this accelerator.
        canonical=address(_PATH, {**subject, "lang": g.language}, public_url),
        alternates=alternates(_PATH, subject, public_url),
        default_language=address(_PATH, subject, public_url),
        languages=alternates(_PATH, without_language(request)),
        language=g.language,
        configure=address("/", {**without_language(request), "lang": g.language}),
        related=[] if sizing is None else _related(sizing.scenario, g.language),
        report=Markup(report.decode()),  # noqa: S704 - its templates have escaped every value
    )


def _related(scenario: Scenario, language: str) -> list[tuple[str, str]]:
    """Name and address of the pages about the model and the accelerator alone."""
    subjects = (("model", scenario.model), ("gpu", scenario.gpu))
    return [(found.name, address(_PATH, {kind: found.id, "lang": language})) for kind, found in subjects]
