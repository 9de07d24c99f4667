"""A speed as data: the shape that the API and the section share; rates have four significant digits."""

from typing import Any

from service.core.speed.result import Basis, Estimate, Speed
from service.render import amounts

INTERVAL = "p10-p90"
_DIGITS = 4


def block(speed: Speed) -> dict[str, Any]:
    """Decode of all sequences and of one, prefill, time to first token, what bounds, and what it rests on."""
    return {
        "decode_tokens_per_second": estimate(speed.decode_aggregate),
        "per_sequence": estimate(speed.decode),
        "prefill_tokens_per_second": _maybe(speed.prefill),
        "time_to_first_token_ms": _maybe(speed.time_to_first_token_ms),
        "bound": str(speed.bound),
        "interval": INTERVAL,
        "basis": {
            "decode": _basis(speed.decode_basis),
            "prefill": None if speed.prefill_basis is None else _basis(speed.prefill_basis),
        },
        "notes": amounts.notes(speed.notes),
    }


def significant(value: float) -> float:
    """The value with four significant digits."""
    return float(f"{value:.{_DIGITS}g}")


def estimate(found: Estimate) -> dict[str, float]:
    """A rate or a time with its interval."""
    return {name: significant(getattr(found, name)) for name in ("low", "estimate", "high")}


def _maybe(found: Estimate | None) -> dict[str, float] | None:
    return None if found is None else estimate(found)


def _basis(found: Basis) -> dict[str, Any]:
    return {
        "class": found.name,
        "measurements": found.rows,
        "evidence": str(found.evidence),
        "indicative": found.indicative,
    }
