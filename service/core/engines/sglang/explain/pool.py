"""The token pool of a rank: whole pages of every sequence at the cell's bytes."""

from service.core.derivation.expressions import Expression, ceil_div, largest, pad, smallest
from service.core.derivation.facts import rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.sglang.deployment import Deployment, Loaded
from service.core.engines.sglang.explain.cells import Cells
from service.core.scenario import Scenario

POOLS = rule("SGLang 0.5.23 srt/model_executor/pool_configurator.py")
_PAGE = rule("SGLang 0.5.23 page size of the attention backend or the index")
_RATIO = rule("SGLang 0.5.23 --swa-full-tokens-ratio")


class Pools:
    """Steps of the token pools."""

    def __init__(self, trace: Trace, scenario: Scenario, server: Deployment) -> None:
        self._trace, self._scenario, self._server = trace, scenario, server

    @property
    def page(self) -> Expression:
        """Tokens of a page."""
        self._trace.about(Topic.CACHE)
        return self._trace.given("page_tokens", self._server.flags.page, Unit.TOKENS, _PAGE)

    def token(self, stage: Loaded, layers: range) -> Expression:
        """Bytes of a token with the windows' share."""
        sizer = stage.sizer
        self._trace.about(Topic.CACHE)
        cells = Cells(self._trace, self._scenario, self._server.flags, layers)
        found = cells.full(sizer.full_token)
        if not sizer.window_ratio:
            return found
        ratio = self._trace.given("window_ratio", sizer.window_ratio, Unit.RATIO, _RATIO)
        total = found + ratio * cells.windows(sizer.window_token)
        return self._trace.follows("cell_bytes", total, Unit.BYTES, POOLS, figure=sizer.token_bytes)

    def reserved(self, stage: Loaded, layers: range) -> Expression:
        """Bytes of the tokens that the sequences need."""
        context, each = self._scenario.context_tokens, sequences_of_worker(self._scenario)
        figure = self._server.tokens_needed(context, each)
        token = self.token(stage, layers)
        tokens = self._trace.follows("pool_tokens", self._tokens(stage), Unit.TOKENS, POOLS, figure=figure)
        total = tokens * token
        if stage.sizer.reserved:
            pages = sum(part.bytes(figure, stage.sizer.page) for part in stage.sizer.reserved)
            total += self._trace.given("reserved_pages", pages, Unit.BYTES, POOLS)
        if isinstance(total.value, float):
            total = ceil_div(total, 1)
        if stage.sizer.window_bytes:
            total += self._trace.given("windows_pool", stage.sizer.window_bytes, Unit.BYTES, POOLS)
        return total

    def _tokens(self, stage: Loaded) -> Expression:
        """Whole pages of every sequence, or what the windows' pool demands."""
        sizer, sequences = stage.sizer, self.sequences()
        context = self._trace.asked(self._scenario, "context_tokens", Unit.TOKENS)
        length = context
        if sizer.decode_context > 1:
            ways = self._trace.asked(
                self._scenario, "decode_context_parallel", Unit.WAYS, sizer.decode_context
            )
            length = ceil_div(context, ways)
        tokens = pad(length, self.page) * sequences
        if not sizer.window_ratio:
            return tokens
        window = self._trace.given("window", sizer.window, Unit.TOKENS, POOLS)
        ratio = self._trace.given("window_ratio", sizer.window_ratio, Unit.RATIO, _RATIO)
        floor = largest(sequences * (smallest(context, window) + self.page), window + self.page + 1)
        windows = self._trace.follows("window_tokens", floor, Unit.TOKENS, POOLS)
        return largest(tokens, pad(windows / ratio // 1, self.page))

    def sequences(self) -> Expression:
        """Sequences of one attention data-parallel worker."""
        return worker_sequences(self._trace, self._scenario)


def sequences_of_worker(scenario: Scenario) -> int:
    """Sequences that the busiest worker runs."""
    return -(-scenario.concurrent_sequences // scenario.layout.data)


def worker_sequences(trace: Trace, scenario: Scenario) -> Expression:
    """The same as a step."""
    sequences = trace.asked(scenario, "concurrent_sequences", Unit.SEQUENCES)
    if scenario.layout.data == 1:
        return sequences
    data = trace.asked(scenario, "data_parallel", Unit.WAYS, scenario.layout.data)
    trace.about(Topic.CACHE)
    return trace.follows("sequences_of_replica", ceil_div(sequences, data), Unit.SEQUENCES, POOLS)
