"""How much of an accelerator's memory llama.cpp may use."""

from service.core.hardware import Gpu, GpuKind, Platform
from service.core.units import GIB, MIB

# `--fit-target`: what llama.cpp leaves free on every device by default (common/arg.cpp).
FIT_MARGIN_BYTES = GIB
# A desktop session that draws on the same card, middle of what Linux users report (0.1 to 0.5 GiB and more).
_DESKTOP_BYTES = GIB // 2
# Context and libraries of a process: 451 to 456 MiB outside the engine's accounting on CUDA (llama.cpp PR
# 15860), 457 MiB reserved for each GPU by Ollama (llm/memory.go), which takes 512 MiB for Metal.
_CONTEXT_BYTES = 457 * MIB
_METAL_CONTEXT_BYTES = 512 * MIB
# Machines up to this memory give Metal two thirds of it, larger ones three quarters.
_SMALL_MAC_BYTES = 36 * GIB


def usable_bytes(gpu: Gpu, platform: Platform, reserved_bytes: int = 0) -> int | None:
    """Bytes per GPU that weights, cache, buffers and context may fill; None when the memory is not known.

    Linux: the driver's total less the margin of `--fit`. Desktop: half a GiB less again. Windows: total less
    a tenth, at least 1 GiB, a heuristic (WDDM documents no constant). macOS and unified memory: the share
    that the GPU may use (Metal recommendedMaxWorkingSetSize). The context of the process (`context_bytes`)
    is a term of the sizing (runtime_overhead), so it is not taken off here. Never negative.
    """
    if gpu.memory_bytes is None or not gpu.exists:
        return None
    return max(_share(gpu, gpu.memory_bytes, platform) - reserved_bytes, 0)


def _share(gpu: Gpu, total: int, platform: Platform) -> int:
    """The part of `total` that is the engine's, before anything that the user reserves."""
    if gpu.unified_usable_fraction is not None and gpu.kind is GpuKind.UNIFIED:
        return int(total * gpu.unified_usable_fraction)
    match platform:
        case Platform.MACOS:
            return total * 2 // 3 if total <= _SMALL_MAC_BYTES else total * 3 // 4
        case Platform.WINDOWS:
            return total - max(GIB, total // 10)
        case Platform.LINUX_DESKTOP:
            return total - FIT_MARGIN_BYTES - _DESKTOP_BYTES
        case _:
            return total - FIT_MARGIN_BYTES


def context_bytes(backend: str) -> int:
    """Bytes that the backend's context and libraries take on every device of the process."""
    return _METAL_CONTEXT_BYTES if backend == "metal" else _CONTEXT_BYTES
