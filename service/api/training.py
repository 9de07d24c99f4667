"""Parameters of a fine-tuning: what they are, and from a request to a Training."""

from collections.abc import Mapping, Sequence
from typing import Any

from flask import Request as HttpRequest
from marshmallow import RAISE, Schema

from service.api.fields import Parameter, Text, Truth, Whole, fail
from service.api.reading import read_body, read_query
from service.api.scenarios import check_subjects, named_gpu, named_model
from service.api.schemas import LANGUAGE_QUERY, POSTED, SCENARIO
from service.catalog import Catalog
from service.core.finetuning.targets import check_targets
from service.core.finetuning.training import RANGES, Method, Optimizer, Training
from service.core.request import PARAMETERS, Request
from service.core.resolve import resolve

ALL_METHODS = "all"
_MOST_TARGETS = 64
# Settings of serving that say how GPUs share the model; a training has its own, gpu_count and zero_stage.
_OF_SERVING = ("gpu_count",)


class Choice(Text):
    """One of a closed set of words, in any case."""

    def __init__(self, choices: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choices = tuple(choices)

    def check(self, value: object) -> str:
        """The word as the API writes it."""
        word = super().check(value).strip().lower()
        if word not in self.choices:
            raise fail("not_allowed", self.choices)
        return word


class Names(Parameter):
    """One or several names: separated by commas in a query, a text or a list in JSON; `most` of them."""

    def __init__(self, most: int = _MOST_TARGETS, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.most = most

    def check(self, value: object) -> tuple[str, ...]:
        """The names without blanks, each once."""
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            raise fail("not_a_string")
        if len(parts) > self.most:
            raise fail("too_many_items", maximum=self.most)
        names = tuple(dict.fromkeys(part.strip() for part in parts))
        if not all(names) or not names:
            raise fail("empty")
        return names


def _about(description: str, example: object, default: str) -> dict[str, Any]:
    return {"metadata": {"description": description, "example": example, "default": default}}


FINETUNING: dict[str, Parameter] = {
    "method": Choice(
        (*Method, ALL_METHODS),
        **_about("What is trained: full, lora, qlora, or all three.", "lora", ALL_METHODS),
    ),
    "rank": Whole(RANGES["rank"], **_about("Rank of the LoRA adapters.", 16, "16")),
    "targets": Names(
        **_about(
            "What LoRA adapts: all-linear, attention, experts, or names of modules, separated by commas.",
            "q_proj,v_proj",
            "all-linear",
        )
    ),
    "sequence_tokens": Whole(
        RANGES["sequence_tokens"], **_about("Length of a training sequence, tokens.", 2048, "2048")
    ),
    "micro_batch": Whole(RANGES["micro_batch"], **_about("Sequences of one pass on one GPU.", 1, "1")),
    "optimizer": Choice(
        tuple(Optimizer),
        **_about("Optimizer: adamw, adamw-8bit or adamw-bf16.", "adamw-8bit", "adamw"),
    ),
    "gradient_checkpointing": Truth(
        **_about("Recompute activations in the backward pass.", True, "true"),
    ),
    "zero_stage": Whole(
        RANGES["zero_stage"],
        **_about("What ZeRO divides over the GPUs: 1 optimizer, 2 gradients too, 3 all (FSDP).", 3, "3"),
    ),
}
QUERY: Schema = Schema.from_dict({**SCENARIO, **FINETUNING})(unknown=RAISE)
BODY: Schema = Schema.from_dict({**SCENARIO, **POSTED, **FINETUNING})(unknown=RAISE)


def asked_training(request: HttpRequest, catalog: Catalog) -> Training:
    """The training that a GET's query or a POST's body asks for; an accelerator need not be named.

    Parameters of the scenario may stand beside it, as on every resource, and must make sense.
    Raises InvalidParameters, MalformedBody, UnsupportedArchitecture, UnknownModel, UnknownGpu.
    """
    given = _given(request)
    check_subjects(given, needs_gpu=False)
    model = named_model(given, catalog)
    gpu = named_gpu(given, catalog) if "gpu" in given or "gpu_spec" in given else None
    values = {name: given[name] for name in FINETUNING if name in given and name != "method"}
    if "targets" in values:
        check_targets(model.architecture, values["targets"])
    if "optimizer" in values:
        values["optimizer"] = Optimizer(values["optimizer"])
    if gpu is not None:
        _check_scenario(given, Request(model=model, gpu=gpu))
    method = given.get("method", ALL_METHODS)
    return Training(
        model=model,
        gpu=gpu,
        gpu_count=given.get("gpu_count", 1),
        methods=tuple(Method) if method == ALL_METHODS else (Method(method),),
        defaulted=tuple(name for name in ("gpu_count", *FINETUNING) if name not in given),
        **values,
    )


def _given(request: HttpRequest) -> Mapping[str, Any]:
    if request.method != "POST":
        return read_query(QUERY, request)
    read_query(LANGUAGE_QUERY, request)
    return read_body(BODY, request)


def _check_scenario(given: Mapping[str, Any], request: Request) -> None:
    """Raise InvalidParameters for values of the scenario that no engine would take."""
    values = {name: given[name] for name in PARAMETERS if name in given and name not in _OF_SERVING}
    if values:
        resolve(Request(model=request.model, gpu=request.gpu, **values))
