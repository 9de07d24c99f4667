"""From an HTTP request to a sizing: read, look up, resolve, size."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Request as HttpRequest
from flask import g

from service.api.posted import posted_gpu, posted_model
from service.api.reading import read_body, read_query
from service.api.schemas import LANGUAGE_QUERY, POSTED, SCENARIO_BODY, SCENARIO_QUERY
from service.catalog import Catalog
from service.core.catalogued import Model
from service.core.cost.currency import BASE
from service.core.hardware import Gpu
from service.core.request import PARAMETERS, Request
from service.core.resolve import resolve
from service.core.size import size
from service.core.sizing import Sizing
from service.errors import InvalidParameters, ParameterError
from service.i18n import Voice, voice


@dataclass(frozen=True, slots=True)
class Asked:
    """A sized scenario, or what stands alone: a model, or an accelerator.

    model: None for an accelerator alone. sizing: None for either alone. explain: None when the caller did not
    say. speaker: the voice of the answer, in its language and currency. currency: None when it was not given.
    """

    model: Model | None
    sizing: Sizing | None
    explain: bool | None
    speaker: Voice
    gpu: Gpu | None = None
    currency: str | None = None

    @property
    def subject(self) -> Model | Gpu:
        """The model, or the accelerator alone."""
        found = self.model or self.gpu
        assert found is not None  # one of them was demanded
        return found


def asked(
    request: HttpRequest, catalog: Catalog, *, needs_gpu: bool = True, needs_model: bool = True
) -> Asked:
    """The sizing that a GET's query or a POST's body asks for.

    Without `needs_gpu` also a model alone, without `needs_model` an accelerator alone.
    Raises InvalidParameters, MalformedBody, UnsupportedArchitecture, UnknownModel, UnknownGpu.
    """
    given = _given(request)
    with_model = any(name in given for name in ("model", "model_config"))
    with_gpu = any(name in given for name in ("gpu", "gpu_spec"))
    speaker, explain = speaker_of(given, catalog), given.get("explain")
    if with_gpu and not with_model and not needs_model:
        check_subjects({**given, "model": ""}, needs_gpu=True)
        return Asked(None, None, explain, speaker, named_gpu(given, catalog), given.get("currency"))
    check_subjects(given, needs_gpu=needs_gpu)
    model = named_model(given, catalog)
    if not with_gpu:
        return Asked(model, None, explain, speaker, currency=given.get("currency"))
    values = {name: given[name] for name in PARAMETERS if name in given}
    scenario = resolve(Request(model=model, gpu=named_gpu(given, catalog), **values))
    return Asked(model, size(scenario), explain, speaker, currency=given.get("currency"))


def speaker_of(given: Mapping[str, Any], catalog: Catalog) -> Voice:
    """The voice of the request's language, which says prices in the currency that was asked for."""
    return voice(g.language, catalog.exchange_rates.get(given.get("currency", BASE)))


def _given(request: HttpRequest) -> Mapping[str, Any]:
    if request.method != "POST":
        return read_query(SCENARIO_QUERY, request)
    read_query(LANGUAGE_QUERY, request)
    return read_body(SCENARIO_BODY, request)


def check_subjects(given: Mapping[str, Any], *, needs_gpu: bool) -> None:
    """Exactly one way of naming the model, and one of naming the accelerator, where it is needed."""
    errors = []
    for name, described in (("model", "model_config"), ("gpu", "gpu_spec")):
        if name in given and described in given:
            errors.append(ParameterError(described, "conflict", None, {"other": name}))
        elif name not in given and described not in given and (needs_gpu or name == "model"):
            errors.append(ParameterError(name, "missing"))
    if "model_config" not in given:
        siblings = [name for name in POSTED if name in given and name not in ("model_config", "gpu_spec")]
        errors += [ParameterError(name, "conflict", None, {"other": "model"}) for name in siblings]
    if errors:
        raise InvalidParameters(*errors)


def named_model(given: Mapping[str, Any], catalog: Catalog) -> Model:
    """The model that the parameters name or describe."""
    if "model" in given:
        return catalog.find_model(given["model"])
    return posted_model(given, catalog)


def named_gpu(given: Mapping[str, Any], catalog: Catalog) -> Gpu:
    """The accelerator that the parameters name or describe."""
    if "gpu" in given:
        return catalog.find_gpu(given["gpu"])
    return posted_gpu(given["gpu_spec"], catalog)
