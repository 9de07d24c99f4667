"""The compute buffer of a device: masks and the widest stage, or the logits."""

from service.core.derivation.expressions import Expression, largest
from service.core.derivation.facts import config, rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.llama_cpp.compute import values_per_token, window_mask_cells
from service.core.engines.llama_cpp.explain.layers import LayerSteps
from service.core.engines.llama_cpp.load import PIPELINE_COPIES, Group, Load
from service.core.engines.llama_cpp.pool import Pool
from service.core.evidence import Evidence
from service.core.scenario import Scenario

_F32, _F16 = 4, 2
_MASK = rule("llama.cpp src/llama-graph.cpp: attention mask, f16 with flash attention")
_GRAPH = rule(
    "llama.cpp llama-fit-params on this model or its kind: f32 values a token at the widest stage",
    Evidence.CALIBRATED,
)
_COPIES = rule("llama.cpp ggml/src/ggml-backend.cpp GGML_SCHED_MAX_COPIES")
_STAGING = rule("largest tensor on the host, copied in for long batches (op_offload)")
_SERVER = rule("llama-server: logits of one token a sequence and draft token")


class Buffers:
    """Steps for the compute buffers."""

    def __init__(self, trace: Trace, scenario: Scenario, load: Load, pool: Pool, layers: LayerSteps) -> None:
        self._trace, self._scenario, self._load, self._pool = trace, scenario, load, pool
        self._cells = layers.steps_of_cells

    def of(self, group: Group) -> Expression:
        """Bytes of the compute buffer on a device of the group."""
        batch = self._cells.micro_batch
        self._trace.about(Topic.BUFFERS)
        total = self._graph(batch, group.last, piped=self._load.pipelined)
        if self._load.staging:
            total += self._trace.given("staging", self._load.staging, Unit.BYTES, _STAGING)
        if group.last and self._load.drafting:
            total += self._graph(batch, last=True, piped=False)
        return total

    def _graph(self, batch: Expression, last: bool, *, piped: bool) -> Expression:
        """max(inputs + widest stage, logits)."""
        four = self._trace.given("f32_bytes", _F32, Unit.BYTES, rule("IEEE 754 binary32"))
        values = self._trace.given(
            "graph_values", values_per_token(self._load.graph, self._pool), Unit.ELEMENTS, _GRAPH
        )
        widest = self._trace.follows("widest_stage", four * batch * values // 1, Unit.BYTES, _GRAPH)
        tail = self._tail(batch, four, last=last)
        return largest(self._inputs(batch, four, piped=piped) + widest, tail)

    def _tail(self, batch: Expression, four: Expression, *, last: bool) -> Expression:
        """The last stage: logits where the device has the output, and hidden rows beside them."""
        rows = self._trace.given("logits_rows", self._load.graph.stages.logits, Unit.ELEMENTS, _GRAPH)
        if not last:
            return self._trace.follows("last_stage", four * batch * rows, Unit.BYTES, _SERVER)
        outputs = self._pool.sequences * (1 + self._load.drafts)
        tokens = self._trace.given("output_rows", outputs, Unit.TOKENS, _SERVER)
        model = self._scenario.model
        words = self._trace.given("vocabulary", model.architecture.vocabulary, Unit.ELEMENTS, config(model))
        tail = four * (tokens * words + batch * rows)
        return self._trace.follows("last_stage", tail, Unit.BYTES, _SERVER, title="last_stage_with_logits")

    def _inputs(self, batch: Expression, four: Expression, *, piped: bool) -> Expression:
        """Masks, several times and with hidden rows where devices work as a pipeline."""
        two = self._trace.given("mask_element_bytes", _F16, Unit.BYTES, _MASK)
        cells = self._cells.stream
        if window := window_mask_cells(self._load.graph, self._pool):
            cells += self._trace.given("window_mask_cells", window, Unit.TOKENS, _MASK)
        masks = self._trace.follows("mask_bytes", batch * two * cells, Unit.BYTES, _MASK)
        if not piped:
            return masks
        copies = self._trace.given("pipeline_copies", PIPELINE_COPIES, Unit.COUNT, _COPIES)
        model = self._scenario.model
        hidden = self._trace.given(
            "hidden_size", model.architecture.hidden_size, Unit.ELEMENTS, config(model)
        )
        return self._trace.follows(
            "inputs", masks * copies + copies * four * batch * hidden, Unit.BYTES, _COPIES
        )
