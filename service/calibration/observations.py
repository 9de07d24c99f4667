"""Measurements -> runs of the speed model, with the rate or time that was measured."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from service.catalog import Catalog
from service.core.catalogued import Model
from service.core.engines.llama_cpp.pool import DEFAULT_MICRO_BATCH
from service.core.hardware import Gpu
from service.core.measurements import Measurement
from service.core.scenario import Layout
from service.core.speed.classes import LAYER_SPLIT, SERVING, generation, interval_class
from service.core.speed.run import Run, Streams, family, run
from service.core.speed.work import work
from service.core.weights.formats import FORMATS
from service.core.weights.weigh import weigh

FOLDS = 5
SERVED = frozenset({"hopper", "blackwell_hbm"})  # generations with benchmarks of the serving engines
_REPORTED = frozenset({"crowd", "end_to_end"})  # kept apart: what users report
# Flags that do not keep a row out: both are as good a measurement as any other, in their own circumstances.
_KEPT = frozenset({"no_flash_attn", *_REPORTED})
_FEW_STREAMS = 4  # a queue that is nearly empty


class Quantity(StrEnum):
    """What was measured."""

    DECODE = "decode"
    PREFILL = "prefill"
    FIRST_TOKEN = "first_token"  # noqa: S105 - a token of text


@dataclass(frozen=True, slots=True)
class Observation:
    """One measured figure with the run that it belongs to.

    value: tokens/s of all streams, prompt tokens/s, or seconds. before: tokens in the cache when the prompt
    begins. reported: sent in by users, or of a class without benchmarks. fold: the part that is held out with
    its whole (model, GPU) group.
    """

    id: str
    quantity: Quantity
    value: float
    run: Run
    before: float
    reported: bool
    fold: int
    group: str

    @property
    def kind(self) -> str:
        """The class whose interval is meant."""
        batched = self.quantity is Quantity.DECODE and self.run.sequences > 1
        return f"{self.quantity} {interval_class(self.run.runtime, batched=batched)}"


def observations(catalog: Catalog) -> Iterator[Observation]:
    """Every usable figure of the measurements, in the order of their files.

    Of prefills that differ only in the flags of one build (rocBLAS or hipBLASLt, driver), the fastest counts:
    they lie up to four times apart on the same machine.
    """
    fastest: dict[object, Observation] = {}
    for row in (row for rows in catalog.measurements.values() for row in rows):
        for found in _figures(catalog, row):
            if found.quantity is not Quantity.PREFILL:
                yield found
                continue
            key = _same_build(row, found.run.chunk_tokens)
            if key not in fastest or fastest[key].value < found.value:
                fastest[key] = found
    yield from fastest.values()


def fold(model: str, gpu: str) -> int:
    """The part of a (model, GPU) pair, so that a pair is either learnt from or judged, never both."""
    return int(hashlib.sha1((model + gpu).encode(), usedforsecurity=False).hexdigest(), 16) % FOLDS


def _same_build(row: Measurement, chunk: int) -> object:
    build = (row.engine_version or "").partition(" ")[0]
    name = (row.model, row.published_model, row.gpu, row.gpu_count, row.engine, row.backend, row.quantization)
    return (*name, row.prompt_tokens, row.context_tokens, row.source, build, chunk)


def _figures(catalog: Catalog, row: Measurement) -> Iterator[Observation]:
    model, gpu = catalog.models[row.model], catalog.gpus[row.gpu]
    engine = _engine(row)
    if engine is None or row.backend is None or row.quantization not in FORMATS or row.gpu_count is None:
        return
    if {*row.flags} - _KEPT or row.offload or row.speculative:
        return
    made = _run(row, model, gpu, engine)
    unserved = engine in SERVING and generation(gpu) not in SERVED
    for quantity, value in _values(row, engine):
        if quantity is Quantity.DECODE and _exceeds_bandwidth(made, value):
            continue
        yield Observation(
            id=row.id,
            quantity=quantity,
            value=value,
            run=made,
            before=float(row.context_tokens or 0) if quantity is Quantity.PREFILL else 0.0,
            reported=bool({*row.flags} & _REPORTED) or unserved,
            fold=fold(model.id, gpu.id),
            group=f"{model.id} {gpu.id}",
        )


def _engine(row: Measurement) -> str | None:
    """The engine; llamafile counts as llama.cpp on Metal, but brings its own kernels for CUDA and ROCm."""
    if row.engine:
        return row.engine
    return "llama.cpp" if "llamafile" in (row.published_engine or "") and row.backend == "metal" else None


def _run(row: Measurement, model: Model, gpu: Gpu, engine: str) -> Run:
    layer_split, count = engine in LAYER_SPLIT, row.gpu_count or 1
    prompt, output = row.prompt_tokens or 0, row.output_tokens or 0
    dtype = row.kv_cache_dtype or "bf16"
    quantization = row.quantization or ""
    table = weigh(model, quantization, family=family(engine, quantization))
    return run(
        work(table, model.architecture),
        table.quantization,
        model.architecture,
        gpu,
        Layout(pipeline=count, split="layer") if layer_split else Layout(tensor=row.tensor_parallel or count),
        Streams(
            sequences=row.concurrency or 1,
            prompt_tokens=prompt or 512,
            output_tokens=output or 128,
            filled_tokens=float(row.context_tokens or prompt + output / 2),
            dtype_k=dtype,
            dtype_v=dtype,
        ),
        engine=engine,
        backend=row.backend or "",
        gpu_count=count,
        chunk_tokens=_micro_batch(row),
    )


def _micro_batch(row: Measurement) -> int:
    """`ub=` of the note, else llama.cpp's default."""
    found = re.search(r"ub=(\d+)", row.note or "")
    return int(found[1]) if found else DEFAULT_MICRO_BATCH


def _values(row: Measurement, engine: str) -> Iterator[tuple[Quantity, float]]:
    streams = row.concurrency or 1
    if row.decode_tokens_per_second:
        yield Quantity.DECODE, row.decode_tokens_per_second
    if row.prefill_tokens_per_second and row.prompt_tokens and streams == 1 and engine in LAYER_SPLIT:
        yield Quantity.PREFILL, row.prefill_tokens_per_second
    if row.time_to_first_token_ms and engine in SERVING and streams <= _FEW_STREAMS:
        yield Quantity.FIRST_TOKEN, row.time_to_first_token_ms / 1000


def _exceeds_bandwidth(made: Run, value: float) -> bool:
    """A rate that the memory bus cannot carry: speculative decoding or a batch that was not stated."""
    ranks = 1 if made.layer_split else made.layout.tensor
    return value / made.sequences * made.work.bytes_read(made.sequences) / ranks > made.bandwidth
