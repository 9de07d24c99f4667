"""One section of the report as JSON, HTML or Markdown, in one language."""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from service.core.catalogued import Model
from service.core.sizing import Sizing
from service.errors import UnknownSection
from service.i18n import Voice, content_language, voice
from service.i18n.marking import mark
from service.render import environments
from service.render.registry import SECTIONS, Section
from service.render.spoken import with_messages

__all__ = ["SECTIONS", "Representation", "render", "render_with"]

_NOT_AVAILABLE = mark("This section is not available in this version of the service yet.")
_NEEDS_GPU = mark("This section needs a GPU; name one with the parameter “gpu”.")


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
    model: Model | None = None,
) -> bytes:
    """The section as UTF-8 text.

    sizing: None when the question is about a `model` alone. language: a tag of LANGUAGES.
    representation: a media type of Representation. Raises UnknownSection, KeyError for a language and
    ValueError for a media type that do not exist.
    """
    return render_with(voice(language), section, sizing, catalog, representation, model)


def render_with(
    speaker: Voice,
    section: str,
    sizing: Sizing | None,
    catalog: object,
    representation: str,
    model: Model | None = None,
) -> bytes:
    """As `render`, spoken by the given voice."""
    wanted = Representation(representation)
    found = SECTIONS.get(section)
    if found is None:
        raise UnknownSection(section, tuple(SECTIONS))
    content = _content(found, sizing or model, catalog, speaker)
    if wanted is Representation.JSON:
        return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    alone = sizing is None and found.say_of_model is not None
    return _markup(f"{section}-alone" if alone else section, content, speaker, wanted).encode()


def _content(
    section: Section, subject: Sizing | Model | None, catalog: object, speaker: Voice
) -> dict[str, Any]:
    """The JSON of a fragment: the section's data, its language and title, and what it says."""
    data: dict[str, Any] = {}
    if section.compute is None or section.say is None:
        said = [speaker.text(_NOT_AVAILABLE)]
    elif isinstance(subject, Sizing):
        data = section.compute(subject, catalog)
        said = section.say(data, speaker)
    elif subject is not None and section.compute_of_model is not None:
        data = section.compute_of_model(subject, catalog)
        said = (section.say_of_model or section.say)(data, speaker)
    else:
        said = [speaker.text(_NEEDS_GPU)]
    head = {
        "section": section.name,
        "language": content_language(speaker.language.tag),
        "title": speaker.text(section.title),
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
