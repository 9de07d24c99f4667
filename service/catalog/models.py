"""A validated model file -> the core's Model."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from service.catalog.facts import EngineFacts
from service.core.architecture.parse import parse
from service.core.catalogued import Model, Support
from service.core.evidence import Evidence
from service.errors import CatalogError, UnsupportedArchitecture


def model(facts: Mapping[str, Any], engines: Iterable[EngineFacts], file: str) -> Model:
    """The model of one file.

    Raises CatalogError when no parser understands its config.
    """
    try:
        architecture = parse(facts["config"])
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
        evidence=facts["evidence"],
        sources=tuple(facts["sources"]),
        native_bytes=native["bytes"],
        native_evidence=Evidence(native["evidence"]),
        published_files=MappingProxyType(dict(facts["gguf_bytes"])),
        support=support(facts["support"], engines),
        compute_floats=ran["compute_floats_per_token"] if ran else None,
        compute_exact=bool(ran and ran["exact"]),
        aliases=tuple(facts["aliases"]),
        license=facts["license"],
        released=facts["released"],
        notes=facts.get("notes"),
    )


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
