"""The one route from a published config.json to an Architecture."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from service.core.architecture import families
from service.core.architecture.config import Config
from service.core.architecture.model import Architecture
from service.errors import UnsupportedArchitecture

Parser = Callable[[Config], Architecture]


def _load() -> dict[str, Parser]:
    """Every family module names the engine classes it parses in `PARSERS`."""
    parsers: dict[str, Parser] = {}
    for module in iter_modules(families.__path__):
        if not module.name.startswith("_"):
            parsers |= import_module(f"{families.__name__}.{module.name}").PARSERS
    return parsers


_PARSERS = _load()


def known_classes() -> tuple[str, ...]:
    """Engine classes that have a parser, sorted."""
    return tuple(sorted(_PARSERS))


def parse(published: Mapping[str, Any]) -> Architecture:
    """The architecture that a published config.json describes.

    Raises UnsupportedArchitecture for a class without a parser or a config that lacks needed fields.
    """
    config = Config(published)
    parser = _PARSERS.get(config.engine_class)
    if parser is None:
        raise UnsupportedArchitecture(config.engine_class or config.model_type)
    try:
        return parser(config)
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        # A field of the wrong kind where no parser looked for it: the config is at fault, not the service.
        raise UnsupportedArchitecture(config.engine_class) from error
