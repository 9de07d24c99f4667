"""How fast the scenario would run, with intervals, what bounds it and what the figures rest on."""

from collections.abc import Mapping
from typing import Any

from service.catalog import Catalog
from service.core.sizing import Note, Sizing
from service.core.speed.estimate import estimate
from service.core.speed.result import Speed
from service.i18n.marking import mark
from service.i18n.messages import note_text
from service.i18n.messages.speed import BOUNDS
from service.i18n.voice import Voice
from service.render import amounts
from service.render.measured import closest_records
from service.render.speeds import block

_DECODE = mark(
    "One sequence is estimated to decode %(estimate)s tokens per second, between %(low)s and %(high)s, "
    "with a cache that holds the prompt and half of the output."
)
_TOGETHER = mark(
    "%(count)s concurrent sequences together decode %(estimate)s tokens per second, "
    "between %(low)s and %(high)s.",
)
_PROMPT = mark(
    "A prompt of %(prompt)s tokens is processed at %(estimate)s tokens per second; "
    "the first token comes after %(first)s ms, between %(low)s and %(high)s, "
    "when no other request waits before it."
)
_BOUND = mark("Most of a decode step is spent on %(bound)s.")
_BASIS = mark(
    "The interval is to hold eight of ten measurements of its class (%(kind)s); it comes from %(count)s of "
    "them, each judged with and without its model and GPU in the calibration."
)


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """The speed of the scenario, or the reasons why there is none."""
    assert isinstance(catalog, Catalog)
    scenario, found = sizing.scenario, estimate(sizing, catalog.speed)
    runs = isinstance(found, Speed)
    return {
        "model": amounts.model(sizing),
        "gpu": amounts.gpu(sizing),
        "gpu_count": scenario.gpu_count,
        "engine": scenario.engine,
        "quantization": scenario.quantization,
        "concurrent_sequences": scenario.concurrent_sequences,
        "prompt_tokens": scenario.prompt_tokens,
        "output_tokens": scenario.output_tokens,
        "verdict": str(sizing.verdict),
        "speed": block(found) if isinstance(found, Speed) else None,
        "reasons": [] if isinstance(found, Speed) else amounts.notes(found.reasons),
        "as_of": catalog.speed.as_of if runs else None,
        "measured": _measured(sizing, catalog) if runs else [],
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """The rates in words, or why there are none."""
    speed = data["speed"]
    if speed is None:
        return [note_text(voice, Note(**reason)) for reason in data["reasons"]]
    said = [voice.text(_DECODE, **_spoken(speed["per_sequence"], voice))]
    if data["concurrent_sequences"] > 1:
        together = _spoken(speed["decode_tokens_per_second"], voice)
        count = voice.integer(data["concurrent_sequences"])
        said.append(voice.text(_TOGETHER, count=count, **together))
    if first := speed["time_to_first_token_ms"]:
        rate = voice.plain(speed["prefill_tokens_per_second"]["estimate"])
        waited = {**_spoken(first, voice), "first": voice.plain(first["estimate"]), "estimate": rate}
        said.append(voice.text(_PROMPT, prompt=voice.integer(data["prompt_tokens"]), **waited))
    said.append(voice.text(_BOUND, bound=voice.text(BOUNDS[speed["bound"]])))
    basis = speed["basis"]["decode"]
    if not basis["indicative"]:
        count = voice.integer(basis["measurements"])
        said.append(voice.text(_BASIS, count=count, kind=basis["class"]))
    return [*said, *(note_text(voice, Note(**note)) for note in speed["notes"])]


def _measured(sizing: Sizing, catalog: Catalog) -> list[dict[str, Any]]:
    """Rates of the closest comparable measurements, each under its own conditions."""
    return [
        {
            "id": row["id"],
            "source": row["source"]["name"],
            "date": row["date"],
            "decode_tokens_per_second": row["decode_tokens_per_second"],
            "prefill_tokens_per_second": row["prefill_tokens_per_second"],
            "differences": row["differences"],
        }
        for row in closest_records(sizing.scenario, catalog)
        if row["comparable"]
    ]


def _spoken(found: Mapping[str, float], voice: Voice) -> dict[str, str]:
    return {name: voice.plain(value) for name, value in found.items()}
