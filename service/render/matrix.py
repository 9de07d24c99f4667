"""The matrix as heat tables: one for each format and context, models down, accelerators across."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import NOTHING
from service.core.matrix.result import CODES, VERDICTS, Matrix
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
    cells = _cells(matrix, voice)
    return [
        {
            "quantization": quantization,
            "context_tokens": context,
            "rows": [
                (model.name, cells[row, :, third, fourth].tolist())
                for row, model in enumerate(question.models)
            ],
        }
        for third, quantization in enumerate(matrix.quantizations)
        for fourth, context in enumerate(matrix.contexts)
    ]


def _cells(matrix: Matrix, voice: Voice) -> NDArray[Any]:
    """Classes, mark and text of every cell, needed memory as part of the usable; equal ones are made once."""
    shape = matrix.question.shape
    verdicts, needed, usable = (
        matrix.measures[name].over(shape) for name in ("verdict", "per_gpu_bytes", "usable_bytes")
    )
    unsupported = verdicts == CODES[Verdict.UNSUPPORTED]
    shown = (needed != NOTHING) & (usable > 0) & ~unsupported
    parts = np.where(shown, needed / np.where(shown, usable, 1), 0)
    percents = np.where(shown, np.rint(100 * parts), NOTHING).astype(np.int64)
    shades = np.searchsorted(SHADES, parts, side="left")
    kinds, index = np.unique(
        np.stack([verdicts.astype(np.int64), shades, percents]).reshape(3, -1), axis=1, return_inverse=True
    )
    made = np.empty(kinds.shape[1], object)
    made[:] = [
        _cell(voice, VERDICTS[verdict], shade, percent) for verdict, shade, percent in kinds.T.tolist()
    ]
    found: NDArray[Any] = made[index].reshape(shape)
    return found


def _cell(voice: Voice, verdict: Verdict, shade: int, percent: int) -> tuple[str, str, str]:
    classes = f"sizing-heat sizing-verdict-{verdict}"
    if percent == NOTHING:
        return classes, MARKS[verdict], ""
    return f"{classes} sizing-heat-{shade}", MARKS[verdict], voice.percent(percent / 100)
