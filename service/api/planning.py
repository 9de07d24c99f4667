"""Parameters of a plan: what they are, and from a request to the question."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Request as HttpRequest
from marshmallow import RAISE, Schema

from service.api.fields import Number, Parameter, Whole
from service.api.reading import read_body, read_query
from service.api.scenarios import check_subjects, named_gpu, named_model
from service.api.schemas import LANGUAGE_QUERY, POSTED, SCENARIO
from service.api.training import Names
from service.catalog import Catalog
from service.core.catalogued import Model
from service.core.hardware import Gpu
from service.core.planning.question import Demands, Question
from service.core.request import PARAMETERS
from service.errors import InvalidParameters, ParameterError

_CHOSEN = ("gpu_count", "engine", "quantization")  # what a plan chooses unless it is given
_DEMANDS = ("max_usd_per_hour", "min_decode_tokens_per_second", "max_ttft_ms")
PLACES = 25  # of hardware, unless another number is asked for


def _about(description: str, example: object, default: str | None = None) -> dict[str, Any]:
    return {"metadata": {"description": description, "example": example, "default": default}}


PLAN: dict[str, Parameter] = {
    "gpus": Names(
        **_about("Only these accelerators, ids or aliases separated by commas.", "rtx-4090,h100-80gb-sxm")
    ),
    "max_usd_per_hour": Number((0, 10**6), **_about("Most rent of all GPUs, USD per hour.", 5)),
    "min_decode_tokens_per_second": Number(
        (0, 10**6), **_about("Least speed of one sequence, tokens/s; held to the estimate.", 20)
    ),
    "max_ttft_ms": Number((0, 10**9), **_about("Latest first token, ms; held to the estimate.", 2000)),
    "limit": Whole(
        (1, 500), **_about("Most places in the answer.", 10, f"{PLACES} of hardware, all of models")
    ),
}
QUERY: Schema = Schema.from_dict({**SCENARIO, **PLAN})(unknown=RAISE)
BODY: Schema = Schema.from_dict({**SCENARIO, **POSTED, **PLAN})(unknown=RAISE)


@dataclass(frozen=True, slots=True)
class Planned:
    """What a plan is asked about. model: None for a plan of models, of the one accelerator in `gpus`."""

    model: Model | None
    gpus: tuple[Gpu, ...]
    question: Question
    limit: int | None
    given: Mapping[str, Any]


def asked_plan(request: HttpRequest, catalog: Catalog) -> Planned:
    """The plan that a GET's query or a POST's body asks for: of a model, of an accelerator, or of both.

    Raises InvalidParameters, MalformedBody, UnsupportedArchitecture, UnknownModel, UnknownGpu.
    """
    given = _given(request)
    one_gpu = "gpu" in given or "gpu_spec" in given
    any_model = one_gpu and not any(name in given for name in ("model", "model_config"))
    check_subjects({**given, "model": ""} if any_model else given, needs_gpu=False)
    if one_gpu and "gpus" in given:
        raise InvalidParameters(ParameterError("gpus", "conflict", None, {"other": "gpu"}))
    values = {name: given[name] for name in PARAMETERS if name in given and name not in _CHOSEN}
    return Planned(
        model=None if any_model else named_model(given, catalog),
        gpus=_gpus(given, catalog),
        question=Question(
            **{name: given.get(name) for name in _CHOSEN},
            values=values,
            demands=Demands(**{name: given.get(name) for name in _DEMANDS}),
        ),
        limit=given.get("limit"),
        given=given,
    )


def _given(request: HttpRequest) -> Mapping[str, Any]:
    if request.method != "POST":
        return read_query(QUERY, request)
    read_query(LANGUAGE_QUERY, request)
    return read_body(BODY, request)


def _gpus(given: Mapping[str, Any], catalog: Catalog) -> tuple[Gpu, ...]:
    if "gpu" in given or "gpu_spec" in given:
        return (named_gpu(given, catalog),)
    if "gpus" in given:
        return tuple(dict.fromkeys(catalog.find_gpu(name) for name in given["gpus"]))
    return tuple(catalog.gpus.values())
