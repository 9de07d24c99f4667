"""The matrix as heat tables: one for each format and context, models down, accelerators across."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from service.core.matrix.question import AXES
from service.core.matrix.result import Matrix, Measure
from service.core.sizing import Verdict
from service.i18n import Voice, content_language
from service.i18n.marking import mark
from service.render import environments

MOST_SHOWN = 20_000  # cells of a page that browsers lay out without trouble
# What stands before each figure, so that colours are not needed.
MARKS = {
    Verdict.FITS: "✓",
    Verdict.TIGHT: "≈",
    Verdict.DOES_NOT_FIT: "✗",
    Verdict.UNSUPPORTED: "–",
    Verdict.UNKNOWN: "?",
}
# Part of the usable memory below which each shade ends; the last has no end.
SHADES = (0.25, 0.5, 0.75, 0.95, 1.0, 2.0)
_TITLE = mark("Models on GPUs")
_LEAD = mark("Each cell says how much of the usable memory of the fullest GPU is needed.")


def heat_table(matrix: Matrix, voice: Voice) -> bytes:
    """One `<section>` as the fragments are, UTF-8."""
    question = matrix.question
    template = environments.html(voice).get_template("matrix.html")
    text = template.render(
        section="matrix",
        language=content_language(voice.language.tag),
        title=voice.text(_TITLE),
        paragraph=voice.text(_LEAD),
        gpus=[gpu.name for gpu in question.gpus],
        marks=[(MARKS[verdict], str(verdict)) for verdict in Verdict],
        tables=_tables(matrix, voice),
    )
    return (text.strip() + "\n").encode()


def _tables(matrix: Matrix, voice: Voice) -> list[dict[str, Any]]:
    question = matrix.question
    read = [
        partial(_at, matrix.measures[name].listed(), matrix.measures[name], question.shape)
        for name in ("verdict", "per_gpu_bytes", "usable_bytes")
    ]
    return [
        {
            "quantization": quantization,
            "context_tokens": context,
            "rows": [
                (
                    model.name,
                    [
                        _cell(voice, *(value((row, column, third, fourth)) for value in read))
                        for column in range(len(question.gpus))
                    ],
                )
                for row, model in enumerate(question.models)
            ],
        }
        for third, quantization in enumerate(matrix.quantizations)
        for fourth, context in enumerate(matrix.contexts)
    ]


def _at(values: list[Any], measure: Measure, shape: Sequence[int], cell: Sequence[int]) -> Any:
    """The value of one cell in the flat list of a measure."""
    place = 0
    for axis, length, index in zip(AXES, shape, cell, strict=True):
        if axis in measure.axes:
            place = place * length + index
    return values[place]


def _cell(voice: Voice, verdict: str, needed: int | None, usable: int | None) -> tuple[str, str, str]:
    """Classes, mark and text of a cell: needed memory as part of the usable."""
    kind = Verdict(verdict)
    classes = f"sizing-heat sizing-verdict-{verdict}"
    if needed is None or not usable or kind is Verdict.UNSUPPORTED:
        return classes, MARKS[kind], ""
    part = needed / usable
    shade = sum(part > end for end in SHADES)
    return f"{classes} sizing-heat-{shade}", MARKS[kind], voice.percent(part)
