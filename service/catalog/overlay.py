"""The operator's own facts, laid over those of the service: same formats, same validation.

An entry with the id of a shipped one replaces it as a whole, another is added. Offers have no ids: one for
the same provider, accelerator, count and commitment replaces the shipped one.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from service.catalog.gpu_schemas import GpuSchema
from service.catalog.names import key
from service.catalog.operator_files import LISTS, MODELS
from service.catalog.references import check_gpu, check_ids, check_model, check_offer
from service.catalog.schemas import ModelSchema, OfferSchema
from service.catalog.validation import rows, validated
from service.catalog.yaml_files import read_yaml
from service.core.provenance import ProvidedBy
from service.errors import CatalogError

Row = dict[str, Any]
_GPUS, _OFFERS = LISTS
_MARK = {"provided_by": ProvidedBy.OPERATOR}
_IDENTITY = ("provider", "gpu", "gpu_name", "count", "commitment")


class Overlay(NamedTuple):
    """Validated rows of the operator, each with `provided_by`; models by id.

    folder: names the files in errors. files: contents by relative path.
    """

    folder: str
    files: Mapping[str, bytes]
    models: dict[str, Row]
    gpus: list[Row]
    offers: list[Row]

    def place(self, file: str) -> str:
        """A file of the folder as an error names it."""
        return f"{self.folder}/{file}"

    def digested(self) -> dict[str, bytes]:
        """Contents under names that no shipped file has."""
        return {f"operator/{name}": content for name, content in self.files.items()}


NOTHING = Overlay("", {}, {}, [], [])


def overlay(files: Mapping[str, bytes], folder: str) -> Overlay:
    """The operator's facts in the contents of their files.

    Raises CatalogError that names the file in `folder`, the place in it, and the reason.
    """
    return Overlay(
        folder=folder,
        files=files,
        models=_models(files, folder),
        gpus=_rows(files, _GPUS, GpuSchema(), folder),
        offers=_rows(files, _OFFERS, OfferSchema(), folder),
    )


def models_over(shipped: Mapping[str, Row], own: Overlay) -> dict[str, Row]:
    """All models by id: shipped ones first, replaced ones in their place, then new ones."""
    return {**shipped, **own.models}


def gpus_over(shipped: Sequence[Row], own: Overlay) -> list[Row]:
    """All accelerators: shipped ones first, replaced ones in their place, then new ones."""
    return list({row["id"]: row for row in (*shipped, *own.gpus)}.values())


def offers_over(shipped: Sequence[Row], own: Overlay) -> list[Row]:
    """All offers: shipped ones first, replaced ones in their place, then new ones."""
    return list({_identity(row): row for row in (*shipped, *own.offers)}.values())


def check_overlay(
    own: Overlay, models: Iterable[str], gpus: Iterable[str], engines: set[str], formats: set[str]
) -> None:
    """Raise CatalogError at the first of the operator's facts that names what does not exist.

    models, gpus, engines, formats: ids of everything, shipped or not.
    """
    gpu_file, offer_file, gpu_ids = own.place(_GPUS), own.place(_OFFERS), set(gpus)
    check_ids(own.gpus, gpu_file)
    _spelled_apart(((row["id"], gpu_file, f"[{row['id']}].id") for row in own.gpus), gpu_ids)
    _spelled_apart(((name, own.place(f"{MODELS}/{name}.yaml"), "id") for name in own.models), models)
    for row in own.gpus:
        check_gpu(row, gpu_file, engines)
    seen: set[tuple[Any, ...]] = set()
    for position, row in enumerate(own.offers):
        check_offer(row, offer_file, f"[{position}]", gpu_ids)
        if _identity(row) in seen:
            raise CatalogError(offer_file, f"[{position}]", f"repeats an offer: {', '.join(_IDENTITY)}")
        seen.add(_identity(row))
    for name, row in own.models.items():
        check_model(row, own.place(f"{MODELS}/{name}.yaml"), engines, formats)


def _models(files: Mapping[str, bytes], folder: str) -> dict[str, Row]:
    schema, found = ModelSchema(), {}
    for file, content in files.items():
        if file.startswith(f"{MODELS}/"):
            place = f"{folder}/{file}"
            row = validated(schema, read_yaml(content, place), place)
            if row["id"] != PurePosixPath(file).stem:
                raise CatalogError(place, "id", "must be the name of the file")
            found[row["id"]] = {**row, **_MARK}
    return found


def _rows(files: Mapping[str, bytes], file: str, schema: GpuSchema | OfferSchema, folder: str) -> list[Row]:
    if file not in files:
        return []
    place = f"{folder}/{file}"
    return [{**row, **_MARK} for row in rows(schema, read_yaml(files[file], place), place)]


def _identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in _IDENTITY)


def _spelled_apart(own: Iterable[tuple[str, str, str]], known: Iterable[str]) -> None:
    """Two ids that are one spelling to `Names` would hide each other."""
    spelled: dict[str, set[str]] = {}
    for name in known:
        spelled.setdefault(key(name), set()).add(name)
    for name, file, place in own:
        others = spelled[key(name)] - {name}
        if others:
            raise CatalogError(file, place, f"is spelled like {min(others)!r}")
