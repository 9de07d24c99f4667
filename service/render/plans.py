"""Plans as data: the shapes that the API and the sections share."""

from typing import Any

from service.core.cost.buy import Purchase
from service.core.cost.rent import Rental
from service.core.hardware import GpuKind
from service.core.notes import Note
from service.core.planning.highlights import Bought, Highlights
from service.core.planning.question import Left, Option
from service.core.planning.rank import Place
from service.core.speed.result import Speed
from service.render import amounts, costs
from service.render.speeds import block

# Parts of a speed that a plan repeats; the whole is in the sizing itself.
_SPEED = ("decode_tokens_per_second", "per_sequence", "time_to_first_token_ms", "bound", "interval")


def place(number: int, found: Place) -> dict[str, Any]:
    """An option at its place, and why it is there."""
    return {
        "place": number,
        "pareto": found.unbeaten,
        **option(found.option),
        "reasons": amounts.notes(found.reasons),
    }


def option(found: Option) -> dict[str, Any]:
    """A configuration that runs: what it is, what it needs, how fast it is, and what it costs."""
    scenario, plan = found.sizing.scenario, found.sizing.plan
    utilization = found.sizing.utilization
    return {
        "model": scenario.model.id,
        "model_name": scenario.model.name,
        "gpu": scenario.gpu.id,
        "gpu_name": scenario.gpu.name,
        "gpu_count": scenario.gpu_count,
        "engine": scenario.engine,
        "quantization": scenario.quantization,
        "nominal_bits": found.bits,
        "kv_cache_dtype": scenario.kv_cache_dtype,
        "verdict": str(found.sizing.verdict),
        "utilization": None if utilization is None else round(utilization, 4),
        "needed_per_gpu": amounts.amount(plan.fullest.total),
        "usable_per_gpu": amounts.maybe_amount(plan.usable_bytes),
        "speed": _speed(found),
        "rent": None if found.rental is None else _rent(found.rental),
        "purchase": None if found.purchase is None else purchase(found.purchase),
        "notes": amounts.notes(_notes(found)),
    }


def _speed(found: Option) -> dict[str, Any] | None:
    if not isinstance(found.speed, Speed):
        return None
    whole = block(found.speed)
    return {**{name: whole[name] for name in _SPEED}, "indicative": whole["basis"]["decode"]["indicative"]}


def _rent(rental: Rental) -> dict[str, Any]:
    return {
        "usd_per_hour": costs.usd(rental.usd_per_hour),
        "machines": rental.machines,
        **costs.offer(rental.offer),
    }


def purchase(found: Purchase) -> dict[str, Any]:
    """A price of all accelerators, without the machine around them."""
    return {
        "kind": found.kind,
        "used": found.used,
        "usd": {"low": costs.usd(found.low), "high": costs.usd(found.high)},
        "as_of": found.as_of,
    }


def _notes(found: Option) -> tuple[Note, ...]:
    """What is to be said of the speed, the prices and the engine."""
    scenario = found.sizing.scenario
    support = scenario.model.support.get(scenario.engine)
    notes: list[Note] = []
    if support is None or support.status == "unknown":
        values = {"engine": scenario.engine, "model": scenario.model.name}
        notes.append(Note("engine_support_unknown", values))
    if scenario.gpu.port(scenario.engine, scenario.backend):
        notes.append(Note("engine_is_port", {"engine": scenario.engine, "gpu": scenario.gpu.name}))
    if found.speed is not None and not isinstance(found.speed, Speed):
        notes += found.speed.reasons
    if found.rental is not None:
        notes += found.rental.notes()
    if found.purchase is not None and found.purchase.used:
        notes.append(Note("street_price_used"))
    if found.purchase is not None and found.purchase_old:
        notes.append(Note("plan_purchase_price_old", {"period": found.purchase.as_of}))
    return tuple(notes)


def excluded(left: Left) -> dict[str, Any]:
    """What was left out, as far as it is determined, and why."""
    return {
        "model": None if left.model is None else left.model.id,
        "gpu": None if left.gpu is None else left.gpu.id,
        "gpu_name": None if left.gpu is None else left.gpu.name,
        "gpu_count": left.gpu_count,
        "engine": left.engine,
        "quantization": left.quantization,
        "verdict": str(left.verdict),
        "reason": amounts.notes((left.reason,))[0],
    }


def picks(found: Highlights) -> dict[str, Any]:
    """The options that people ask for by name; null where none qualifies."""
    smallest = {str(kind): _maybe(found.smallest.get(kind)) for kind in GpuKind}
    return {
        "best_single_gpu": _maybe(found.single),
        "best_value": _bought(found.value),
        "best_value_used": _bought(found.value_used),
        "unified_memory": _maybe(found.unified),
        "cloud": _maybe(found.cloud),
        **{f"smallest_{kind}": option for kind, option in smallest.items()},
    }


def _maybe(found: Option | None) -> dict[str, Any] | None:
    return None if found is None else option(found)


def _bought(found: Bought | None) -> dict[str, Any] | None:
    """The option with the price that makes it the best value, and what a token/s costs at it."""
    if found is None:
        return None
    shown = option(found.option)
    own = amounts.notes((Note("street_price_used"),))  # of the option's other price
    kept = [note for note in shown["notes"] if found.purchase.used or note not in own]
    return {
        **shown,
        "purchase": purchase(found.purchase),
        "usd_per_token_per_second": costs.usd(found.usd_per_token_rate),
        "notes": [*amounts.notes(found.notes), *kept],
    }
