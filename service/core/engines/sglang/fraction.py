"""mem_fraction_static when the flag is not given, and the defaults by memory size that it rests on.

Source: SGLang 0.5.23 srt/arg_groups/memory_hook.py handle_gpu_memory_settings, reserve_for_graph_mb,
adjust_mem_fraction_for_vlm; srt/arg_groups/cuda_graph_hook.py.
"""

from service.core.architecture.caches import CompressedCache, StateKind
from service.core.architecture.kinds import kinds_of
from service.core.architecture.model import Architecture
from service.core.engines.sglang.classes import (
    DELTA_PREFILL_GRAPHS,
    MULTIMODAL_PREFILL_GRAPHS,
    VISION_AS_SEEN,
)
from service.core.engines.sglang.dtypes import has_cache
from service.core.engines.sglang.flags import is_latent
from service.core.hardware import Gpu
from service.core.scenario import Layout
from service.core.units import MIB

# Memory in MiB below which a row holds: chunk of prefill, requests of the decode graphs for T < 4 and above.
_TIERS = ((20_480, 2048, 8, 8), (35_840, 4096, 48, 160), (61_440, 4096, 32, 160), (163_840, 8192, 256, 512))
_LARGEST = (16_384, 512, 512)
_UNKNOWN = (4096, 160, 160)
_UNKNOWN_FRACTION = 0.95
_FLOOR_ABOVE_MIB, _FLOOR_MIB = 61_440, 10_240
_WIDE_GRAPHS = 300  # requests of a graph from which attention data parallelism pads more
_LATENT_PREFILL_MIB = 1536.0
_TYPICAL_VISION = (24, 1024)  # ViT-L, and what a field that the config does not have counts as
# Token counts of the prefill graphs: from, to, step; beyond 4,096 every 512.
_PREFILL_SIZES = ((4, 32, 4), (48, 256, 16), (288, 512, 32), (576, 1024, 64), (1280, 4096, 256))


def memory_mib(gpu: Gpu) -> int | None:
    """Total memory as nvidia-smi prints it."""
    return None if gpu.memory_bytes is None else gpu.memory_bytes // MIB


def default_chunk(gpu: Gpu) -> int:
    """--chunked-prefill-size by memory."""
    return _tier(gpu)[0]


def graph_requests(gpu: Gpu, ranks: int) -> int:
    """Requests of the largest decode graph; ranks: --tp-size."""
    return _tier(gpu)[1 if ranks < 4 else 2]


def _tier(gpu: Gpu) -> tuple[int, int, int]:
    memory = memory_mib(gpu)
    if memory is None:
        return _UNKNOWN
    return next((tuple_[1:] for tuple_ in _TIERS if memory < tuple_[0]), _LARGEST)


def mem_fraction_static(
    architecture: Architecture, gpu: Gpu, layout: Layout, chunk: int, *, multimodal: bool
) -> float:
    """The fraction for a server; chunk: the flag's tokens, before attention data parallelism divides them."""
    memory = memory_mib(gpu)
    if memory is None:
        return _UNKNOWN_FRACTION
    ranks = layout.tensor * layout.data
    reserved = 512 + 1.5 * max(chunk, 2048) + 128 * ranks * layout.pipeline
    reserved += graph_mib(architecture, gpu, layout, chunk, multimodal=multimodal)
    reserved += _padding_mib(graph_requests(gpu, ranks), layout.data)
    if memory > _FLOOR_ABOVE_MIB:
        reserved = max(reserved, _FLOOR_MIB)
    fraction = round((memory - reserved) / memory, 3)
    return fraction * vision_factor(architecture) if multimodal else fraction


def graph_mib(architecture: Architecture, gpu: Gpu, layout: Layout, chunk: int, *, multimodal: bool) -> float:
    """MiB that SGLang expects of the CUDA graphs for decoding and prefill."""
    decode = 2.0 * graph_requests(gpu, layout.tensor * layout.data)
    if not _prefill_graphs(architecture, layout, multimodal=multimodal):
        return decode
    return decode + (_LATENT_PREFILL_MIB if is_latent(architecture) else 8.0 * _prefill_sizes(chunk))


def _padding_mib(requests: int, data: int) -> float:
    """What attention data parallelism pads its graphs with."""
    if data == 1:
        return 0.0
    return (4.5 if requests > _WIDE_GRAPHS else 3.0) * requests * data


def _prefill_graphs(architecture: Architecture, layout: Layout, *, multimodal: bool) -> bool:
    """Whether prefill graphs are on when the reserve is counted."""
    if layout.pipeline > 1 or layout.decode_context > 1:
        return False
    name = architecture.engine_class
    if has_cache(architecture, CompressedCache):
        return False
    kept = kinds_of(architecture)
    delta = any(state.kind is StateKind.KIMI_DELTA for (_, _, states), _ in kept for state in states)
    if delta and name not in DELTA_PREFILL_GRAPHS:
        return False
    return not multimodal or name in MULTIMODAL_PREFILL_GRAPHS


def _prefill_sizes(chunk: int) -> int:
    """How many prefill graphs have at most `chunk` tokens."""
    count = sum(len(range(low, min(high, chunk) + 1, step)) for low, high, step in _PREFILL_SIZES)
    return count + max(0, (chunk - 4096) // 512)


def vision_factor(architecture: Architecture) -> float:
    """What the fraction is multiplied by for the image encoder, not rounded; 1 without a vision_config."""
    name = architecture.engine_class
    seen = VISION_AS_SEEN.get(name, architecture.vision_config)
    if seen is None:
        return 1.0
    layers, width = (
        typical if value is None else value for value, typical in zip(seen, _TYPICAL_VISION, strict=True)
    )
    complexity = layers * width**2 / (_TYPICAL_VISION[0] * _TYPICAL_VISION[1] ** 2)
    return 0.95 * max(0.8, min(1.05, 1.0 - 0.1 * (complexity - 1.0)))
