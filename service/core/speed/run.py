"""One run of a model on accelerators, reduced to the figures that the formulas need."""

from dataclasses import dataclass

from service.core.architecture.model import Architecture
from service.core.hardware import Gpu
from service.core.scenario import Layout
from service.core.speed.cache_reads import CacheReads, attention_products, cache_reads
from service.core.speed.classes import LAYER_SPLIT, generation, grain, runtime
from service.core.speed.work import Work
from service.core.weights.formats import FORMATS, Family


@dataclass(frozen=True, slots=True)
class Run:
    """What is computed, on what, and how often at once.

    bandwidth: bytes/s of one GPU. peak / weight_peak: dense FLOP/s in 16 bit and in the precision of the
    weights; interconnect: bytes/s in one direction; None where not known. sequences: streams of one replica.
    chunk_tokens: tokens of one prefill pass. host_share: part of the weight bytes kept in system RAM.
    """

    engine: str
    runtime: str
    generation: str
    grain: str
    bandwidth: float
    peak: float | None
    weight_peak: float | None
    interconnect: float | None
    work: Work
    cache: CacheReads
    architecture: Architecture
    layout: Layout
    gpu_count: int
    sequences: float
    prompt_tokens: int
    output_tokens: int
    chunk_tokens: int
    host_share: float = 0.0

    @property
    def layer_split(self) -> bool:
        """Whether GPUs take turns, each with whole layers."""
        return self.engine in LAYER_SPLIT

    def prompt_attention(self, before: float = 0.0) -> float:
        """FLOP of the prompt's attention."""
        return attention_products(self.architecture, self.prompt_tokens, before)


@dataclass(frozen=True, slots=True)
class Streams:
    """How many sequences run at once, and what each of them holds when it decodes."""

    sequences: int
    prompt_tokens: int
    output_tokens: int
    filled_tokens: float
    dtype_k: str
    dtype_v: str


def run(
    done: Work,
    quantization: str,
    architecture: Architecture,
    gpu: Gpu,
    layout: Layout,
    streams: Streams,
    *,
    engine: str,
    backend: str,
    gpu_count: int,
    chunk_tokens: int,
    host_share: float = 0.0,
) -> Run:
    """The run of weights whose work is known; ValueError when the memory bandwidth is not."""
    if gpu.memory_bandwidth_gbs is None:
        raise ValueError("memory bandwidth unknown")
    peak = _half_peak(gpu)
    return Run(
        engine=engine,
        runtime=runtime(engine, backend),
        generation=generation(gpu),
        grain=grain(quantization),
        bandwidth=gpu.memory_bandwidth_gbs * 1e9,
        peak=peak,
        weight_peak=weight_peak(gpu, done.weights.precision),
        interconnect=None if gpu.interconnect_gbs is None else gpu.interconnect_gbs / 2 * 1e9,
        work=done,
        cache=cache_reads(architecture, streams.filled_tokens, streams.dtype_k, streams.dtype_v),
        architecture=architecture,
        layout=layout,
        gpu_count=gpu_count,
        sequences=streams.sequences,
        prompt_tokens=streams.prompt_tokens,
        output_tokens=streams.output_tokens,
        chunk_tokens=chunk_tokens,
        host_share=host_share,
    )


def family(engine: str, quantization: str) -> Family | None:
    """The kind of file that an engine loads a format from, None for the format's own."""
    gguf = engine in LAYER_SPLIT and engine != "mlx"
    return Family.GGUF if gguf and FORMATS[quantization].recipe is not None else None


def weight_peak(gpu: Gpu, precision: str) -> float | None:
    """Dense FLOP/s of products with weights of a precision, at the 16-bit rate where it has no hardware."""
    return _flops(gpu, precision) or _half_peak(gpu)


def _half_peak(gpu: Gpu) -> float | None:
    """Dense 16-bit FLOP/s, at the full rate of the matrix cores.

    GeForce halves products with 32-bit accumulation but not INT8 ones, which run at twice the 16-bit rate and
    are what llama.cpp multiplies quantized weights with (ggml/src/ggml-cuda/mmq.cuh).
    """
    half, eight = _flops(gpu, "fp16"), _flops(gpu, "int8")
    return half if half is None or eight is None else max(half, eight / 2)


def _flops(gpu: Gpu, precision: str) -> float | None:
    rate: float | None = getattr(gpu.tflops, precision)
    return None if rate is None else rate * 1e12
