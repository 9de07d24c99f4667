"""Sizing -> Speed: estimates with the interval of their class, or the reasons why there are none."""

from typing import NamedTuple

from service.core.evidence import Evidence
from service.core.hardware import GpuKind
from service.core.notes import Note
from service.core.scenario import Scenario
from service.core.sizing import Sizing, Verdict
from service.core.speed.classes import interval_class, is_known
from service.core.speed.constants import USER_REPORTED, Interval, SpeedConstants
from service.core.speed.decode import step
from service.core.speed.prefill import first_token_seconds, prefill_seconds
from service.core.speed.result import Basis, Estimate, Speed, Withheld
from service.core.speed.run import Run, Streams, family, run
from service.core.speed.work import work_of
from service.core.units import ceil_div

_RUNS = (Verdict.FITS, Verdict.TIGHT)
# Benchmarks of serving engines: up to 8 ranks of tensor parallelism alone, and few of more streams than 256.
_MOST_STREAMS, _MOST_RANKS = 256, 8


def estimate(sizing: Sizing, constants: SpeedConstants) -> Speed | Withheld:
    """The speed of a scenario that runs.

    Withheld where the verdict is not `fits` or `tight`, where the memory bandwidth is not known, and where
    weights are read from a system RAM of unknown bandwidth.
    """
    reasons = _withheld(sizing)
    if reasons:
        return Withheld(reasons)
    scenario = sizing.scenario
    made = run_of(scenario)
    taken = step(made, constants)
    own = _class_of(made, constants, "decode")
    basis, decode = own.basis(), spread(1 / taken.seconds, own.interval)
    of_prompts = _class_of(made, constants, _of_prompts(made))
    prompt, first, prompt_notes = _prompt(scenario, made, constants, taken.seconds, of_prompts.interval)
    return Speed(
        decode=decode,
        decode_aggregate=decode.times(scenario.concurrent_sequences),
        prefill=prompt,
        time_to_first_token_ms=first,
        bound=taken.bound,
        decode_basis=basis,
        prefill_basis=of_prompts.basis() if prompt else None,
        notes=(*_notes(scenario, basis), *prompt_notes),
    )


def run_of(scenario: Scenario) -> Run:
    """The run that a scenario means: decode at a cache filled with the prompt and half of the output."""
    layout = scenario.layout
    kind = family(scenario.engine, scenario.quantization)
    return run(
        work_of(scenario.model, scenario.quantization, kind),
        scenario.quantization,
        scenario.model.architecture,
        scenario.gpu,
        layout,
        Streams(
            sequences=max(1, ceil_div(scenario.concurrent_sequences, layout.data)),
            prompt_tokens=scenario.prompt_tokens,
            output_tokens=scenario.output_tokens,
            filled_tokens=scenario.prompt_tokens + scenario.output_tokens / 2,
            dtype_k=scenario.kv_cache_dtype,
            dtype_v=scenario.kv_cache_dtype_v,
        ),
        engine=scenario.engine,
        backend=scenario.backend,
        gpu_count=scenario.gpu_count,
        chunk_tokens=scenario.max_batched_tokens,
        host_share=scenario.cpu_offload_percent / 100,
    )


def is_indicative(scenario: Scenario, constants: SpeedConstants) -> bool:
    """Whether no benchmark is of the class of a scenario's decode speed; formats make no difference."""
    return _class_of(run_of(scenario), constants, "decode").indicative


def _withheld(sizing: Sizing) -> tuple[Note, ...]:
    scenario = sizing.scenario
    if sizing.verdict not in _RUNS:
        return (Note("speed_needs_fit"),)
    if not is_known(scenario.engine):
        return (Note("engine_speed_unknown", {"engine": scenario.engine}),)
    if scenario.gpu.memory_bandwidth_gbs is None:
        return (Note("bandwidth_unknown", {"gpu": scenario.gpu.name}),)
    if scenario.cpu_offload_percent and scenario.gpu.kind is not GpuKind.UNIFIED:
        return (Note("host_bandwidth_unknown"),)
    return ()


