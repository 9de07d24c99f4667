"""Models and accelerators that a caller describes: a config.json -> Model, a table of facts -> Gpu."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from service.core.architecture.field_limits import check_limits
from service.core.architecture.model import Architecture
from service.core.architecture.parse import parse_any
from service.core.architecture.plausible import check_plausible
from service.core.architecture.summary import active_parameters, total_parameters
from service.core.catalogued import Model
from service.core.evidence import Evidence
from service.core.hardware import EngineOnGpu, Gpu, GpuKind, Tflops
from service.core.notes import Note
from service.core.provenance import ProvidedBy
from service.core.recognition import Known
from service.core.units import GIB
from service.core.weights.published_format import with_readable_format
from service.core.weights.weigh import weigh_architecture
from service.errors import UnsupportedArchitecture

POSTED = "posted"  # id of what has no catalog id, and evidence of facts that the caller gave
GIVEN = "given by the caller"
_AGREES = 100  # two counts within 1/100 agree
_LONGEST_NAME = 100
_GPUS_PER_NODE = 8
_GENERIC_BACKEND = "cuda"


@dataclass(frozen=True, slots=True)
class Stated:
    """What a caller says of a model beside its config; weights_source: who says weight_bytes."""

    name: str | None = None
    parameters_total: int | None = None
    weight_bytes: int | None = None
    weights_source: str = GIVEN


def build_architecture(config: Mapping[str, Any]) -> Architecture:
    """The architecture of a posted config.json, checked against what no published config has.

    Raises UnsupportedArchitecture with the fields that are missing, wrong or excessive.
    """
    names = config.get("architectures")
    named = names[0] if isinstance(names, list) and names else config.get("model_type")
    name = named if isinstance(named, str) else ""
    if len(name) > _LONGEST_NAME or len(str(config.get("model_type"))) > _LONGEST_NAME:
        raise UnsupportedArchitecture(name[:_LONGEST_NAME], ("architectures",))
    check_limits(config, name)
    try:
        architecture = with_readable_format(parse_any(config), config)
        check_plausible(architecture)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise UnsupportedArchitecture(name) from error
    return architecture


def build_model(config: Mapping[str, Any], stated: Stated, known: Known) -> Model:
    """The model that a posted config.json describes, with the catalog's facts where it is a catalog model.

    Raises UnsupportedArchitecture as `build_architecture`.
    """
    architecture = build_architecture(config)
    model = known.recognise(architecture, config) or _unknown(architecture, known)
    said = _contradictions(architecture, stated)
    return model if stated == Stated() else _with(model, stated, said)


def _with(model: Model, stated: Stated, said: tuple[Note, ...]) -> Model:
    """The model with what the caller says of it in place of what is known."""
    model = replace(model, name=stated.name or model.name, remarks=(*model.remarks, *said), catalogued=False)
    if stated.parameters_total is not None:
        model = replace(model, parameters_total=stated.parameters_total, parameters_exact=False)
    if stated.weight_bytes is None:
        return model
    return replace(
        model,
        native_bytes=stated.weight_bytes,
        native_evidence=Evidence.CHECKPOINT,
        native_source=stated.weights_source,
    )


def _unknown(architecture: Architecture, known: Known) -> Model:
    return Model(
        id=POSTED,
        name=architecture.engine_class or architecture.model_type or POSTED,
        family=architecture.model_type,
        publisher="",
        hf_repo="",
        architecture=architecture,
        parameters_total=total_parameters(architecture),
        parameters_active=active_parameters(architecture),
        parameters_exact=False,
        evidence=POSTED,
        sources=(GIVEN,),
        support=known.support(architecture.engine_class),
        catalogued=False,
        provided_by=ProvidedBy.CALLER,
    )


def _contradictions(architecture: Architecture, stated: Stated) -> tuple[Note, ...]:
    """Counts of the caller that are more than one percent away from what the config gives."""
    notes = []
    given, computed = stated.parameters_total, total_parameters(architecture)
    if given is not None and _differ(given, computed):
        notes.append(Note("parameters_disagree", {"given": given, "computed": computed}))
    if stated.weight_bytes is not None:
        whole = weigh_architecture(architecture, "native", mtp=True, vision=True).total_bytes
        if _differ(stated.weight_bytes, whole):
            values = {"given_bytes": stated.weight_bytes, "computed_bytes": whole}
            notes.append(Note("weight_bytes_disagree", values))
    return tuple(notes)


def _differ(given: int, computed: int) -> bool:
    return abs(given - computed) * _AGREES > computed


def build_gpu(facts: Mapping[str, Any], runtimes: tuple[EngineOnGpu, ...]) -> Gpu:
    """The accelerator of a checked `gpu_spec`, with the engines that run on any CUDA card.

    facts: memory_gib may have a fraction, bytes are rounded to whole ones. runtimes: engines and backends of
    the catalog's accelerators.
    """
    return Gpu(
        id=POSTED,
        name=facts["name"],
        vendor=POSTED,
        family=POSTED,
        kind=GpuKind.DATACENTER,
        memory_bytes=round(facts["memory_gib"] * GIB),
        memory_evidence=Evidence.CONFIG,
        label_gb=round(facts["memory_gib"]),
        memory_bandwidth_gbs=facts["memory_bandwidth_gbs"],
        tflops=Tflops(
            fp16=facts["fp16_tflops"],
            fp8=facts.get("fp8_tflops"),
            int8=facts.get("int8_tflops"),
            fp4=facts.get("fp4_tflops"),
        ),
        tdp_watts=facts.get("tdp_watts"),
        interconnect=None,
        interconnect_gbs=facts.get("interconnect_gbs"),
        max_per_node=_GPUS_PER_NODE,
        engines=tuple(runtime for runtime in runtimes if runtime.backend == _GENERIC_BACKEND),
        evidence=POSTED,
        sources=(GIVEN,),
        price_usd=facts.get("price_usd"),
        usd_per_hour=facts.get("usd_per_hour"),
        provided_by=ProvidedBy.CALLER,
    )
