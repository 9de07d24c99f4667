"""How the memory of a model grows with the context on a single card, when no accelerator is named."""

from collections.abc import Mapping
from typing import Any

from service.core.catalogued import Model
from service.core.sizing import Verdict
from service.core.tiers import (
    WATERMARK_PERCENT,
    on_card,
    plan_on_card,
    smallest_tier,
    usable_bytes,
)
from service.core.units import GIB
from service.i18n.marking import mark
from service.i18n.messages.terms import ENGINES as ENGINE_NAMES
from service.i18n.voice import Voice
from service.render import amounts
from service.render.alone import doubts, subject
from service.render.sections.context import CONSTANT, NATIVE

_STEPS = tuple(2**power for power in range(12, 18))  # 4K ... 128K
_QUANTIZATION = "q4_k_m"
_WATCHED_TIER = 16  # GiB, the card size that most people own
_BASIS = mark("The figures are for one sequence with %(engine)s and %(quantization)s on a single GPU.")
_WATERMARK = mark(
    "Of a card with %(tier)s, %(usable)s is counted on (%(percent)s); the smallest card is the one that "
    "holds the total within the same share."
)


def data_of_model(model: Model, _catalog: object) -> dict[str, Any]:
    """KV cache, state and total at each context up to 128K, and the smallest card that holds it."""
    native = model.architecture.max_context_tokens
    steps = [step for step in _STEPS if step <= native] or [native]
    return {
        **subject(model),
        "quantization": _QUANTIZATION,
        "native_context_tokens": native,
        "watermark_percent": WATERMARK_PERCENT,
        "watermark_tier": amounts.amount(_WATCHED_TIER * GIB),
        "watermark": amounts.amount(usable_bytes(_WATCHED_TIER)),
        "rows": [_row(model, step) for step in steps],
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """What the rows assume, what the watermark is, and the model's own limit."""
    return [
        voice.text(_BASIS, engine=ENGINE_NAMES[data["engine"]], quantization=data["quantization"]),
        voice.text(
            _WATERMARK,
            tier=voice.gib(data["watermark_tier"]["bytes"], 0),
            usable=voice.gib(data["watermark"]["bytes"]),
            percent=voice.percent(data["watermark_percent"] / 100),
        ),
        voice.text(CONSTANT),
        voice.text(NATIVE, native=voice.integer(data["native_context_tokens"])),
        *doubts(data, voice),
    ]


def _row(model: Model, context: int) -> dict[str, Any]:
    memory = plan_on_card(on_card(model, _QUANTIZATION, context)).fullest
    tier = smallest_tier(memory.total)
    return {
        "context_tokens": context,
        "kv_cache": amounts.amount(memory.kv_cache),
        "recurrent_state": amounts.amount(memory.recurrent_state),
        "total": amounts.amount(memory.total),
        "verdict": str(Verdict.FITS if memory.total <= usable_bytes(_WATCHED_TIER) else Verdict.DOES_NOT_FIT),
        "smallest_tier": None if tier is None else amounts.amount(tier * GIB),
    }
