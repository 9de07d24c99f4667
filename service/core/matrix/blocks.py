"""What a model is in a matrix, kept from one question to the next: a scenario for all that plans alike."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from service.core.catalogued import Model
from service.core.engines import ENGINES
from service.core.engines.base import Engine
from service.core.engines.sheets import Case, as_sheets
from service.core.identity import Same
from service.core.matrix.batches import Row, Settings
from service.core.matrix.fleets import Group
from service.core.matrix.groups import Grouping, forget_groupings
from service.core.request import Request
from service.core.resolve import loads, resolve
from service.core.scenario import Scenario
from service.errors import InvalidParameters, ParameterError

Formats = tuple[str | None, ...]
Errors = tuple[ParameterError, ...]
# A model in the formats and with the settings of one question; a few kilobytes each.
_MOST = 512


@dataclass(frozen=True, slots=True)
class Block:
    """Formats of a model on accelerators that are peers, for an engine that takes arrays."""

    case: Case
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Blocks:
    """A model: its blocks, the groups and formats of engines that plan cell by cell, and what is wrong."""

    blocks: tuple[Block, ...]
    others: tuple[tuple[Group, tuple[int, ...]], ...]
    errors: tuple[Errors, ...]


def blocks_of(model: Model, grouping: Grouping, formats: Formats, settings: Settings) -> Blocks:
    """The model in these formats; tokens of contexts, prompts and outputs play no part.

    Of catalog models, what was asked for last is remembered.
    """
    find = _known if model.catalogued else _found
    return find(Same(model), grouping, formats, settings)


def _found(key: Same, grouping: Grouping, formats: Formats, settings: Settings) -> Blocks:
    model = cast(Model, key.objects[0])
    errors: list[Errors] = []
    by_group: dict[Group, list[int]] = defaultdict(list)
    for column, quantization in enumerate(formats):
        groups, refused = grouping.choose(model, quantization)
        errors += (error.errors for error in refused)
        for group in groups:
            by_group[group].append(column)
    blocks: list[Block] = []
    others = []
    for group, columns in by_group.items():
        if as_sheets(ENGINES[group.engine]):
            blocks += _alike(model, group, columns, formats, settings, errors)
        else:
            others.append((group, tuple(columns)))
    return Blocks(tuple(blocks), tuple(others), tuple(errors))


_known = lru_cache(maxsize=_MOST)(_found)


def forget_questions() -> None:
    """Let go of the models and accelerators that were asked about, of which a new catalog has none."""
    _known.cache_clear()
    forget_groupings()


def _alike(
    model: Model,
    group: Group,
    columns: Sequence[int],
    formats: Formats,
    settings: Settings,
    errors: list[Errors],
) -> Iterator[Block]:
    """Formats by what else they decide: with whole layers nothing, else the layout may follow from it."""
    engine = ENGINES[group.engine]
    found: dict[Any, tuple[Scenario, list[int]]] = {}
    for column in columns:
        known = found.get(None) if engine.splits_layers else None
        if known is not None and loads(engine, model.architecture, format_name(formats[column], engine)):
            known[1].append(column)
            continue
        scenario = resolved(model, group, formats[column], dict(settings), errors)
        if scenario is not None:
            key = None if engine.splits_layers else scenario.layout
            found.setdefault(key, (scenario, []))[1].append(column)
    for scenario, alike in found.values():
        names = tuple(format_name(formats[column], engine) for column in alike)
        rows = tuple(Row(*named, group, scenario) for named in zip(alike, names, strict=True))
        yield Block(Case(scenario, names), rows)


def format_name(quantization: str | None, engine: Engine) -> str:
    """The format that is meant, the engine's own where none is named."""
    return quantization or engine.default_format


def resolved(
    model: Model, group: Group, quantization: str | None, values: dict[str, Any], errors: list[Errors]
) -> Scenario | None:
    """The scenario on the first accelerator of a group; None, with what is wrong, where there is none."""
    request = Request(
        model=model, gpu=group.members[0].gpu, engine=group.engine, quantization=quantization, **values
    )
    try:
        return resolve(request)
    except InvalidParameters as error:
        errors.append(error.errors)
        return None
