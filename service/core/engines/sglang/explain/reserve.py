"""The share for weights and pools, the reserve beside it, and what is taken from the reserve."""

from service.core.derivation.expressions import Expression, add, largest, lift, rounded
from service.core.derivation.facts import gpu_memory, rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.sglang.deployment import Deployment, Loaded
from service.core.engines.sglang.explain.pool import sequences_of_worker
from service.core.engines.sglang.fraction import graph_mib, vision_factor
from service.core.evidence import Evidence
from service.core.scenario import Scenario
from service.core.units import MIB

_FRACTION = rule("SGLang 0.5.23 srt/arg_groups/memory_hook.py handle_gpu_memory_settings")
_PROFILE = rule("SGLang 0.5.23 srt/mem_cache/kv_cache_configurator.py _profile_available_bytes")
_TABLE = rule("SGLang 0.5.23 srt/mem_cache/memory_pool.py ReqToTokenPool")
_ACTIVE = rule("activations of a prefill chunk, and CUDA graphs as SGLang reckons them", Evidence.ESTIMATE)
_RUNTIME = rule(
    "NVIDIA aiconfigurator 0.12.0 (runtime, NCCL); SGLang's multimodal cache and copies", Evidence.ESTIMATE
)
_STRANDED = rule("SGLang 0.5.23 --mamba-full-memory-ratio: states and tokens in a fixed proportion")
_UNEVEN = rule("SGLang 0.5.23 srt/mem_cache/kv_cache_configurator.py: the least free memory of all ranks")
_ENTRY, _MARGIN = 4, 4
_BASE, _PER_TOKEN, _LEAST_CHUNK, _PER_RANK = 512, 1.5, 2048, 128
_FLOOR_ABOVE_MIB, _FLOOR_MIB = 61_440, 10_240


