"""One section of the report as JSON, HTML or Markdown, in one language."""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from service.core.catalogued import Model
from service.core.hardware import Gpu
from service.core.sizing import Sizing
from service.errors import UnknownSection
from service.i18n import Voice, content_language, voice
from service.i18n.marking import mark
from service.render import currencies, environments
from service.render.registry import SECTIONS, Form, Section, Subject
from service.render.spoken import with_messages

__all__ = ["SECTIONS", "Representation", "computed", "render", "render_with", "shown"]

_NOT_AVAILABLE = mark("This section is not available in this version of the service yet.")
_NEEDS_GPU = mark("This section needs a GPU; name one with the parameter “gpu”.")
_NEEDS_MODEL = mark("This section needs a model; name one with the parameter “model”.")


class Representation(StrEnum):
    """The media types of a fragment."""

    JSON = "application/json"
    HTML = "text/html"
    MARKDOWN = "text/markdown"


def render(
    section: str,
    sizing: Sizing | None,
    catalog: object,
    language: str,
    representation: str,
    alone: Model | Gpu | None = None,
) -> bytes:
    """The section as UTF-8 text.

    sizing: None when the question is about what stands `alone`. language: a tag of LANGUAGES.
    representation: a media type of Representation. Raises UnknownSection, KeyError for a language and
    ValueError for a media type that do not exist.
    """
    return render_with(voice(language), section, sizing, catalog, representation, alone)


def render_with(
    speaker: Voice,
    section: str,
    sizing: Sizing | None,
    catalog: object,
    representation: str,
    alone: Model | Gpu | None = None,
) -> bytes:
    """As `render`, spoken by the given voice."""
    found = SECTIONS.get(section)
    if found is None:
        raise UnknownSection(section, tuple(SECTIONS))
    subject = sizing or alone
    return shown(speaker, found, subject, computed(found, subject, catalog), representation)


def computed(section: Section, subject: Subject | None, catalog: object) -> dict[str, Any]:
    """The data of a section about a subject; empty where it has nothing to say of one of its kind."""
    form = None if subject is None else section.form(subject)
    return {} if form is None else form.compute(subject, catalog)


def shown(
    speaker: Voice, section: Section, subject: Subject | None, data: Mapping[str, Any], representation: str
) -> bytes:
    """The data of a section as UTF-8 text, spoken by a voice; ValueError for a media type of no fragment."""
    wanted = Representation(representation)
    form = None if subject is None else section.form(subject)
    content = _content(section, form, subject, data, speaker)
    if wanted is Representation.JSON:
        return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return _markup(form.template if form else section.name, content, speaker, wanted).encode()


def _content(
    section: Section, form: Form | None, subject: Subject | None, data: Mapping[str, Any], speaker: Voice
) -> dict[str, Any]:
    """The JSON of a fragment: the section's data, its language and title, and what it says."""
    if form is not None:
        said = form.say(data, speaker)
    elif not section.available:
        said = [speaker.text(_NOT_AVAILABLE)]
    else:
        said = [speaker.text(_NEEDS_MODEL if isinstance(subject, Gpu) else _NEEDS_GPU)]
    if speaker.rate is not None and currencies.has_prices(data):
        said = [*said, *currencies.sentences(speaker)]
        data = currencies.with_currency(data, speaker)
    head = {
        "section": section.name,
        "language": content_language(speaker.language.tag),
        "title": speaker.text(section.title if form is None else form.title),
        "available": bool(data),
        "sentences": said,
    }
    return {**head, **with_messages(data, speaker)}


def _markup(name: str, content: Mapping[str, Any], speaker: Voice, wanted: Representation) -> str:
    if wanted is Representation.HTML:
        environment, suffix = environments.html(speaker), "html"
    else:
        environment, suffix = environments.markdown_text(speaker), "md"
    template = environment.get_template(f"{name if content['available'] else '_section'}.{suffix}")
    return template.render(content, paragraph=speaker.paragraph(content["sentences"])).strip() + "\n"
