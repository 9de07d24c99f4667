"""Every engine by its id, preferred first; a new engine is one module here that exports `ENGINE`."""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from service.core.engines.base import Engine


def _load() -> dict[str, Engine]:
    """The engine of every module that exports one."""
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    engines: list[Engine] = [module.ENGINE for module in modules if hasattr(module, "ENGINE")]
    return {engine.id: engine for engine in sorted(engines, key=lambda engine: engine.preference)}


ENGINES: Mapping[str, Engine] = MappingProxyType(_load())
