"""A validated model file -> the core's Model."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from service.catalog.facts import EngineFacts
from service.core.architecture.model import Architecture
from service.core.architecture.parse import parse
from service.core.catalogued import Model, Support
from service.core.evidence import Evidence
from service.core.notes import Note
from service.core.posted import build_architecture
from service.core.provenance import ProvidedBy
from service.errors import CatalogError, UnsupportedArchitecture


def model(facts: Mapping[str, Any], engines: Iterable[EngineFacts], file: str) -> Model:
    """The model of one file.

    Raises CatalogError when no parser understands its config.
    """
    provided_by = facts.get("provided_by", ProvidedBy.CATALOG)
    try:
        architecture = _architecture(facts["config"], provided_by)
    except UnsupportedArchitecture as error:
        missing = f" without {', '.join(error.missing)}" if error.missing else " has no parser"
        raise CatalogError(file, "config", f"{error.architecture}{missing}") from error
    parameters, native, ran = facts["parameters"], facts["native_weights"], facts.get("llama_cpp")
    return Model(
        id=facts["id"],
        name=facts["name"],
        family=facts["family"],
        publisher=facts["publisher"],
        hf_repo=facts["hf_repo"],
        architecture=architecture,
        parameters_total=parameters["total"],
        parameters_active=parameters["active"],
        parameters_exact=parameters["exact"],
        evidence=_evidence(facts["evidence"], provided_by),
        sources=tuple(facts["sources"]),
        native_bytes=native["bytes"],
        native_evidence=Evidence(native["evidence"]),
        published_files=MappingProxyType(dict(facts["gguf_bytes"])),
        gguf_repo=facts.get("gguf_repo"),
        support=support(facts["support"], engines),
        compute_floats=ran["compute_floats_per_token"] if ran else None,
        compute_exact=bool(ran and ran["exact"]),
        aliases=tuple(facts["aliases"]),
        license=facts["license"],
        released=facts["released"],
        notes=facts.get("notes"),
        provided_by=provided_by,
        remarks=_remarks(facts["name"], provided_by),
    )


def _architecture(config: Mapping[str, Any], provided_by: ProvidedBy) -> Architecture:
    """A class without a parser of its own is read by usual names for an operator, as for a caller."""
    return parse(config) if provided_by is ProvidedBy.CATALOG else build_architecture(config)


def _evidence(stated: str, provided_by: ProvidedBy) -> str:
    """`verified` is what this service has checked; what the operator vouches for is called by their name."""
    if provided_by is ProvidedBy.OPERATOR and stated == "verified":
        return ProvidedBy.OPERATOR.value
    return stated


def _remarks(name: str, provided_by: ProvidedBy) -> tuple[Note, ...]:
    return (Note("model_by_operator", {"model": name}),) if provided_by is ProvidedBy.OPERATOR else ()


def with_shared_runs(models: Mapping[str, Model]) -> dict[str, Model]:
    """The models, those that llama.cpp was not run on with the buffers of one of the same architecture.

    The buffers follow from the graph, so a model trained further from another's weights has the same.
    """
    ran = [model for model in models.values() if model.compute_floats is not None]
    return {name: _with_run(model, ran) for name, model in models.items()}


def _with_run(model: Model, ran: Iterable[Model]) -> Model:
    if model.compute_floats is not None:
        return model
    alike = (other for other in ran if other.architecture == model.architecture)
    found = next(alike, model)
    return replace(model, compute_floats=found.compute_floats, compute_exact=found.compute_exact)


def support(stated: Mapping[str, Mapping[str, str]], engines: Iterable[EngineFacts]) -> Mapping[str, Support]:
    """Support by every engine: as stated, else as the engine that it embeds has it, else unknown."""
    result: dict[str, Support] = {}
    for engine in engines:
        host = engine.id if engine.id in stated else engine.support_from
        row = stated.get(host or "", {"status": "unknown"})
        note = row.get("note")
        if host != engine.id and host in stated:
            note = "; ".join(part for part in (f"as {host}", note) if part)
        result[engine.id] = Support(row["status"], row.get("since"), note)
    return MappingProxyType(result)
