"""What the catalog knows of a posted config: the model that it is, and support by its class."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from service.core.architecture.model import Architecture
from service.core.catalogued import Model, Support
from service.core.notes import Note
from service.core.provenance import ProvidedBy


@dataclass(frozen=True, slots=True)
class Known:
    """Models of a catalog, and each one's config.json as it was published, by id.

    described: models that were recognised, with the remark that says so, by their names.
    """

    models: Sequence[Model]
    configs: Mapping[str, Mapping[str, Any]]
    described: dict[tuple[str, ...], Model] = field(default_factory=dict)

    def recognise(self, architecture: Architecture, config: Mapping[str, Any]) -> Model | None:
        """The catalog's model of this architecture, the oldest of several, with a remark that says so.

        None when there is none. The same object for the same model, so that what was computed for it is kept.
        """
        found = self._alike(architecture, config)
        names = tuple(model.name for model in found)
        if found and names not in self.described:
            remark = Note("config_recognised", {"models": list(names)})
            self.described[names] = replace(found[0], remarks=(*found[0].remarks, remark))
        return self.described.get(names)

    def _alike(self, architecture: Architecture, config: Mapping[str, Any]) -> tuple[Model, ...]:
        """Models of exactly this architecture; if any, only those whose every published field the config has.

        Repositories publish more fields than sizing needs, so a config may say more than the catalog's.
        """
        if architecture.generic:
            return ()
        found = [model for model in self.models if _same(model.architecture, architecture)]
        exact = [model for model in found if _within(self.configs[model.id], config)]
        return tuple(sorted(exact or found, key=_release))

    def support(self, engine_class: str) -> dict[str, Support]:
        """Engine -> support of the class, where all models of the class agree on it."""
        return _of_kin([model for model in self.models if model.architecture.engine_class == engine_class])

    def gguf_support(self, architecture: str) -> dict[str, Support]:
        """Engine -> support by the models that llama.cpp knows under this architecture."""
        if not architecture:
            return {}
        return _of_kin([m for m in self.models if m.architecture.gguf_architecture == architecture])


def _of_kin(kin: Sequence[Model]) -> dict[str, Support]:
    engines = dict.fromkeys(engine for model in kin for engine in model.support)
    agreed = {engine: _agreed(model.support.get(engine) for model in kin) for engine in engines}
    return {engine: support for engine, support in agreed.items() if support is not None}


def _release(model: Model) -> tuple[bool, str]:
    """The service's own facts first, then the oldest: later models were trained further from it.

    An unknown date is last.
    """
    return model.provided_by is ProvidedBy.OPERATOR, model.released or "~"


def _same(known: Architecture, posted: Architecture) -> bool:
    # The cheap comparisons first: a layer holds dozens of tensors.
    if (known.engine_class, known.hidden_size, known.vocabulary) != (
        posted.engine_class,
        posted.hidden_size,
        posted.vocabulary,
    ):
        return False
    return len(known.layers) == len(posted.layers) and known == posted


def _within(part: object, whole: object) -> bool:
    """Whether everything that `part` says stands in `whole` too."""
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(
            name in whole and _within(value, whole[name]) for name, value in part.items()
        )
    if isinstance(part, list | tuple):
        return isinstance(whole, list | tuple) and len(part) == len(whole) and all(map(_within, part, whole))
    return part == whole


def _agreed(given: Iterable[Support | None]) -> Support | None:
    stated = list(given)
    first = stated[0]
    if first is None or any(other is None or other.status != first.status for other in stated):
        return None
    since = {other.since for other in stated if other}
    return Support(first.status, since.pop() if len(since) == 1 else None)
