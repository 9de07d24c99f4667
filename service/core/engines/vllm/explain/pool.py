"""The block pool of a rank: pages, groups, bytes of a block, blocks of a sequence."""

from service.core.derivation.expressions import Expression, add, ceil_div, largest, lift, pad, smallest
from service.core.derivation.facts import rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.vllm.blocks import block_size
from service.core.engines.vllm.explain.entries import EntrySteps
from service.core.engines.vllm.groups import Group
from service.core.engines.vllm.layers import Holdings, shared_entries, spec_counts
from service.core.engines.vllm.pool import plan_pool
from service.core.engines.vllm.specs import CacheConfig, Spec, SpecKind
from service.core.scenario import Scenario

_PLANNER = rule("vLLM 0.33.0 v1/core/kv_cache_planning.py")
BLOCK = rule("vLLM 0.33.0 platforms/interface.py: block size of the attention backends")
_ALIGNED = rule("vLLM 0.33.0 platforms/interface.py _align_hybrid_block_size: page that states are padded to")
SPECS = rule("vLLM 0.33.0 v1/kv_cache_interface.py")
_FLIGHT = rule("vLLM 0.33.0 config/vllm.py max_in_flight_tokens: batched tokens x (pipeline stages + 1)")


class Pool:
    """Steps of the pool of a rank that holds `held` of the layers `whole`."""

    def __init__(
        self, trace: Trace, scenario: Scenario, config: CacheConfig, whole: Holdings, held: Holdings
    ) -> None:
        self._trace, self._scenario, self._config = trace, scenario, config
        self._entries = EntrySteps(trace, scenario, config, held)
        self._block = block_size(whole, config)
        self.grouping, self.demand = plan_pool(whole, held, config)
        shared = shared_entries(whole)
        self.specs = spec_counts(held, config, self._block.tokens, self._block.page_bytes, shared)
        self.block_bytes = self._bytes_per_block()

    def entry(self, spec: Spec) -> Expression:
        """Bytes of one entry of a layer."""
        return self._entries.entry(spec.entry_bytes)

    def layers(self, count: int) -> Expression:
        """How many layers are alike."""
        self._trace.about(Topic.CACHE)
        return self._trace.given("layers_alike", count, Unit.LAYERS, SPECS)

    def reserved(self, constant: bool | None) -> Expression:
        """Bytes that all sequences of a rank reserve: one is admitted, the others decode.

        constant: only the blocks of states (True) or of attention (False).
        """
        takers = [t for t in self.demand.takers if constant is None or t[0].constant is constant]
        admitted = add(self.groups(n) * self._blocks(spec, admitted=True) for spec, n in takers)
        if not admitted.inputs:
            return lift(0)
        others = add(self.groups(n) * self._blocks(spec, admitted=False) for spec, n in takers)
        first = self._trace.follows("admission_blocks", admitted, Unit.BLOCKS, _PLANNER)
        steady = self._trace.follows("steady_blocks", others, Unit.BLOCKS, _PLANNER)
        return self.block_bytes * (first + (self.each - 1) * steady)

    def admission(self) -> Expression:
        """Blocks that admit one sequence."""
        blocks = add(self.groups(n) * self._blocks(spec, admitted=True) for spec, n in self.demand.takers)
        return self._trace.follows("admission_blocks", blocks, Unit.BLOCKS, _PLANNER)

    @property
    def each(self) -> Expression:
        """Sequences of one replica."""
        sequences = self._trace.asked(self._scenario, "concurrent_sequences", Unit.SEQUENCES)
        replicas = self._scenario.layout.data
        if replicas == 1:
            return sequences
        data = self._trace.asked(self._scenario, "data_parallel", Unit.WAYS, replicas)
        self._trace.about(Topic.CACHE)
        return self._trace.follows(
            "sequences_of_replica", ceil_div(sequences, data), Unit.SEQUENCES, _PLANNER
        )

    def groups(self, count: int) -> Expression:
        """How many groups take blocks alike."""
        self._trace.about(Topic.CACHE)
        return self._trace.given("groups_alike", count, Unit.COUNT, _PLANNER)

    def page(self, spec: Spec) -> Expression:
        """Bytes of one block of one layer."""
        entry = self.entry(spec)
        if spec.padded:
            aligned = self._trace.given("aligned_page", spec.padded, Unit.BYTES, _ALIGNED)
            formula = largest(entry, aligned)
        elif spec.kind in (SpecKind.STATE, SpecKind.RING):
            return entry
        else:
            tokens = self._trace.given("block_tokens", spec.block, Unit.TOKENS, BLOCK)
            rows = tokens
            if spec.tokens_per_entry > 1:
                rows = tokens // self._trace.given(
                    "tokens_per_entry", spec.tokens_per_entry, Unit.TOKENS, SPECS
                )
            formula = rows * entry
            if spec.alignment > 1:
                formula = pad(formula, self._trace.given("page_alignment", spec.alignment, Unit.BYTES, SPECS))
        return self._trace.follows("page_bytes", formula, Unit.BYTES, SPECS, figure=spec.page)

    def _bytes_per_block(self) -> Expression:
        groups = [self._group(group) for group in dict.fromkeys(self.grouping.groups)]
        self._trace.about(Topic.CACHE)
        figure = self.grouping.bytes_per_block
        formula = largest(*groups) if groups else None
        return self._trace.follows(
            "block_bytes", formula, Unit.BYTES, _PLANNER, figure=figure, title="pool_block_bytes"
        )

    def _group(self, group: Group) -> Expression:
        """Layers that take a block together; where they are of several kinds, their pages add."""
        page, layers = self.page(group.spec), self.layers(group.layers)
        formula = layers * page
        if formula.value != group.bytes and len(self.grouping.groups) == 1:
            formula = add(self.layers(count) * self.page(spec) for spec, count in self.specs)
        return self._trace.follows("group_bytes", formula, Unit.BYTES, _PLANNER, figure=group.bytes)

    def _blocks(self, spec: Spec, *, admitted: bool) -> Expression:
        """Blocks that a sequence takes in one group; `admitted` counts the tokens in flight too."""
        context = self._trace.asked(self._scenario, "context_tokens", Unit.TOKENS)
        self._trace.about(Topic.CACHE)
        if spec.kind in (SpecKind.STATE, SpecKind.RING):
            return self._trace.given("state_blocks", spec.slots, Unit.BLOCKS, SPECS)
        block = self._trace.given("block_tokens", spec.block, Unit.TOKENS, BLOCK)
        if spec.kind is SpecKind.FULL:
            return ceil_div(self._local(context), block)
        reach = self._trace.given("window", spec.window, Unit.TOKENS, SPECS)
        if spec.kind is SpecKind.SLIDING:
            reach = reach - 1
            if self._config.extra_window:
                reach += self._trace.given("draft_window", self._config.extra_window, Unit.TOKENS, SPECS)
        if admitted:
            reach += self._trace.given(
                "in_flight_tokens", self._config.in_flight_tokens, Unit.TOKENS, _FLIGHT
            )
        blocks = ceil_div(smallest(reach, context), block)
        return blocks + 1 if spec.kind is SpecKind.SLIDING else blocks

    def _local(self, context: Expression) -> Expression:
        """Tokens of the context on a rank under decode context parallelism."""
        degree = self._config.decode_context
        if degree == 1:
            return context
        ways = self._trace.asked(self._scenario, "decode_context_parallel", Unit.WAYS, degree)
        return ceil_div(context, ways)
