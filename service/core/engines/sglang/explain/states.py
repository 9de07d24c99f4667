"""State slots: bytes of one, and how many the sequences hold."""

from collections import Counter

from service.core.architecture.caches import RecurrentState, StateKind
from service.core.derivation.expressions import Expression, add, lift
from service.core.derivation.facts import config, rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.sglang.deployment import Deployment, Loaded
from service.core.engines.sglang.explain.pool import sequences_of_worker, worker_sequences
from service.core.engines.sglang.states import slot_bytes
from service.core.scenario import Scenario

_SLOTS = rule("SGLang 0.5.23 srt/mem_cache/kv_cache_configurator.py _handle_max_mamba_cache")
_STATE = rule("SGLang 0.5.23 srt/configs/mamba_utils.py")
_LAYERS = rule("layers whose state is alike, from config.json")
_COMPRESSOR = rule("SGLang 0.5.23 srt/mem_cache/deepseek_v4_memory_pool.py")
_CONV_BYTES = 2
_WIDTHS = {"bfloat16": 2, "bf16": 2, "float16": 2, "fp16": 2}


class States:
    """Steps of the state slots of a rank."""

    def __init__(self, trace: Trace, scenario: Scenario, server: Deployment) -> None:
        self._trace, self._scenario, self._server = trace, scenario, server

    @property
    def slot(self) -> Expression:
        """One slot on a rank."""
        figure, parallel = self._server.states.slot, self._scenario.layout.tensor
        return state_slot(self._trace, self._scenario, parallel, figure)

    def reserved(self, stage: Loaded) -> Expression:
        """Slots that the sequences may hold and the padding one, or compressor states."""
        self._trace.about(Topic.STATE)
        total, pool = lift(0), self._server.states
        if stage.sizer.state_bytes:
            total = self._trace.given("compressor_states", stage.sizer.state_bytes, Unit.BYTES, _COMPRESSOR)
        if not pool.slot:
            return total
        sequences = worker_sequences(self._trace, self._scenario)
        self._trace.about(Topic.STATE)
        per = self._trace.given("slots_per_request", pool.per_request, Unit.COUNT, _SLOTS)
        slots = self._trace.follows("state_slots", sequences * per, Unit.COUNT, _SLOTS)
        held = sequences_of_worker(self._scenario) * pool.per_request
        total = total + self.slot * (slots + 1) if total.inputs else self.slot * (slots + 1)
        drafts = pool.bytes(held) - pool.slot * (held + 1)
        return total + self._trace.given("draft_states", drafts, Unit.BYTES, _SLOTS) if drafts else total


def state_slot(trace: Trace, scenario: Scenario, parallel: int, figure: int) -> Expression:
    """One slot: the states of all recurrent layers; a leaf where stages or groups make it another figure."""
    trace.about(Topic.STATE)
    layers = scenario.model.architecture.layers
    counted = Counter(
        state for layer in layers for state in layer.states if state.kind is not StateKind.LOOKUP_CONV
    )
    whole = slot_bytes(scenario.model.architecture, parallel, (range(len(layers)),)) == figure
    whole = whole and not any(state.groups % parallel for state in counted if state.groups)
    terms = []
    for state, count in counted.items() if whole else ():
        alike = trace.given("state_layers", count, Unit.LAYERS, _LAYERS, title="layers_alike")
        terms.append(alike * _copy(trace, scenario, state, parallel))
    return trace.follows("state_slot", add(terms), Unit.BYTES, _STATE, figure=figure)


def _copy(trace: Trace, scenario: Scenario, state: RecurrentState, parallel: int) -> Expression:
    """The state of one layer."""
    source, dtype = config(scenario.model), scenario.model.architecture.state_dtype

    def size(name: str, value: int, unit: Unit = Unit.ELEMENTS) -> Expression:
        return trace.given(name, value, unit, source)

    ways = trace.given("state_ways", parallel, Unit.WAYS, _STATE)
    two = trace.given("conv_element_bytes", _CONV_BYTES, Unit.BYTES, _STATE)
    channels, rows = size("conv_channels", state.conv_channels), size("conv_rows", state.conv_rows)
    total = channels // ways * rows * two
    if state.recurrent_elements:
        elements = size("state_heads", state.recurrent_heads, Unit.HEADS)
        elements = elements * size("state_rows", state.recurrent_rows)
        elements = elements * size("state_columns", state.recurrent_columns)
        width = trace.given("state_element_bytes", _WIDTHS.get(dtype or "", 4), Unit.BYTES, _STATE)
        total += elements // ways * width
    return trace.follows("state_copy", total, Unit.BYTES, _STATE)