class Reserve:
    """Steps of what lies beside weights and pools."""

    def __init__(self, trace: Trace, scenario: Scenario, server: Deployment) -> None:
        self._trace, self._scenario, self._server = trace, scenario, server

    def outside(self) -> Expression:
        """Activations, graphs, request table, and what a state slot keeps beside the budget."""
        context, each = self._scenario.context_tokens, sequences_of_worker(self._scenario)
        figure, transient = self._server.outside(context, each), self._server.transient
        graphs = int(self._graphs_mib() * MIB)
        self._trace.about(Topic.BUFFERS)
        parts = [
            self._trace.given("layer_activations", transient - graphs, Unit.BYTES, _ACTIVE),
            self._trace.given("cuda_graphs", graphs, Unit.BYTES, _ACTIVE),
        ]
        row = self._server.flags.context_tokens + _MARGIN + self._server.flags.draft_tokens
        rest = figure - transient
        if self._server.slot_outside:
            parts.append(self._trace.given("beside_slots", rest, Unit.BYTES, _TABLE))
        else:
            parts.append(self._table(rest, rest // (row * _ENTRY)))
        return add(parts)

    def _table(self, figure: int, rows: int) -> Expression:
        """Rows for all requests that are admitted and one more."""
        length = self._trace.asked(self._scenario, "context_tokens", Unit.TOKENS)
        drafts = self._server.flags.draft_tokens
        margin = self._trace.given("table_margin", _MARGIN + drafts, Unit.TOKENS, _TABLE)
        width = self._trace.given("table_entry_bytes", _ENTRY, Unit.BYTES, _TABLE)
        requests = self._trace.given("table_rows", rows, Unit.COUNT, _TABLE)
        table = requests * (length + margin) * width
        return self._trace.follows("request_table", table, Unit.BYTES, _TABLE, figure=figure)

    def overhead(self, stage: Loaded) -> Expression:
        """Runtime, multimodal cache and copies of loading, and what the pools' proportion strands."""
        self._trace.about(Topic.OVERHEAD)
        parts = [self._runtime()]
        if stage.beside:
            parts.append(
                self._trace.given("loaded_beside", stage.beside, Unit.BYTES, _RUNTIME, title="loaded_buffers")
            )
        each = sequences_of_worker(self._scenario)
        if lost := self._server.stranded(stage, self._scenario.context_tokens, each):
            parts.append(self._trace.given("stranded", lost, Unit.BYTES, _STRANDED))
        return add(parts)

    def static(self) -> Expression | None:
        """Bytes for weights and pools; None where the memory is not known."""
        if self._server.available is None:
            return None
        share = self._fraction()
        found = largest(0, self._available() - self._runtime()) * share // 1
        self._trace.about(Topic.FIT)
        return self._trace.follows("static_bytes", found, Unit.BYTES, _PROFILE, figure=self._server.static)

    def usable(self, static: Expression, outside: Expression) -> Expression:
        """The memory less the part of the reserve that nothing counted takes, and what stages leave idle."""
        available = self._available()
        if self._server.pinned is not None:
            return available
        left = available - self._runtime() - static
        self._trace.about(Topic.FIT)
        reserve = self._trace.follows("reserve", left, Unit.BYTES, _PROFILE, figure=self._server.reserve)
        usable = available - largest(0, reserve - outside)
        idle = self._server.uneven(self._scenario.context_tokens, sequences_of_worker(self._scenario))
        return usable - self._trace.given("uneven_stages", idle, Unit.BYTES, _UNEVEN) if idle else usable

    def _available(self) -> Expression:
        found = gpu_memory(self._trace, self._scenario.gpu)
        if not self._scenario.reserved_memory_bytes:
            return found
        return found - self._trace.asked(self._scenario, "reserved_memory_bytes", Unit.BYTES)

    def _runtime(self) -> Expression:
        self._trace.about(Topic.OVERHEAD)
        return self._trace.given("runtime", self._server.runtime, Unit.BYTES, _RUNTIME)

    def _graphs_mib(self) -> float:
        scenario = self._scenario
        return graph_mib(
            scenario.model.architecture,
            scenario.gpu,
            scenario.layout,
            scenario.max_batched_tokens,
            multimodal=scenario.vision,
        )

    def _fraction(self) -> Expression:
        """mem_fraction_static as it was asked for, or as SGLang computes it."""
        scenario, figure = self._scenario, self._server.fraction
        if "memory_utilization" not in scenario.defaulted:
            return self._trace.asked(scenario, "memory_utilization", Unit.RATIO, figure)
        self._trace.about(Topic.FIT)
        memory = gpu_memory(self._trace, scenario.gpu) // MIB
        total = self._trace.follows("memory_mib", memory, Unit.COUNT, _FRACTION)
        share = None
        if scenario.layout.data == 1:
            share = rounded((total - self._reserved_mib(total)) / total, 3)
            if scenario.vision:
                factor = vision_factor(scenario.model.architecture)
                share *= self._trace.given("vision_factor", factor, Unit.RATIO, _FRACTION)
        return self._trace.follows("mem_fraction_static", share, Unit.RATIO, _FRACTION, figure=figure)

    def _reserved_mib(self, total: Expression) -> Expression:
        """512 + 1.5 for each token of a chunk + 128 for each GPU + graphs, at least 10,240 on large GPUs."""
        layout = self._scenario.layout
        chunk = self._trace.asked(self._scenario, "max_batched_tokens", Unit.TOKENS)
        gpus = layout.tensor * layout.pipeline
        ranks = self._trace.given("ranks", gpus, Unit.GPUS, _FRACTION, title="ranks_of_server")
        graphs = self._trace.given("graphs_mib", self._graphs_mib(), Unit.COUNT, _FRACTION)
        needed = lift(_BASE) + lift(_PER_TOKEN) * largest(chunk, _LEAST_CHUNK) + lift(_PER_RANK) * ranks
        needed += graphs
        if total.value > _FLOOR_ABOVE_MIB:
            needed = largest(needed, _FLOOR_MIB)
        return self._trace.follows("reserve_mib", needed, Unit.COUNT, _FRACTION)
