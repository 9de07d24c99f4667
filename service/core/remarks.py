"""What is said, in every answer, of a model whose config was not wholly understood."""

from dataclasses import replace

from service.core.architecture.generic import GENERIC_SOURCE
from service.core.catalogued import Model
from service.core.evidence import Evidence, weakest
from service.core.notes import Note
from service.core.provenance import ProvidedBy
from service.core.sizing import EnginePlan, Sourced

# Evidence of facts that someone has checked: this service, or the operator of the instance for their own.
_CHECKED = frozenset({"verified", ProvidedBy.OPERATOR.value})
_FROM_LAYERS = frozenset({"kv_cache", "recurrent_state", "compute_buffers"})


def remarks_of(model: Model) -> tuple[Note, ...]:
    """Remarks on the architecture, then on the model's facts."""
    return (*model.architecture.remarks, *model.remarks)


def is_derived(model: Model) -> bool:
    """Whether facts of the model were derived from its published files and checked by nobody."""
    return model.evidence not in _CHECKED


def with_doubt(plan: EnginePlan, model: Model) -> EnginePlan:
    """The plan, every term that follows from the layers marked as an estimate where they were guessed."""
    if not model.architecture.generic:
        return plan
    evidence = {
        term: Sourced(weakest(Evidence.ESTIMATE, found.evidence), f"{found.source}; {GENERIC_SOURCE}")
        if term in _FROM_LAYERS
        else found
        for term, found in plan.evidence.items()
    }
    return replace(plan, evidence=evidence)
