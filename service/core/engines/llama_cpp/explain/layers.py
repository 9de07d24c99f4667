"""Cache and state of the layers on the devices, and of one sequence."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import lcm

from service.core.architecture.caches import CompressedCache, KeyValueCache, Reach
from service.core.architecture.model import Layer
from service.core.derivation.expressions import Expression, add, ceil_div
from service.core.derivation.facts import config, rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.llama_cpp.cache import layer_cache_bytes
from service.core.engines.llama_cpp.explain.cells import Cells
from service.core.engines.llama_cpp.explain.rows import Rows
from service.core.engines.llama_cpp.explain.states import state_of_layer
from service.core.engines.llama_cpp.index import tokens_per_row
from service.core.engines.llama_cpp.layers import Counts, sort_kinds
from service.core.engines.llama_cpp.load import Load
from service.core.engines.llama_cpp.pool import Pool
from service.core.engines.llama_cpp.state import layer_state_bytes
from service.core.scenario import Scenario
from service.core.sizing import Sourced

_CACHE = rule("llama.cpp src/llama-kv-cache.cpp")
_STATE = rule("llama.cpp src/llama-memory-recurrent.cpp")
_LAYERS = rule("layers by kind, from config.json")

Counted = tuple[tuple[int, Expression], ...]


@dataclass(frozen=True, slots=True)
class KindSteps:
    """One kind of layer: its cache and state on a device, and what a token and a sequence add.

    growth: bytes of a row and the tokens that it stands for. window: bytes of one stream that do not grow.
    sequence_state: bytes of one sequence.
    """

    cache: Expression | None
    state: Expression | None
    sequence_state: Expression | None
    growth: tuple[tuple[Expression, int], ...]
    window: Expression | None


class LayerSteps:
    """Steps for every kind of layer of a load."""

    def __init__(
        self, trace: Trace, scenario: Scenario, load: Load, pool: Pool, batch: Sourced | None = None
    ) -> None:
        self._trace, self._load, self._pool = trace, load, pool
        self._config = config(scenario.model)
        self._layers = scenario.model.architecture.layers
        self._cells = Cells(trace, scenario, pool, batch)
        self._rows = Rows(trace, self._config, pool)
        self._whole = self._count_whole()
        self._kinds = tuple(self._kind(layer) for layer in load.kinds)

    @property
    def cells(self) -> Expression:
        """Cells of all streams."""
        return self._cells.all

    @property
    def steps_of_cells(self) -> Cells:
        """Steps of the pool."""
        return self._cells

    def counts(self, layers: Counts, number: int) -> Counted:
        """How many layers of each kind a device holds."""
        return tuple((kind, self._count(kind, count, number + 1)) for kind, count in layers)

    def host_counts(self) -> Counted:
        """How many layers of each kind are on the host."""
        self._trace.about(Topic.INPUTS)
        return tuple(
            (kind, self._trace.given("layers_on_host", n, Unit.LAYERS, _LAYERS, layer_kind=self._name(kind)))
            for kind, n in self._load.host
        )

    def cache(self, counts: Counted) -> Expression:
        """Bytes of the caches of these layers."""
        return add(count * cost for kind, count in counts if (cost := self._kinds[kind].cache) is not None)

    def state(self, counts: Counted) -> Expression:
        """Bytes of the states of these layers."""
        return add(count * cost for kind, count in counts if (cost := self._kinds[kind].state) is not None)

    def per_sequence(self) -> Mapping[str, Expression]:
        """What a token and a sequence add, before any split."""
        known = [(self._kinds[kind], count) for kind, count in self._whole]
        growing = [(row, per, count) for steps, count in known for row, per in steps.growth]
        common = lcm(*(per for _, per, _ in growing))
        grown = add(
            count * row if per == common else count * row * (common // per) for row, per, count in growing
        )
        windows = add(count * steps.window for steps, count in known if steps.window is not None)
        states = (count * steps.sequence_state for steps, count in known if steps.sequence_state is not None)
        return {
            "kv_bytes_per_token": ceil_div(grown, common) if common > 1 else grown,
            "kv_window_bytes_per_sequence": windows,
            "state_bytes_per_sequence": add(states),
        }

    def _count_whole(self) -> Counted:
        """Layers of the model by kind, as the load numbers the kinds."""
        examples, numbers = sort_kinds(self._layers)
        assert examples == self._load.kinds[: len(examples)]
        return tuple((kind, self._count(kind, n, 0)) for kind, n in sorted(Counter(numbers).items()))

    def _count(self, kind: int, count: int, number: int) -> Expression:
        """The number of layers, as the model's own where a device holds them all."""
        self._trace.about(Topic.INPUTS)
        whole = dict(self._whole).get(kind) if number else None
        if whole is not None and whole.value == count:
            return whole
        name = self._name(kind)
        if not number:
            return self._trace.given("layers", count, Unit.LAYERS, _LAYERS, layer_kind=name)
        return self._trace.given("layers_on_gpu", count, Unit.LAYERS, _LAYERS, layer_kind=name, number=number)

    def _name(self, kind: int) -> str:
        return str(self._load.kinds[kind].kind)

    def _kind(self, layer: Layer) -> KindSteps:
        row, index = self._rows.main(layer), self._rows.index(layer)
        self._trace.about(Topic.CACHE)
        # Cells with the rows that they hold, and tokens with the rows that stand for so many.
        parts: dict[Expression, list[Expression]] = {}
        growth: dict[int, list[Expression]] = {}
        if row is not None:
            parts.setdefault(self._cells.of_cache(layer), []).append(row)
            for tokens in _tokens_of_row(layer):
                growth.setdefault(tokens, []).append(row)
        if index is not None:
            parts.setdefault(self._cells.of_index(layer), []).append(index)
            growth.setdefault(tokens_per_row(layer), []).append(index)
        figure = layer_cache_bytes(layer, self._pool)
        cache = None
        if parts:
            name = str(layer.kind)
            cache = self._trace.follows(
                "kv_layer",
                add(cells * add(rows) for cells, rows in parts.items()),
                Unit.BYTES,
                _CACHE,
                figure=figure,
                layer_kind=name,
            )
        one = state_of_layer(self._trace, self._config, layer)
        return KindSteps(
            cache,
            self._state(layer, one),
            one,
            tuple((add(rows), tokens) for tokens, rows in growth.items()),
            None if row is None else self._window(layer, row),
        )

    def _window(self, layer: Layer, row: Expression) -> Expression | None:
        """Bytes of one stream of what does not grow."""
        match layer.cache:
            case KeyValueCache(reach=Reach.SLIDING | Reach.CHUNKED, window=int() as tokens):
                return self._cells.of_window(tokens) * row
            case CompressedCache(window=tokens):
                return self._cells.of_window(tokens) * row
        return None

    def _state(self, layer: Layer, one: Expression | None) -> Expression | None:
        """State of all sequences, with the copies that speculation can return to."""
        figure = layer_state_bytes(layer, self._pool.sequences, self._pool.rollback)
        if one is None or not figure:
            return None
        self._trace.about(Topic.STATE)
        total = one * self._cells.sequences
        if self._pool.rollback:
            total *= self._cells.copies()
        return self._trace.follows(
            "state_layer", total, Unit.BYTES, _STATE, figure=figure, layer_kind=str(layer.kind)
        )


def _tokens_of_row(layer: Layer) -> Iterable[int]:
    """Tokens that a row of a growing cache stands for; nothing for one that does not grow."""
    match layer.cache:
        case KeyValueCache(reach=Reach.SLIDING | Reach.CHUNKED):
            return ()
        case CompressedCache(owner=owner, ratio=ratio):
            return (ratio,) if owner and ratio else ()
    return (1,)
