"""Which linear layers an adapter is put on."""

from collections.abc import Iterator

from service.core.architecture.model import Architecture
from service.core.architecture.tensors import TensorClass
from service.core.finetuning.modules import Linear, linears
from service.core.finetuning.training import ALL_LINEAR, ATTENTION, EXPERTS
from service.errors import InvalidParameters, ParameterError

_MIXERS = frozenset({TensorClass.ATTENTION, TensorClass.LINEAR_ATTENTION})
# Decay and writing strength steer the recurrence of linear attention; they project no query, key or value.
_RECURRENCE = frozenset({"ssm_f_a", "ssm_f_b", "ssm_beta", "ssm_alpha", "ssm_ba"})
_ROUTED = TensorClass.ROUTED_EXPERTS


def targeted(architecture: Architecture, targets: tuple[str, ...]) -> Iterator[Linear]:
    """The layers that the targets name, each once.

    `all-linear`: every nn.Linear but the output matrix, as peft means it; stacked experts are parameters, not
    nn.Linear, and belong only when `experts` or their own name is given. `attention`: projections of queries,
    keys, values, gates and outputs.
    Source: peft tuners/tuners_utils.py _maybe_include_all_linear_layers, LoraConfig.target_parameters.
    """
    wanted = frozenset(targets)
    return (linear for linear in linears(architecture) if _belongs(linear, wanted))


def adapter_parameters(architecture: Architecture, targets: tuple[str, ...], rank: int) -> int:
    """Trainable parameters of LoRA: the sum of rank * (inputs + outputs) over the targets."""
    return sum(linear.adapter_parameters(rank) for linear in targeted(architecture, targets))


def check_targets(architecture: Architecture, targets: tuple[str, ...]) -> None:
    """Raise InvalidParameters for a name that no module of the model has."""
    known = target_names(architecture)
    if not targets or any(name not in known for name in targets):
        raise InvalidParameters(ParameterError("targets", "not_allowed", known))


def target_names(architecture: Architecture) -> tuple[str, ...]:
    """Everything that `targets` may name for this model: groups, then modules."""
    found = dict.fromkeys(name for linear in linears(architecture) for name in linear.names)
    groups = (ALL_LINEAR, ATTENTION, *((EXPERTS,) if architecture.experts else ()))
    return (*groups, *found)


def _belongs(linear: Linear, wanted: frozenset[str]) -> bool:
    if not wanted.isdisjoint(linear.names):
        return True
    if linear.tensor_class is _ROUTED:
        return EXPERTS in wanted
    if ALL_LINEAR in wanted:
        return True
    return ATTENTION in wanted and linear.tensor_class in _MIXERS and linear.role not in _RECURRENCE
