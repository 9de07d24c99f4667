"""The one route from a published config.json to an Architecture."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from service.core.architecture import families
from service.core.architecture.config import Config
from service.core.architecture.declared import with_declarations
from service.core.architecture.field_names import language_model
from service.core.architecture.generic import parse_generic
from service.core.architecture.model import Architecture
from service.core.architecture.siblings import as_sibling
from service.core.architecture.unread import remarks
from service.core.notes import Note
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
    return _guarded(parser, config)


def parse_any(published: Mapping[str, Any]) -> Architecture:
    """As `parse`, and what can be known of a class without a parser: by its siblings, else by usual names.

    Such an architecture is `generic`, and its remarks say how it was read and what was not understood.
    Raises UnsupportedArchitecture that names what is missing.
    """
    config = Config(published)
    if config.engine_class in _PARSERS:
        return parse(published)
    sibling = as_sibling(language_model(config), _PARSERS)
    return _guarded(parse_generic, config) if sibling is None else _read_as(sibling, config)


def _guarded(parser: Parser, config: Config) -> Architecture:
    try:
        return with_declarations(parser(config), config)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        # A field of the wrong kind where no parser looked for it: the config is at fault, not the service.
        raise UnsupportedArchitecture(config.engine_class or config.model_type) from error


def _read_as(sibling: Config, config: Config) -> Architecture:
    """The sibling's layers under the config's own class, with what stands beside the language model."""
    architecture = _guarded(_PARSERS[sibling.engine_class], sibling)
    name = config.engine_class
    if not name:
        return architecture
    beside = {key: value for key, value in config.published.items() if key not in sibling.text}
    said = Note("architecture_read_as", {"architecture": name, "read_as": sibling.engine_class})
    beside_it = remarks(Config(beside), {})
    read = replace(architecture, engine_class=name, generic=True, remarks=(said, *beside_it))
    return with_declarations(read, config)
