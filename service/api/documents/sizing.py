"""A sizing as JSON: the core answer of the API."""

from collections.abc import Mapping, Sequence

from service.api.documents.notes import told
from service.api.documents.trace import traced
from service.core.cost.currency import BASE
from service.core.engines import ENGINES
from service.core.request import PARAMETERS
from service.core.scenario import DEGREES, Scenario
from service.core.sizing import EnginePlan, Note, Sizing
from service.core.speed.result import Speed, Withheld
from service.i18n import Voice
from service.render.amounts import amount, evidence, fit, limits, maybe_amount, terms
from service.render.currencies import with_currency
from service.render.speeds import block
from service.render.spoken import with_messages
from service.version import VERSION


def sizing_document(
    sizing: Sizing,
    data_digest: str,
    voice: Voice,
    explain: bool | None,
    measured: Sequence[Mapping[str, object]] = (),
    cost: Mapping[str, object] | None = None,
    speed: Speed | Withheld | None = None,
    trace: Sequence[Mapping[str, object]] = (),
    currency: str | None = None,
) -> dict[str, object]:
    """The whole answer. explain, currency: None when the caller did not ask; trace: the steps where they did.

    measured: the closest real records. cost: of the sized hardware; None unless it runs.
    speed: with its notes, or what stands in for it.
    """
    warnings = (*sizing.warnings, *_of_speed(speed))
    document: dict[str, object] = {
        "scenario": scenario_document(sizing.scenario, voice, explain, currency),
        "model": _model(sizing.scenario),
        "gpu": _gpu(sizing.scenario),
        "memory": _memory(sizing.plan),
        "per_gpu": terms(sizing.plan.fullest),
        "fit": _fit(sizing, voice),
        "limits": limits(sizing),
        "speed": with_messages(block(speed), voice) if isinstance(speed, Speed) else None,
        "cost": with_messages(None if cost is None else with_currency(cost, voice), voice),
        "measured": list(measured),
        "warnings": told(warnings, voice),
        "evidence": evidence(sizing.plan),
        "versions": versions(sizing.scenario.engine, data_digest),
    }
    if explain:
        document["trace"] = traced(trace, voice)
    return document


def _of_speed(speed: Speed | Withheld | None) -> tuple[Note, ...]:
    """What is to be said of a speed, and of one that is missing."""
    if speed is None:
        return ()
    return speed.notes if isinstance(speed, Speed) else speed.reasons


def scenario_document(
    scenario: Scenario, voice: Voice, explain: bool | None, currency: str | None
) -> dict[str, object]:
    """Every parameter under its API name with the value used, and the names of those not given.

    explain, currency: as the caller gave them, None otherwise.
    """
    document: dict[str, object] = {"model": scenario.model.id, "gpu": scenario.gpu.id}
    for name in PARAMETERS:
        degree = DEGREES.get(name)
        document[name] = getattr(scenario.layout, degree) if degree else getattr(scenario, name)
    left_out = {"currency": currency, "explain": explain}
    defaulted = [*scenario.defaulted, *(name for name, given in left_out.items() if given is None)]
    spoken = {"currency": currency or BASE, "lang": voice.language.tag, "explain": bool(explain)}
    return {**document, **spoken, "defaulted": defaulted}


def _model(scenario: Scenario) -> dict[str, object]:
    model = scenario.model
    return {
        "id": model.id,
        "name": model.name,
        "publisher": model.publisher,
        "hf_repo": model.hf_repo,
        "parameters_total": model.parameters_total,
        "parameters_active": model.parameters_active,
        "evidence": model.evidence,
        "provided_by": model.provided_by,
        "max_context_tokens": model.architecture.max_context_tokens,
    }


def _gpu(scenario: Scenario) -> dict[str, object]:
    gpu = scenario.gpu
    return {
        "id": gpu.id,
        "name": gpu.name,
        "memory": maybe_amount(gpu.memory_bytes),
        "memory_bandwidth_gbs": gpu.memory_bandwidth_gbs,
        "evidence": gpu.evidence,
        "provided_by": gpu.provided_by,
    }


def _memory(plan: EnginePlan) -> dict[str, object]:
    return {
        **terms(plan.total),
        "host": amount(plan.host_bytes),
        "model_weights": amount(plan.model_weights_bytes),
        "kv_bytes_per_token": plan.kv_bytes_per_token,
        "kv_window_bytes_per_sequence": plan.kv_window_bytes_per_sequence,
        "state_bytes_per_sequence": plan.state_bytes_per_sequence,
    }


def _fit(sizing: Sizing, voice: Voice) -> dict[str, object]:
    # Not rounded: the thresholds of the verdict apply to the exact ratio.
    return {
        **fit(sizing),
        "utilization": sizing.utilization,
        "reasons": told(sizing.reasons, voice),
    }


def versions(engine: str, data_digest: str) -> dict[str, object]:
    """What the numbers come from: this service, its data, and the engine version whose rules were applied."""
    return {
        "service": VERSION,
        "data_digest": data_digest,
        "engine": engine,
        "engine_version": ENGINES[engine].version,
    }
