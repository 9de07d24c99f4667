"""What model this is: its facts in sentences, how well they are known, and what is not."""

from dataclasses import asdict
from typing import Any

from service.core.architecture.summary import parameter_table, state_bytes_per_sequence
from service.core.architecture.tensors import TensorClass
from service.core.catalogued import Model, Support
from service.core.engines import ENGINES
from service.core.evidence import Evidence
from service.core.remarks import is_derived, remarks_of
from service.core.sizing import Note, Sizing
from service.core.weights.weigh import weigh
from service.render import amounts, layer_groups
from service.render.about_sentences import sentences as sentences


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """The facts of the scenario's model, whatever its GPU."""
    return data_of_model(sizing.scenario.model, catalog)


def data_of_model(model: Model, _catalog: object) -> dict[str, Any]:
    """Facts, support by engine, what is not known, and where the facts come from."""
    native = weigh(model, "native", mtp=True, vision=True)
    support = _support(model)
    return {
        "model": {"id": model.id, "name": model.name},
        "family": model.family,
        "publisher": model.publisher or None,
        "hf_repo": model.hf_repo or None,
        "released": model.released,
        "license": model.license,
        "parameters_total": model.parameters_total,
        "parameters_active": model.parameters_active,
        "parameters_exact": model.parameters_exact,
        "max_context_tokens": model.architecture.max_context_tokens,
        "native_format": model.architecture.native.name,
        "native_size": amounts.amount(native.total_bytes),
        "native_evidence": str(native.evidence),
        **_structure(model),
        "support": support,
        "unknown": _unknown(model, support),
        "evidence": model.evidence,
        "provided_by": str(model.provided_by),
        "warnings": amounts.notes(_warnings(model, native.evidence)),
        "sources": list(model.sources),
        "remark": model.notes,
    }


def _structure(model: Model) -> dict[str, Any]:
    """What the architecture is made of, counted."""
    architecture = model.architecture
    return {
        "layers": len(architecture.layers),
        "dense": _is_dense(model),
        "layer_kinds": layer_groups.kinds(architecture),
        "moe_layers": layer_groups.moe_layers(architecture),
        "experts": None if architecture.experts is None else asdict(architecture.experts),
        "vision_parameters": parameter_table(architecture).get(TensorClass.VISION, 0),
        "audio": any(".audio." in tensor.role for tensor in architecture.vision),
        "multi_token_prediction_layers": len(architecture.mtp),
        "state_per_sequence": amounts.amount(state_bytes_per_sequence(architecture)),
    }


def _is_dense(model: Model) -> bool:
    """Whether a token passes through all of the text model: no routed experts, no lookup tables."""
    tensors = model.architecture.outer
    return model.architecture.experts is None and not any(
        tensor.tensor_class is TensorClass.LOOKUP_TABLE for tensor in tensors
    )


def _support(model: Model) -> list[dict[str, Any]]:
    found = {engine: model.support.get(engine, Support("unknown")) for engine in ENGINES}
    return [
        {"engine": engine, "status": support.status, "since": support.since, "note": support.note}
        for engine, support in found.items()
    ]


def _unknown(model: Model, support: list[dict[str, Any]]) -> list[str]:
    """Names of facts that nobody stated."""
    stated = {
        "released": model.released,
        "license": model.license,
        "parameters": model.parameters_exact,
    }
    missing = [name for name, value in stated.items() if not value]
    return [*missing, *(["support"] if any(row["status"] == "unknown" for row in support) else [])]


def _warnings(model: Model, native: Evidence) -> tuple[Note, ...]:
    derived = model.catalogued and is_derived(model)
    return (
        *((Note("model_facts_derived", {"model": model.name}),) if derived else ()),
        *((Note("estimated_native_weights"),) if native is Evidence.ESTIMATE else ()),
        *remarks_of(model),
    )
