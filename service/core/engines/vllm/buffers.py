"""What vLLM needs beside weights and block pool: activations, workspaces, CUDA graphs, runtime.

Sources: vLLM 0.33.0 v1/worker/gpu_worker.py determine_available_memory, engine/arg_utils.py
get_batch_defaults; NVIDIA aiconfigurator 0.12.0 base_backend._get_memory_usage for NCCL; what vLLM printed in
public issues (docs/accuracy.md): CUDA-graph estimates since 0.21 are 0.13 to 0.64 GiB.
"""

from dataclasses import dataclass
from math import sqrt

from service.core.architecture.caches import LatentCache
from service.core.architecture.model import Architecture
from service.core.arrays import larger
from service.core.hardware import Gpu
from service.core.identity import ByIdentity
from service.core.scenario import Layout
from service.core.units import GIB, MIB

_LARGE_GPU = 160 * GIB
_SERVER_GPU = 70 * GIB
_GB10_CAPABILITY = 121
# A logit in bf16, its f32 copy, an int32 count for penalties (v1/worker/gpu/sample/sampler.py, penalties.py).
_SAMPLER_BYTES = 2 + 4 + 4
# A tower like SigLIP So400m or Qwen's (27 layers of 1,152 and 4,304): q, k, v, and both sides of
# the activation. Other towers are scaled by the square root of their parameters.
_TOWER_WIDTH = 3 * 1152 + 2 * 4304
_TOWER_PARAMETERS = 411_466_608
_PATCHES_PER_TOKEN = 4
_ENCODER_ROLE = "vision.encoder"
# Longest image of Qwen's preprocessors: 16,777,216 pixels, a token for 32 x 32.
_LONGEST_IMAGE = 16_384
_DYNAMIC_CLASSES = ("Qwen3_5", "Qwen4Exp")
_CUDA_GRAPHS = GIB // 2
# CUDA reports less than the driver, and vLLM takes its share of that: 430 to 500 MiB less on RTX 3090, H100,
# RTX 5090 and RTX PRO 4500 (vLLM issue 10517, pull requests 10511 and 51590). What torch does not count was
# 0.07 to 0.35 GiB on one GPU.
DRIVER_RESERVE = 450 * MIB
_NON_TORCH = 256 * MIB
_NCCL_MIB = ((8, 392), (4, 392), (2, 342))
_SPARSE_WORKSPACE_ROWS = 5


def batch_defaults(gpu: Gpu) -> tuple[int, int]:
    """max_num_batched_tokens and max_num_seqs of the API server on this GPU."""
    memory = gpu.memory_bytes or 0
    if memory >= _LARGE_GPU:
        return 16384, 1024
    small = "a100" in gpu.name.lower() or gpu.compute_capability == _GB10_CAPABILITY
    return (8192, 1024) if memory >= _SERVER_GPU and not small else (2048, 256)


@dataclass(frozen=True, slots=True)
class Activations:
    """Peak of the profiling run on one rank: the widest of a layer, the sampler and the vision tower.

    layer, vision: bytes. sampler: bytes for each sequence. sequences: max_num_seqs, raised when more are
    asked for.
    """

    layer: int
    sampler: int
    sequences: int
    vision: int = 0

    def peak(self, sequences: int) -> int:
        """Bytes with `sequences` at once."""
        return larger(larger(self.layer, self.vision), larger(self.sequences, sequences) * self.sampler)


def activations(
    architecture: Architecture, layout: Layout, gpu: Gpu, tokens: int, *, vision: bool = False
) -> Activations:
    """Activations of the profiling run with `tokens` at once; intermediates are 16-bit.

    vision: the tower is loaded, hence profiled (v1/worker/gpu/model_runner.py profile_run).
    """
    _, sequences = batch_defaults(gpu)
    return _activations(architecture, layout, sequences, tokens, vision)


def _profiled(
    architecture: Architecture, layout: Layout, sequences: int, tokens: int, vision: bool
) -> Activations:
    return Activations(
        layer=2 * tokens * _layer_width(architecture, layout),
        sampler=architecture.vocabulary * _SAMPLER_BYTES,
        sequences=sequences,
        vision=_vision_bytes(architecture, tokens) if vision else 0,
    )


_activations: ByIdentity[Architecture, Layout, int, int, bool, Activations] = ByIdentity(_profiled)


def _layer_width(architecture: Architecture, layout: Layout) -> int:
    """Elements of one token that live at once in the widest layer: the stream thrice and the widest of

    attention, the dense MLP and the experts. Dense: logs of vLLM issue 10517 at 20,000 and 29,000 tokens.
    """
    degree = layout.tensor
    dense = 3 * architecture.dense_width // degree
    widest = max(_attention_width(architecture, degree), dense, _expert_width(architecture, layout))
    return 3 * architecture.hidden_size + widest


def _attention_width(architecture: Architecture, degree: int) -> int:
    """Queries, keys, values and outputs; of latent attention, those of the expanded prefill."""
    heads, kv_heads = architecture.attention_heads, architecture.kv_heads
    width = 2 * (heads + kv_heads) * architecture.head_dim
    latent = next(
        (layer.cache for layer in architecture.layers if isinstance(layer.cache, LatentCache)), None
    )
    if latent is not None:
        width = heads * (3 * architecture.head_dim + 2 * latent.rope_dim + architecture.head_dim)
    return width // degree


def _expert_width(architecture: Architecture, layout: Layout) -> int:
    """The two workspaces of the fused experts (fused_moe/fused_moe.py TritonExperts.workspace_shapes)."""
    experts = architecture.experts
    if experts is None:
        return 0
    ways = 1 if layout.expert > 1 else layout.tensor * layout.data
    width, hidden = experts.width // ways, experts.latent_dim or architecture.hidden_size
    return experts.per_token * (max(width, hidden) + max(2 * width, hidden))


def _vision_bytes(architecture: Architecture, tokens: int) -> int:
    """The tower on images that fill the encoder's budget, and what it leaves in the encoder cache.

    The budget is the larger of the step's tokens and the longest image (multimodal/encoder_budget.py).
    """
    encoder = sum(t.parameters for t in architecture.vision if t.role == _ENCODER_ROLE)
    longest = _LONGEST_IMAGE if architecture.engine_class.startswith(_DYNAMIC_CLASSES) else 0
    budget = max(tokens, longest)
    width = int(_TOWER_WIDTH * sqrt(encoder / _TOWER_PARAMETERS))
    return 2 * budget * (_PATCHES_PER_TOKEN * width + architecture.hidden_size)


def sparse_workspace_per_token(architecture: Architecture) -> int:
    """Bytes for each token of the longest context that sparse MLA's prefill gathers; 0 without an index."""
    return _sparse_workspace(architecture)


def _gathered(architecture: Architecture) -> int:
    for layer in architecture.layers:
        if layer.index is not None and isinstance(layer.cache, LatentCache):
            return _SPARSE_WORKSPACE_ROWS * 2 * (layer.cache.latent_dim + layer.cache.rope_dim)
    return 0


_sparse_workspace = ByIdentity(_gathered)


def cuda_graphs() -> int:
    """Bytes that vLLM sets aside for CUDA graphs before it sizes the pool (since 0.21)."""
    return _CUDA_GRAPHS


def runtime_overhead(layout: Layout) -> int:
    """What the driver keeps, libraries, and NCCL where several GPUs work together."""
    together = layout.tensor * layout.pipeline * layout.data
    nccl = next((mib for degree, mib in _NCCL_MIB if together >= degree), 0)
    return DRIVER_RESERVE + _NON_TORCH + nccl * MIB
