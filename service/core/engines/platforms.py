"""Usable memory by platform: what an engine that takes what it finds may fill of an accelerator.

The llama.cpp family and MLX allocate until the memory is full, so their limit is the platform's. Engines
that claim a fraction of the memory (vLLM, SGLang, TensorRT-LLM) have rules of their own.
"""

from dataclasses import dataclass

from service.core.evidence import Evidence
from service.core.hardware import Gpu, GpuKind, Platform
from service.core.sizing import Note, Sourced
from service.core.units import GIB, MIB

# `--fit-target`: what llama.cpp leaves free on every device by default (common/arg.cpp).
FIT_MARGIN_BYTES = GIB
# A desktop session that draws on the same card, middle of what Linux users report (0.1 to 0.5 GiB and more).
_DESKTOP_BYTES = GIB // 2
# Machines up to this memory give Metal two thirds of it, larger ones three quarters.
_SMALL_MAC_BYTES = 36 * GIB
# Context and libraries of a process: 451 to 456 MiB outside the engine's accounting on CUDA (llama.cpp PR
# 15860), 457 MiB set aside for each GPU by Ollama (ml/device.go), which takes 512 MiB for Metal.
_CONTEXT_BYTES = 457 * MIB
_METAL_CONTEXT_BYTES = 512 * MIB

# Share of an NVIDIA module's memory that users advise engines to claim, beside the page cache.
ADVISED_PERCENT = 85

_METAL = "Metal recommendedMaxWorkingSetSize: 2/3 of the memory up to 36 GiB, 3/4 above, as users report it"
_GTT = "Linux amdgpu: system memory mapped for the GPU (ttm.pages_limit), half of it by default"
_CARVED = "AMD variable graphics memory on Windows: at most three quarters (96 of 128 GB)"
_VISIBLE = "part of the unified memory that the operating system shows, as users report it"
_WDDM = "Windows: total less a tenth, at least 1 GiB; a heuristic, WDDM documents no constant"
_FIT = "driver total less the default margin of llama.cpp --fit"


@dataclass(frozen=True, slots=True)
class Allowance:
    """Bytes of each GPU that weights, cache, buffers and context may fill; None when the total is unknown.

    sourced: how well the limit is known. notes: what to say of it, such as how to raise it.
    """

    bytes: int | None
    sourced: Sourced
    notes: tuple[Note, ...] = ()


def allowance(gpu: Gpu, platform: Platform, reserved_bytes: int = 0) -> Allowance:
    """The part of the memory that an engine may fill, never negative; `reserved_bytes` are taken off.

    Linux: the driver's total less the margin of `--fit`. Desktop: half a GiB less again. Windows: a tenth
    less, at least 1 GiB. Unified memory: the working set of Metal; what Linux maps for an AMD GPU by default,
    what Windows carves out for it; what the system shows of an NVIDIA module. The context of the process
    (`context_bytes`) is a term of the sizing (runtime_overhead), so it is not taken off here.
    """
    if gpu.memory_bytes is None or not gpu.exists:
        return Allowance(None, Sourced(Evidence.UNKNOWN, "memory size not known"))
    rule = _unified if gpu.kind is GpuKind.UNIFIED or platform is Platform.MACOS else _discrete
    found = rule(gpu, gpu.memory_bytes, platform)
    assert found.bytes is not None
    return Allowance(max(found.bytes - reserved_bytes, 0), found.sourced, found.notes)


def free_at_start(gpu: Gpu, platform: Platform, reserved_bytes: int = 0) -> Allowance:
    """What an engine that claims a fraction finds free, never negative; it leaves its own margin.

    A card: the driver's total, less a desktop session, or what Windows keeps. Unified memory: as `allowance`.
    """
    found = allowance(gpu, platform)
    if found.bytes is None:
        return found
    unified = gpu.kind is GpuKind.UNIFIED or platform is Platform.MACOS
    margin = 0 if unified or platform is Platform.WINDOWS else FIT_MARGIN_BYTES
    sourced = found.sourced if not margin else Sourced(found.sourced.evidence, "driver total")
    return Allowance(max(found.bytes + margin - reserved_bytes, 0), sourced, found.notes)


def _discrete(gpu: Gpu, total: int, platform: Platform) -> Allowance:
    """A card with its own memory."""
    if platform is Platform.WINDOWS:
        return Allowance(total - max(GIB, total // 10), _estimate(_WDDM))
    if platform is Platform.LINUX_DESKTOP:
        source = f"{_FIT}, and half a GiB of a desktop session"
        return Allowance(total - FIT_MARGIN_BYTES - _DESKTOP_BYTES, _estimate(source))
    return Allowance(total - FIT_MARGIN_BYTES, Sourced(gpu.memory_evidence, _FIT))


def _unified(gpu: Gpu, total: int, platform: Platform) -> Allowance:
    """One memory of CPU and GPU."""
    if platform is Platform.MACOS:
        return Allowance(_working_set(gpu, total), _estimate(_METAL))
    if gpu.vendor == "AMD":
        return _amd(gpu, total, platform)
    if gpu.unified_usable_fraction is None or platform is Platform.WINDOWS:
        return _discrete(gpu, total, platform)
    shown = int(total * gpu.unified_usable_fraction)
    return Allowance(shown, _estimate(_VISIBLE), (competition(shown),))


def _working_set(gpu: Gpu, total: int) -> int:
    """What Metal recommends at most; the catalog's own share where it has one."""
    if gpu.unified_usable_fraction is not None:
        return int(total * gpu.unified_usable_fraction)
    return total * 2 // 3 if total <= _SMALL_MAC_BYTES else total * 3 // 4


def _amd(gpu: Gpu, total: int, platform: Platform) -> Allowance:
    """Linux: the share that users map for the GPU, else the kernel's half. Windows: three quarters.

    Published runs on these machines go well beyond the half that Linux maps by default, so the raised share
    is what the hardware can be used for; the note says what it takes.
    """
    if platform is Platform.WINDOWS:
        share = total * 3 // 4
        return Allowance(share, _estimate(_CARVED), (Note("graphics_memory_set_by_hand", {"usable": share}),))
    mapped = total // 2
    share = int(total * (gpu.unified_usable_fraction or 0))
    if share <= mapped:
        return Allowance(mapped, _estimate(_GTT))
    return Allowance(
        share, _estimate(_GTT), (Note("gtt_limit_raised", {"usable": share, "mapped_bytes": mapped}),)
    )


def competition(visible_bytes: int) -> Note:
    """What to say of an NVIDIA module: the page cache takes its part of the memory, so leave some."""
    return Note("page_cache_competes", {"visible_bytes": visible_bytes, "percent": ADVISED_PERCENT})


def _estimate(source: str) -> Sourced:
    return Sourced(Evidence.ESTIMATE, source)


def context_bytes(backend: str) -> int:
    """Bytes that the backend's context and libraries take on every device of the process."""
    return _METAL_CONTEXT_BYTES if backend == "metal" else _CONTEXT_BYTES
