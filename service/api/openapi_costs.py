"""Schemas of costs and fine-tuning in the OpenAPI document."""

from service.api.openapi_schemas import (
    ANY_OBJECT,
    NUMBER,
    PROVIDED_BY,
    TEXT,
    TEXTS,
    TRUTH,
    WHOLE,
    Json,
    array,
    described,
    mapping,
    maybe,
    record,
    ref,
)
from service.core.cost.currency import BASE, CURRENCIES
from service.core.evidence import Evidence
from service.core.finetuning.result import TERMS
from service.core.finetuning.training import Method
from service.core.sizing import Verdict

_RANGE: Json = {"low": NUMBER, "estimate": NUMBER, "high": NUMBER}
_SPAN: Json = {"low": NUMBER, "high": NUMBER}
_VERDICT: Json = {"type": "string", "enum": [str(verdict) for verdict in Verdict]}
_SOURCE: Json = {
    "id": TEXT,
    "provider": TEXT,
    "instance": maybe(TEXT),
    "region": maybe(TEXT),
    "commitment": TEXT,
    "billing": TEXT,
    "as_of": maybe(TEXT, "Day on which the price was seen; null when it is undated."),
    "as_of_estimate": maybe(TEXT),
    "age_days": maybe(WHOLE, "Days from as_of to the day of the catalog, not to today."),
    "confidence": TEXT,
    "current": described(TRUTH, "Dated, at most 180 days old, and from a dependable source."),
    "source": TEXT,
    "provided_by": PROVIDED_BY,
}
_MACHINES: Json = {"machines": described(WHOLE, "Instances that are taken.")}
_RENT: Json = {
    **_MACHINES,
    "usd_per_hour": NUMBER,
    "usd_per_month": described(NUMBER, "hours_per_day on 365/12 days."),
    "usd_per_month_always_on": described(NUMBER, "730 hours."),
    "usd_per_million_output_tokens": maybe(ref("UsdRange"), "On this hardware, busy all the time."),
    "usd_per_million_input_tokens": maybe(ref("UsdRange"), "On this hardware, prefilling all the time."),
}
_OFFERED: Json = {
    **_SOURCE,
    "gpu": TEXT,
    "gpu_name": TEXT,
    "gpu_count": WHOLE,
    **_RENT,
    "verdict": _VERDICT,
    "utilization": maybe(NUMBER),
    "memory": maybe(ref("Amount"), "What the drivers of all GPUs report together."),
    "needed_per_gpu": ref("Amount"),
    "usable_per_gpu": maybe(ref("Amount")),
    "notes": array(ref("Note"), "What is to be said of the price, every time."),
}
_EXCLUDED: Json = {
    "offers": described(TEXTS, "Ids of offers of the same hardware."),
    "gpu": maybe(TEXT),
    "gpu_count": maybe(WHOLE),
    "reasons": array(ref("Note")),
}
_POWER: Json = {
    "watts": described(WHOLE, "(gpu_watts + host_watts) * pue."),
    "gpu_watts": WHOLE,
    "host_watts": WHOLE,
    "pue": NUMBER,
    "evidence": TEXT,
    "source": TEXT,
}
_ELECTRICITY: Json = {
    "power": maybe(record("At full load.", _POWER), "Null when the accelerator's limit is not known."),
    "usd_per_kwh": NUMBER,
    "hours_per_day": NUMBER,
    "usd_per_month": maybe(NUMBER),
    "usd_per_month_always_on": maybe(NUMBER),
}
_BREAK_EVEN: Json = {"type": "string", "enum": ["months", "never", "unknown"]}
_BALANCE: Json = {
    "kind": {"type": "string", "enum": ["list", "street", "budget", "given"]},
    "usd": record("All accelerators together, without the machine around them.", _SPAN),
    "used": TRUTH,
    "as_of": maybe(TEXT),
    "break_even": described(_BREAK_EVEN, "Unknown without a rent or a power limit of the same hardware."),
    "break_even_months": maybe(
        record("At the hours asked for.", _SPAN), "Null unless it is a matter of months."
    ),
    "break_even_always_on": _BREAK_EVEN,
    "break_even_months_always_on": maybe(record("Without a pause.", _SPAN)),
}
_OWN: Json = {
    "gpu": TEXT,
    "gpu_name": TEXT,
    "gpu_count": WHOLE,
    "asked": described(TRUTH, "False: the smallest number that runs it stands in for the one asked for."),
    "rent": maybe(record("The best offer for just this hardware.", {**_SOURCE, **_RENT})),
    "electricity": ref("Electricity"),
    "purchase": array(ref("Purchase")),
    "notes": array(ref("Note")),
}
_COSTS: Json = {
    "scenario": ref("Scenario"),
    "fit": described(ANY_OBJECT, "As in a sizing."),
    "as_of": described(TEXT, "Day on which prices were collected; ages are counted to it."),
    "items": array(record("An offer whose hardware runs the scenario.", _OFFERED), "Cheapest first."),
    "total": WHOLE,
    "excluded": array(record("Offers that do not run it, and why.", _EXCLUDED)),
    "own_hardware": maybe(record("The scenario's accelerators, rented, powered and bought.", _OWN)),
    "versions": ANY_OBJECT,
}
_CURRENCY: Json = {
    "code": {"type": "string", "enum": [code for code in CURRENCIES if code != BASE]},
    "per_usd": described(NUMBER, "Units of the currency for one US dollar."),
    "as_of": described(TEXT, "Day of the rate."),
    "age_days": described(WHOLE, "Days from as_of to the day on which prices were collected."),
    "old": described(TRUTH, "More than a week older than the prices."),
    "source": TEXT,
    "message": described(TEXT, "The same in a sentence."),
}
_CONVERTED: Json = {"currency": ref("Currency")}
_COST: Json = {
    "usd_per_hour": maybe(NUMBER, "Null when no offer is known for this accelerator and number."),
    "offer": maybe(record("Where the price comes from.", {**_SOURCE, **_MACHINES})),
    "usd_per_month": maybe(NUMBER),
    "usd_per_month_always_on": maybe(NUMBER),
    "usd_per_million_output_tokens": maybe(ref("UsdRange")),
    "usd_per_million_input_tokens": maybe(ref("UsdRange")),
    "hours_per_day": NUMBER,
    "power_watts": maybe(WHOLE, "Accelerators, hosts and site at full load."),
    "electricity": ref("Electricity"),
    "purchase": array(ref("Purchase")),
    "as_of": TEXT,
    "notes": array(ref("Note")),
}
_AMOUNTS: Json = {name: ref("Amount") for name in (*TERMS, "total")}
_SMALLEST: Json = {
    "gpu": TEXT,
    "name": TEXT,
    "gpu_count": WHOLE,
    "per_gpu": ref("Amount"),
    "usable": ref("Amount"),
}
_METHOD: Json = {
    "method": {"type": "string", "enum": [str(method) for method in Method]},
    "parameters": described(WHOLE, "Of the text model, without MTP layers and vision."),
    "trainable_parameters": WHOLE,
    "memory": record("Memory over all GPUs.", _AMOUNTS),
    "per_gpu": record("Memory of each GPU.", _AMOUNTS),
    "fit": maybe(ANY_OBJECT, "verdict, usable, headroom, utilization, reasons; null without an accelerator."),
    "min_gpu_count": maybe(WHOLE, "Smallest number of these accelerators, up to 1024."),
    "smallest_hardware": maybe(record("Fewest accelerators of the catalog that run it.", _SMALLEST)),
    "notes": array(ref("Note")),
    "evidence": mapping(
        record("", {"evidence": {"type": "string", "enum": [str(e) for e in Evidence]}, "source": TEXT}),
        "How well each term is known.",
    ),
}
_FINETUNING: Json = {
    "scenario": described(ANY_OBJECT, "Every parameter of the training with the value used."),
    "model": ANY_OBJECT,
    "methods": array(ref("TrainingMethod")),
    "versions": ANY_OBJECT,
}


_TRACE: Json = {
    "trace": array(ref("Step"), "With explain=true: the derivation of each amount, in US dollars.")
}


def cost_schemas() -> dict[str, Json]:
    """Costs of a scenario, the cost of a sizing, and fine-tuning."""
    return {
        "UsdRange": record("US dollars; low belongs to a high speed.", _RANGE),
        "Electricity": record("What the hardware draws, and what that costs.", _ELECTRICITY),
        "Purchase": record("One way of buying against renting the same hardware.", _BALANCE),
        "Currency": record(
            "The rate at which prices are also given; there only where `currency` asks for another than USD.",
            _CURRENCY,
        ),
        "Cost": record("What the sized hardware costs.", _COST | _CONVERTED, tuple(_CONVERTED)),
        "Costs": record(
            "What hardware costs that runs a scenario.",
            _COSTS | _CONVERTED | _TRACE,
            (*_CONVERTED, *_TRACE),
        ),
        "TrainingMethod": record("What one method of fine-tuning takes.", _METHOD),
        "FineTuning": record("What a fine-tuning takes.", _FINETUNING),
    }
