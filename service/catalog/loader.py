"""config/ -> Catalog. A wrong fact stops the start: nothing is repaired or left out silently."""

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

from marshmallow import Schema

from service.catalog.accelerators import gpu
from service.catalog.catalog import Catalog
from service.catalog.costs import cost_facts, read_costs
from service.catalog.currencies import RATES_FILE, exchange_rates
from service.catalog.digest import digest
from service.catalog.facts import EngineFacts, Quantization
from service.catalog.freezing import frozen
from service.catalog.gpu_schemas import GpuSchema
from service.catalog.measurements import measurements
from service.catalog.models import model, with_shared_runs
from service.catalog.names import Names, spellings
from service.catalog.operator_files import read_operator_files
from service.catalog.overlay import (
    NOTHING,
    Overlay,
    check_overlay,
    gpus_over,
    models_over,
    offers_over,
    overlay,
)
from service.catalog.references import check_references
from service.catalog.schemas import EngineSchema, ModelSchema, OfferSchema, QuantizationSchema
from service.catalog.speed import read_speed
from service.catalog.validation import rows, validated
from service.catalog.yaml_files import read_files, read_yaml
from service.core.catalogued import Model
from service.core.hardware import Gpu
from service.errors import CatalogError

FACT_FILES = (
    "models/*.yaml",
    "gpus.yaml",
    "quantizations.yaml",
    "engines.yaml",
    "offers.yaml",
    "costs.yaml",
    RATES_FILE,
    "speed.yaml",
    "measurements/*.csv",
    "measurements/sources.yaml",
)


class Facts(NamedTuple):
    """Validated contents of all fact files, before they become objects; models by id."""

    models: dict[str, dict[str, Any]]
    gpus: list[dict[str, Any]]
    quantizations: list[dict[str, Any]]
    engines: list[dict[str, Any]]
    offers: list[dict[str, Any]]
    costs: dict[str, Any]


def load_catalog(root: Path, own: Path | None = None) -> Catalog:
    """All facts under the folder `root`, validated, checked against each other, and frozen.

    own: folder of the operator's facts, laid over the others; None for none.
    Raises CatalogError with the file, the place in it, and the reason.
    """
    files = read_files(root, FACT_FILES)
    return build_catalog(files, NOTHING if own is None else overlay(read_operator_files(own), str(own)))


def build_catalog(files: Mapping[str, bytes], own: Overlay = NOTHING) -> Catalog:
    """The catalog of the contents of fact files by relative path, with the operator's facts over them.

    Raises CatalogError as `load_catalog`.
    """
    facts = _laid_over(_validated_facts(files), own)
    engines = {row["id"]: EngineFacts(**frozen(row)) for row in facts.engines}
    gpus = {row["id"]: gpu(row, engines.values()) for row in facts.gpus}
    models = {i: model(row, engines.values(), _model_file(i, own)) for i, row in facts.models.items()}
    known: dict[str, Iterable[str]] = {
        "model": models,
        "gpu": gpus,
        "engine": engines,
        "quantization": _format_ids(facts),
    }
    measured = measurements(files, known)
    costs = cost_facts(facts.costs, facts.offers, facts.gpus)
    return Catalog(
        models=MappingProxyType(with_shared_runs(models)),
        gpus=MappingProxyType(gpus),
        quantizations=MappingProxyType(
            {row["id"]: Quantization(**frozen(row)) for row in facts.quantizations}
        ),
        engines=MappingProxyType(engines),
        offers=costs.offers,
        digest=digest({**files, **own.digested()}),
        model_names=Names({entry.id: _model_names(entry) for entry in models.values()}),
        gpu_names=Names({entry.id: _gpu_names(entry) for entry in gpus.values()}),
        model_files=frozen(facts.models),
        gpu_rows=frozen({row["id"]: row for row in facts.gpus}),
        costs=costs,
        speed=read_speed(files),
        measurements=measured.by_model,
        measurement_sources=measured.sources,
        exchange_rates=exchange_rates(files, costs.as_of),
    )


def _validated_facts(files: Mapping[str, bytes]) -> Facts:
    facts = Facts(
        models=_models(files),
        gpus=_rows(files, "gpus.yaml", GpuSchema()),
        quantizations=_rows(files, "quantizations.yaml", QuantizationSchema()),
        engines=_rows(files, "engines.yaml", EngineSchema()),
        offers=_rows(files, "offers.yaml", OfferSchema()),
        costs=read_costs(files),
    )
    check_references(facts.models, facts.gpus, facts.quantizations, facts.engines, facts.offers)
    return facts


def _laid_over(facts: Facts, own: Overlay) -> Facts:
    """The facts with the operator's over them, those checked against all."""
    models, gpus = models_over(facts.models, own), gpus_over(facts.gpus, own)
    engines = {row["id"] for row in facts.engines}
    check_overlay(own, models, [row["id"] for row in gpus], engines, set(_format_ids(facts)))
    return facts._replace(models=models, gpus=gpus, offers=offers_over(facts.offers, own))


def _model_file(identifier: str, own: Overlay) -> str:
    file = f"models/{identifier}.yaml"
    return own.place(file) if identifier in own.models else file


def _format_ids(facts: Facts) -> list[str]:
    return [row["id"] for row in facts.quantizations]


def _models(files: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    schema, result = ModelSchema(), {}
    for file, content in files.items():
        if file.startswith("models/"):
            facts = validated(schema, read_yaml(content, file), file)
            if facts["id"] != PurePosixPath(file).stem:
                raise CatalogError(file, "id", "must be the name of the file")
            result[facts["id"]] = facts
    if not result:
        raise CatalogError("models/", "folder", "holds no model")
    return result


def _rows(files: Mapping[str, bytes], file: str, schema: Schema) -> list[dict[str, Any]]:
    if file not in files:
        raise CatalogError(file, "file", "does not exist")
    result = rows(schema, read_yaml(files[file], file), file)
    if not result:
        raise CatalogError(file, "file", "is empty")
    return result


def _model_names(entry: Model) -> list[str]:
    repository = entry.hf_repo.split("/")[-1]
    return [*spellings(entry.name), *entry.aliases, entry.hf_repo, repository]


def _gpu_names(entry: Gpu) -> list[str]:
    plain = [entry.id, *spellings(entry.name), *entry.aliases]
    return [*plain, *(f"{entry.vendor} {name}" for name in plain)]
