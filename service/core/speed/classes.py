"""Which class of measurements a scenario belongs to: runtime, GPU generation, grain of the format."""

from service.core.hardware import Gpu

SERVING = frozenset({"vllm", "sglang", "tensorrt-llm"})
LAYER_SPLIT = frozenset({"llama.cpp", "ollama", "lm-studio", "mlx"})
_APPLE = "apple"
# Least compute capability of each NVIDIA generation, newest first; one with HBM reads it less well.
_NVIDIA = (
    (120, "blackwell"),
    (100, "blackwell_hbm"),
    (90, "hopper"),
    (89, "ada"),
    (86, "ampere"),
    (80, "ampere_hbm"),
    (75, "turing"),
)
# LLVM target in the family of an AMD accelerator.
_AMD = {"gfx12": "rdna4", "gfx115": "rdna35", "gfx11": "rdna3", "gfx10": "rdna2", "gfx9": "cdna"}
# What a format's scales and codes cost to unpack, by how its id begins.
_GRAINS = (
    ("iq", "codebook"),
    ("q8", "wide"),
    ("q6", "wide"),
    ("q5", "wide"),
    ("bf16", "half"),
    ("fp16", "half"),
)


def is_known(engine: str) -> bool:
    """Whether any formula here is that of the engine."""
    return engine in SERVING | LAYER_SPLIT


def runtime(engine: str, backend: str) -> str:
    """The program that computes: llama.cpp by backend whoever wraps it, MLX, or the serving engine itself."""
    if engine in SERVING:
        return engine
    return "mlx" if engine == "mlx" else f"llama.cpp {backend}"


def interval_class(runtime: str, *, batched: bool = False) -> str:
    """The class whose spread is meant: the serving engines share one formula and one spread.

    batched: several sequences decode at once, which llama.cpp does with other kernels than one.
    """
    if runtime in SERVING:
        return "serving"
    return f"{runtime} batched" if batched else runtime


def generation(gpu: Gpu) -> str:
    """The generation of an accelerator, `other` where none of the known ones is recognised."""
    if gpu.compute_capability:
        return next((name for least, name in _NVIDIA if gpu.compute_capability >= least), "other")
    if gpu.vendor == "Apple":
        return _APPLE
    return next((name for target, name in _AMD.items() if target in gpu.family), "other")


def grain(quantization: str) -> str:
    """How a weight format is unpacked: `wide` (5 to 8 bit), `half` (16 bit), `codebook` (IQ), or `four`."""
    name = quantization.removeprefix("ud-").removeprefix("mlx-")
    if name[:1] in "568" and name.endswith("bit"):
        return "wide"
    return next((kind for start, kind in _GRAINS if name.startswith(start)), "four")
