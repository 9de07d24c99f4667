"""Parameters of a matrix: what they are, and from a query to the question."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from flask import Request as HttpRequest
from marshmallow import RAISE, Schema

from service.api.fields import Parameter, Text, Whole
from service.api.reading import read_query
from service.api.schemas import SCENARIO
from service.api.training import Choice, Names
from service.catalog import Catalog
from service.core.engines import ENGINES
from service.core.hardware import GpuKind
from service.core.matrix.question import Question
from service.core.request import PARAMETERS, RANGES
from service.errors import InvalidParameters, ParameterError

_MOST_ENTRIES = 500
_MOST_FORMATS = 16  # each weighs every model once, some milliseconds a time
_Item = TypeVar("_Item")
# Parameters of other answers: a matrix has no derivation, and its prices are US dollars.
_OTHERS = ("currency", "explain")
# Axes beside the parameter of the scenario that is the same with one entry.
_AXES = {"models": "model", "gpus": "gpu", "quantizations": "quantization", "contexts": "context_tokens"}


class Wholes(Names):
    """One or several whole numbers within a range, separated by commas."""

    def __init__(self, limits: tuple[float, float], **kwargs: Any) -> None:
        super().__init__(most=_MOST_ENTRIES, **kwargs)
        self.each = Whole(limits)

    def check(self, value: object) -> tuple[Any, ...]:
        """The numbers, each once."""
        names = super().check(value)
        return tuple(dict.fromkeys(self.each.check(self.each.from_text(name)) for name in names))


def _about(description: str, example: object, default: str) -> dict[str, Any]:
    return {"metadata": {"description": description, "example": example, "default": default}}


MATRIX: dict[str, Parameter] = {
    "models": Names(
        _MOST_ENTRIES,
        **_about("Models, ids or aliases separated by commas.", "qwen3-8b,gpt-oss-120b", "all"),
    ),
    "gpus": Names(
        _MOST_ENTRIES,
        **_about("Accelerators, ids or aliases separated by commas.", "rtx-4090,h100-80gb-sxm", "all"),
    ),
    "quantizations": Names(
        _MOST_FORMATS, **_about("Weight formats, separated by commas.", "q4_k_m,q8_0", "`quantization`")
    ),
    "contexts": Wholes(
        RANGES["context_tokens"],
        **_about("Context lengths in tokens, separated by commas.", "8192,131072", "`context_tokens`"),
    ),
    "family": Text(**_about("Only models of this family, in any case.", "Qwen3", "all")),
    "kind": Choice(tuple(GpuKind), **_about("Only accelerators of this kind.", "datacenter", "all")),
    "vendor": Text(**_about("Only accelerators of this vendor, in any case.", "NVIDIA", "all")),
}
QUERY_PARAMETERS: dict[str, Parameter] = {**MATRIX, **{n: p for n, p in SCENARIO.items() if n not in _OTHERS}}
QUERY: Schema = Schema.from_dict(dict(QUERY_PARAMETERS))(unknown=RAISE)


def asked_matrix(request: HttpRequest, catalog: Catalog) -> Question:
    """The matrix that a query asks for.

    Raises InvalidParameters, UnknownModel, UnknownGpu.
    """
    given = read_query(QUERY, request)
    _check(given, catalog)
    entries = {axis: given.get(axis, (given[one],) if one in given else None) for axis, one in _AXES.items()}
    models, gpus = entries["models"], entries["gpus"]
    return Question(
        models=_kept(
            catalog.models.values() if models is None else map(catalog.find_model, models),
            family=given.get("family"),
        ),
        gpus=_kept(
            catalog.gpus.values() if gpus is None else map(catalog.find_gpu, gpus),
            kind=given.get("kind"),
            vendor=given.get("vendor"),
        ),
        quantizations=entries["quantizations"] or (None,),
        contexts=entries["contexts"] or (None,),
        values={n: given[n] for n in PARAMETERS if n in given and n not in _AXES.values()},
    )


def _kept(items: Iterable[_Item], **wanted: str | None) -> tuple[_Item, ...]:
    """The items, each once, whose attributes are the wanted ones in any case."""
    folded = {name: value.casefold() for name, value in wanted.items() if value is not None}
    chosen = {id(item): item for item in items}.values()
    return tuple(
        item
        for item in chosen
        if all(str(getattr(item, name)).casefold() == value for name, value in folded.items())
    )


def _check(given: Mapping[str, Any], catalog: Catalog) -> None:
    """Raise InvalidParameters for two ways of saying the same, and for names that nothing has."""
    errors = [
        ParameterError(axis, "conflict", None, {"other": one})
        for axis, one in _AXES.items()
        if axis in given and one in given
    ]
    formats = sorted({name for engine in ENGINES.values() for name in engine.formats})
    if not set(given.get("quantizations", ())) <= set(formats):
        errors.append(ParameterError("quantizations", "not_allowed", tuple(formats)))
    errors += _unmatched(given, "family", [model.family for model in catalog.models.values()])
    errors += _unmatched(given, "vendor", [gpu.vendor for gpu in catalog.gpus.values()])
    if errors:
        raise InvalidParameters(*errors)


def _unmatched(given: Mapping[str, Any], name: str, known: Sequence[str]) -> list[ParameterError]:
    if name not in given or given[name].casefold() in {value.casefold() for value in known}:
        return []
    return [ParameterError(name, "not_allowed", tuple(sorted(set(known))))]
