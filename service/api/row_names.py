"""The models and accelerators that the rows of one body name; looking for similar names is what costs."""

from collections.abc import Mapping
from typing import Any

from service.catalog import Catalog
from service.catalog.names import Names
from service.errors import ParameterError

MOST_SUGGESTED = 20  # names of a body for which similar ones are looked for, each once


class RowNames:
    """Finds entries by name, and remembers for the body which wrong names it has looked at."""

    def __init__(self, catalog: Catalog) -> None:
        self._entries: Mapping[str, tuple[Names, Mapping[str, Any]]] = {
            "model": (catalog.model_names, catalog.models),
            "gpu": (catalog.gpu_names, catalog.gpus),
        }
        self._suggested: dict[tuple[str, str], tuple[str, ...]] = {}

    def find(self, field: str, name: str) -> Any:
        """The entry of the catalog that a row's `model` or `gpu` names; None for an unknown name."""
        names, entries = self._entries[field]
        found = names.find(name)
        return None if found is None else entries[found]

    def fault(self, field: str, name: str) -> ParameterError:
        """What is wrong with an unknown name, with similar ones for the first `MOST_SUGGESTED` of a body."""
        asked = (field, name)
        if asked not in self._suggested and len(self._suggested) < MOST_SUGGESTED:
            self._suggested[asked] = self._entries[field][0].suggest(name)
        similar = self._suggested.get(asked, ())
        values = {"suggestion": similar[0]} if similar else {}
        return ParameterError(field, "unknown_name", similar, values)
