"""Facts that name each other must exist: engines, formats, accelerators; and no id may occur twice."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from service.errors import CatalogError

Row = Mapping[str, Any]


def check_references(
    models: Mapping[str, Row],
    gpus: Sequence[Row],
    quantizations: Sequence[Row],
    engines: Sequence[Row],
    offers: Sequence[Row],
) -> None:
    """Raise CatalogError at the first repeated id, missing source, or name of what does not exist."""
    engine_ids = check_ids(engines, "engines.yaml")
    format_ids = check_ids(quantizations, "quantizations.yaml")
    gpu_ids = check_ids(gpus, "gpus.yaml")
    for row in engines:
        hosts = [*row.get("backends_from", ()), *filter(None, [row.get("support_from")])]
        _exist(hosts, engine_ids, "engines.yaml", f"[{row['id']}]")
    for row in quantizations:
        _exist(row["engines"], engine_ids, "quantizations.yaml", f"[{row['id']}].engines")
    for row in gpus:
        check_gpu(row, "gpus.yaml", engine_ids)
    for position, row in enumerate(offers):
        check_offer(row, "offers.yaml", f"[{position}]", gpu_ids)
    for identifier, facts in models.items():
        check_model(facts, f"models/{identifier}.yaml", engine_ids, format_ids)


def check_gpu(row: Row, file: str, engine_ids: set[str]) -> None:
    """Raise CatalogError where an accelerator has no source or names an engine that does not exist."""
    _sourced(row, file, f"[{row['id']}].sources")
    used = [engine["engine"] for engine in row["engines"]]
    _exist(used, engine_ids, file, f"[{row['id']}].engines")
    _memory_is_sourced(row, file)


def check_offer(row: Row, file: str, place: str, gpu_ids: set[str]) -> None:
    """Raise CatalogError where an offer names an accelerator that does not exist."""
    _exist(filter(None, [row["gpu"]]), gpu_ids, file, f"{place}.gpu")


def check_model(facts: Row, file: str, engine_ids: set[str], format_ids: set[str]) -> None:
    """Raise CatalogError where a model has no source or names an engine or format that does not exist."""
    _sourced(facts, file, "sources")
    _exist(facts["support"], engine_ids, file, "support")
    _exist(facts["gguf_bytes"], format_ids, file, "gguf_bytes")
    if facts["parameters"]["active"] > facts["parameters"]["total"]:
        raise CatalogError(file, "parameters.active", "must not be above the total")


def _memory_is_sourced(row: Row, file: str) -> None:
    memory = row["memory"]
    stated = {name for name in ("driver_mib", "driver_evidence", "driver_source") if name in memory}
    if stated and len(stated) != 3:
        raise CatalogError(file, f"[{row['id']}].memory", "driver_mib needs an evidence and a source")
    if memory.get("unified_usable_fraction", 1.0) > 1.0:
        raise CatalogError(file, f"[{row['id']}].memory.unified_usable_fraction", "must be at most 1")


def check_ids(rows: Sequence[Row], file: str) -> set[str]:
    """The ids of the rows. Raises CatalogError where one occurs twice."""
    seen: set[str] = set()
    for row in rows:
        if row["id"] in seen:
            raise CatalogError(file, f"[{row['id']}].id", "occurs twice")
        seen.add(row["id"])
    return seen


def _exist(names: Iterable[str], known: set[str], file: str, place: str) -> None:
    for name in names:
        if name not in known:
            raise CatalogError(file, place, f"names {name!r}, which does not exist")


def _sourced(row: Row, file: str, place: str) -> None:
    if not row["sources"]:
        raise CatalogError(file, place, "a fact needs a source")
