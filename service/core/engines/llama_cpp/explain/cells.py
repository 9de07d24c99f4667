"""Cells of the pool: of a stream, of a window, of compressed and index rows."""

from service.core.architecture.caches import CompressedCache, IndexScheme, KeyValueCache, Reach
from service.core.architecture.model import Layer
from service.core.derivation.expressions import Expression, ceil_div, pad, smallest
from service.core.derivation.facts import config, rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.llama_cpp.index import tokens_per_row
from service.core.engines.llama_cpp.pool import CELL_MULTIPLE, Pool
from service.core.scenario import Scenario
from service.core.sizing import Sourced

_CONTEXT = rule("llama.cpp src/llama-context.cpp: n_ctx and n_ctx_seq, padded to 256")
_WINDOW = rule("llama.cpp src/llama-kv-cache-iswa.cpp: window and one micro-batch, padded to 256")
_COMPRESSED = rule("llama.cpp src/llama-kv-cache-dsv4.cpp")
_ROLLBACK = rule("llama.cpp common/common.h need_n_rs_seq: a copy for each draft token")


class Cells:
    """Steps of one pool; `all` are the cells of every stream.

    batch: whose choice the batch is, where nobody asked for it.
    """

    def __init__(self, trace: Trace, scenario: Scenario, pool: Pool, batch: Sourced | None = None) -> None:
        self._trace, self._pool = trace, pool
        self._config = config(scenario.model)
        trace.about(Topic.CACHE)
        self.sequences = trace.asked(scenario, "concurrent_sequences", Unit.SEQUENCES)
        context = trace.asked(scenario, "context_tokens", Unit.TOKENS)
        self._batch = (
            trace.asked(scenario, "max_batched_tokens", Unit.TOKENS)
            if batch is None
            else trace.given("engine_batch", scenario.max_batched_tokens, Unit.TOKENS, batch)
        )
        self._multiple = trace.given("cell_multiple", CELL_MULTIPLE, Unit.TOKENS, _CONTEXT)
        total = pad(context * self.sequences, self._multiple)
        self.stream = trace.follows(
            "stream_cells",
            pad(total // self.sequences, self._multiple),
            Unit.TOKENS,
            _CONTEXT,
            figure=pool.stream_cells,
        )
        self.all = trace.follows(
            "cells", self.stream * self.sequences, Unit.TOKENS, _CONTEXT, figure=pool.cells
        )

    @property
    def micro_batch(self) -> Expression:
        """Tokens of one graph."""
        self._trace.about(Topic.CACHE)
        wanted = smallest(self._batch, self.all)
        return self._trace.follows(
            "micro_batch", wanted, Unit.TOKENS, _CONTEXT, figure=self._pool.micro_batch
        )

    def copies(self) -> Expression:
        """The state and what speculation can return to."""
        return self._trace.given("state_copies", 1 + self._pool.rollback, Unit.COUNT, _ROLLBACK)

    def of_window(self, window: int) -> Expression:
        """Cells that one stream keeps for a window of tokens."""
        batch = self.micro_batch
        self._trace.about(Topic.CACHE)
        tokens = self._trace.given("window", window, Unit.TOKENS, self._config)
        wanted = pad(smallest(self.stream, tokens + batch), self._multiple)
        return self._trace.follows(
            "window_cells",
            wanted,
            Unit.TOKENS,
            _WINDOW,
            figure=self._pool.window_cells(window),
            window=window,
        )

    def of_cache(self, layer: Layer) -> Expression:
        """Cells of a layer's cache over all streams."""
        match layer.cache:
            case KeyValueCache(reach=Reach.SLIDING | Reach.CHUNKED, window=int() as window):
                return self.of_window(window) * self.sequences
            case CompressedCache(window=window, ratio=ratio, owner=owner):
                cells = self.of_window(window)
                if ratio and owner:
                    cells += self._compressed(ratio)
                return cells * self.sequences
        return self.all

    def of_index(self, layer: Layer) -> Expression:
        """Cells of a layer's index over all streams."""
        per_row = tokens_per_row(layer)
        assert layer.index is not None
        if per_row == 1 and layer.index.scheme is not IndexScheme.COMPRESSED:
            return self.all
        return self._compressed(per_row) * self.sequences

    def _compressed(self, ratio: int) -> Expression:
        """Cells of one stream when a row stands for several tokens."""
        self._trace.about(Topic.CACHE)
        tokens = self._trace.given("tokens_per_row", ratio, Unit.TOKENS, self._config)
        wanted = pad(ceil_div(self.stream, tokens), self._multiple)
        return self._trace.follows("compressed_cells", wanted, Unit.TOKENS, _COMPRESSED, ratio=ratio)