def _prompt(
    scenario: Scenario, made: Run, constants: SpeedConstants, step_seconds: float, found: Interval
) -> tuple[Estimate | None, Estimate | None, tuple[Note, ...]]:
    """Prompt tokens/s and the time to first token, or why not."""
    if scenario.cpu_offload_percent:
        return None, None, (Note("prefill_with_offload"),)
    if not scenario.prompt_tokens:  # the output fills the context
        return None, None, ()
    seconds = prefill_seconds(made, constants)
    if seconds is None:
        return None, None, (Note("compute_rate_unknown", {"gpu": scenario.gpu.name}),)
    first = first_token_seconds(made, constants, seconds, step_seconds)
    prefill = scenario.prompt_tokens / (seconds if made.layer_split else first)
    if made.layer_split:
        rate = spread(prefill, found)
        waited = first * 1000
        return rate, Estimate(waited / found.high, waited, waited / found.low), ()
    waited = first * 1000
    slow = Estimate(prefill / found.high, prefill, prefill / found.low)
    return slow, spread(waited, found), ()


def spread(value: float, interval: Interval) -> Estimate:
    """A value with the interval of its class; numbers or arrays."""
    return Estimate(value * interval.low, value, value * interval.high)


def decode_interval(made: Run, constants: SpeedConstants) -> Interval:
    """The interval of decode speeds like this run's."""
    return _class_of(made, constants, "decode").interval


def prompt_interval(made: Run, constants: SpeedConstants) -> Interval:
    """The interval of prompts: of their rate for llama.cpp and MLX, else of the time to the first token."""
    return _class_of(made, constants, _of_prompts(made)).interval


def _of_prompts(made: Run) -> str:
    return "prefill" if made.layer_split else "first_token"


class _Class(NamedTuple):
    """The class of a run's speed. indicative: no benchmark is of it.

    That is another accelerator, system RAM, or a load or layout beyond those measured.
    """

    name: str
    indicative: bool
    interval: Interval

    def basis(self) -> Basis:
        """What an estimate of the class rests on."""
        evidence = Evidence.ESTIMATE if self.indicative else Evidence.CALIBRATED
        return Basis(self.name, self.interval.rows, evidence, indicative=self.indicative)


def _class_of(made: Run, constants: SpeedConstants, quantity: str) -> _Class:
    """The class with its interval, at least that of users' reports where it was never measured."""
    name = interval_class(made.runtime, batched=quantity == "decode" and made.sequences > 1)
    own, users = constants.intervals.get(f"{quantity} {name}"), constants.intervals[USER_REPORTED]
    known = own is not None and constants.is_calibrated(made.runtime, made.generation)
    indicative = not known or bool(made.host_share) or (not made.layer_split and _beyond_benchmarks(made))
    if own is None:
        return _Class(name, True, users)
    if not indicative:
        return _Class(name, False, own)
    widest = Interval(min(own.low, users.low), max(own.high, users.high), users.rows)
    return _Class(name, True, widest)


def _beyond_benchmarks(made: Run) -> bool:
    """Loads and layouts of serving engines that no measurement reaches, or too few do to be judged by."""
    layout = made.layout
    spread = layout.pipeline > 1 or layout.tensor > _MOST_RANKS or (layout.data > 1 and made.work.experts > 0)
    return spread or not 1 < made.sequences <= _MOST_STREAMS


def _notes(scenario: Scenario, basis: Basis) -> tuple[Note, ...]:
    notes = []
    if basis.indicative:
        notes.append(Note("speed_indicative", {"engine": scenario.engine, "gpu": scenario.gpu.name}))
    if scenario.speculative_tokens:
        notes.append(Note("speculation_not_in_speed"))
    return tuple(notes)
