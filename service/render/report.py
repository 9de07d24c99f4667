"""All sections of a report that apply to a question, in order, as one fragment."""

import json

from markupsafe import escape

from service.core.catalogued import Model
from service.core.hardware import Gpu
from service.core.sizing import Sizing
from service.i18n import Voice, content_language, voice
from service.i18n.marking import mark, mark_plural
from service.render.fragments import SECTIONS, Representation, render_with
from service.render.sections import summary

_ON_GPU = (
    "summary",
    "scenario",
    "memory",
    "speed",
    "recommendations",
    "commands",
    "cloud",
    "finetuning",
    "diagnosis",
    "context",
    "quantizations",
    "measurements",
    "derivation",
    "faq",
    "gpus",
    "models",
)
_OF_MODEL = (
    "about",
    "measurements",
    "estimates",
    "architecture",
    "context",
    "memory-tiers",
    "quantizations",
    "commands",
    "tips",
)
_OF_GPU = ("accelerator", "models", "memory-tiers", "cloud", "measurements")
_MODEL_TITLE = mark("%(model)s: GPU memory, formats and speed")
_GPU_TITLE = mark_plural(
    "%(model)s on %(gpu)s: GPU memory and speed", "%(model)s on %(n)s × %(gpu)s: GPU memory and speed"
)
_MODEL_DESCRIPTION = mark(
    "How much GPU memory %(model)s needs in each format and at each context, and how fast it runs."
)
_CARD_TITLE = mark("%(gpu)s: which language models it runs, and how fast")
_CARD_DESCRIPTION = mark(
    "Which open-weight models run on %(gpu)s, in which format and how fast, what renting it costs, and what "
    "was measured on it."
)
_DESCRIBED = slice(1, 3)  # of the summary: what is needed, and whether it fits


def sections(*, with_gpu: bool) -> tuple[str, ...]:
    """Names of the sections, in order, that have something to say about a scenario, or a model alone."""
    if with_gpu:
        return tuple(name for name in _ON_GPU if SECTIONS[name].available)
    return tuple(
        name for name in _OF_MODEL if SECTIONS[name].available and SECTIONS[name].compute_of_model is not None
    )


def sections_of_gpu() -> tuple[str, ...]:
    """Names of the sections, in order, about an accelerator alone."""
    return _OF_GPU


def render_report(
    alone: Model | Gpu, sizing: Sizing | None, catalog: object, language: str, representation: str
) -> bytes:
    """The report as UTF-8 text: an object with `sections`, an `<article>`, or Markdown.

    sizing: None when the question is about what stands `alone`. language: a tag of LANGUAGES.
    representation: a media type of Representation; ValueError for another.
    """
    return report_with(voice(language), alone, sizing, catalog, representation)


def report_with(
    speaker: Voice, alone: Model | Gpu, sizing: Sizing | None, catalog: object, representation: str
) -> bytes:
    """As `render_report`, spoken by the given voice."""
    wanted = Representation(representation)
    of_gpu = sizing is None and isinstance(alone, Gpu)
    names = sections_of_gpu() if of_gpu else sections(with_gpu=sizing is not None)
    parts = [render_with(speaker, name, sizing, catalog, representation, alone) for name in names]
    if wanted is Representation.MARKDOWN:
        return b"\n".join(parts)
    language = content_language(speaker.language.tag)
    if wanted is Representation.HTML:
        opening = f'<article class="sizing-report" lang="{escape(language)}">\n'
        return opening.encode() + b"".join(parts) + b"</article>\n"
    head = {"language": language, "title": title(speaker, alone, sizing)}
    return json.dumps(head, ensure_ascii=False)[:-1].encode() + b',"sections":[' + b",".join(parts) + b"]}"


def title(speaker: Voice, alone: Model | Gpu, sizing: Sizing | None) -> str:
    """What the report is about, in one line."""
    if sizing is None:
        if isinstance(alone, Gpu):
            return speaker.text(_CARD_TITLE, gpu=alone.name)
        return speaker.text(_MODEL_TITLE, model=alone.name)
    scenario = sizing.scenario
    return speaker.plural(*_GPU_TITLE, scenario.gpu_count, model=scenario.model.name, gpu=scenario.gpu.name)


def description(speaker: Voice, alone: Model | Gpu, sizing: Sizing | None, catalog: object) -> str:
    """The answer in one or two sentences, as a search engine or a preview shows it."""
    if sizing is None:
        if isinstance(alone, Gpu):
            return speaker.text(_CARD_DESCRIPTION, gpu=alone.name)
        return speaker.text(_MODEL_DESCRIPTION, model=alone.name)
    said = summary.sentences(summary.data(sizing, catalog), speaker)
    return speaker.paragraph(said[_DESCRIBED])
