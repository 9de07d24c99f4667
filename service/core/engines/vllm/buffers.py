"""What vLLM needs beside weights and block pool: activations, workspaces, CUDA graphs, runtime.

Sources: vLLM 0.33.0 v1/worker/gpu_worker.py determine_available_memory, engine/arg_utils.py
get_batch_defaults; NVIDIA aiconfigurator 0.12.0 base_backend._get_memory_usage for runtime and NCCL;
CUDA-graph estimates printed in public vLLM issues since 0.21 (0.13 to 0.64 GiB).
"""

from dataclasses import dataclass

from service.core.architecture.caches import LatentCache
from service.core.architecture.model import Architecture
from service.core.hardware import Gpu
from service.core.identity import ByIdentity
from service.core.scenario import Layout
from service.core.units import GIB, MIB

# A kernel's latent up-projections are copied as bf16 W_UK and W_UV after loading.
_ABSORBED_ROLES = frozenset({"attn_k_b.weight", "attn_v_b.weight"})
_LARGE_GPU = 160 * GIB
_SERVER_GPU = 70 * GIB
_GB10_CAPABILITY = 121
_SAMPLER_BYTES = 2 + 4 + 4  # a logit in bf16 and two f32 copies of it
_SLACK_PERCENT = 110
_CUDA_GRAPHS = GIB // 2
_RUNTIME = 55 * GIB // 100
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
    """Peak of the profiling step on one rank: the wider of a layer and the sampler.

    layer: bytes of the widest layer. sampler: bytes for each sequence. sequences: max_num_seqs, raised when
    more are asked for.
    """

    layer: int
    sampler: int
    sequences: int

    def peak(self, sequences: int) -> int:
        """Bytes with `sequences` at once, 10 % of slack included."""
        sampler = max(self.sequences, sequences) * self.sampler
        return max(self.layer, sampler) * _SLACK_PERCENT // 100


def activations(architecture: Architecture, layout: Layout, gpu: Gpu, tokens: int) -> Activations:
    """Activations of a step of `tokens`; intermediates are 16-bit, multimodal profiling is not included."""
    _, sequences = batch_defaults(gpu)
    layer = 2 * tokens * _layer_width(architecture, layout)
    return Activations(layer, architecture.vocabulary * _SAMPLER_BYTES, sequences)


def _layer_width(architecture: Architecture, layout: Layout) -> int:
    """Elements of one token that live at once in the widest layer."""
    degree = layout.tensor
    heads, kv_heads = architecture.attention_heads, architecture.kv_heads
    width = 4 * architecture.hidden_size
    width += (heads + 2 * kv_heads) * architecture.head_dim // degree
    latent = next(
        (layer.cache for layer in architecture.layers if isinstance(layer.cache, LatentCache)), None
    )
    if latent is not None:
        row = 2 * architecture.head_dim + latent.rope_dim + latent.latent_dim
        width += heads * row // degree
    return width + max(3 * architecture.dense_width // degree, _expert_width(architecture, layout))


def _expert_width(architecture: Architecture, layout: Layout) -> int:
    """Routed copies of a token with their intermediates."""
    experts = architecture.experts
    if experts is None:
        return 0
    ways = layout.expert if layout.expert > 1 else layout.tensor * layout.data
    return experts.per_token * (3 * experts.width // ways + (experts.latent_dim or architecture.hidden_size))


def _absorbed_by_layer(architecture: Architecture) -> tuple[int, ...]:
    return tuple(
        sum(tensor.parameters for tensor in layer.tensors if tensor.role in _ABSORBED_ROLES)
        for layer in architecture.layers
    )


_absorbed = ByIdentity(_absorbed_by_layer)


def absorbed_bytes(architecture: Architecture, layers: range, tensor_parallel: int) -> int:
    """Bf16 copies of the latent up-projections that MLA decodes with, on one rank.

    They exist after loading (mla_attention.py process_weights_after_loading) and are no part of the
    checkpoint, so they count as buffers and not as weights.
    """
    parameters = _absorbed(architecture)
    return 2 * sum(parameters[layer] for layer in layers) // tensor_parallel


def sparse_workspace_per_token(architecture: Architecture) -> int:
    """Bytes for each token of the longest context that sparse MLA's prefill gathers; 0 without an index."""
    for layer in architecture.layers:
        if layer.index is not None and isinstance(layer.cache, LatentCache):
            return _SPARSE_WORKSPACE_ROWS * 2 * (layer.cache.latent_dim + layer.cache.rope_dim)
    return 0


def cuda_graphs() -> int:
    """Bytes that vLLM sets aside for CUDA graphs before it sizes the pool (since 0.21)."""
    return _CUDA_GRAPHS


def runtime_overhead(layout: Layout) -> int:
    """CUDA context, libraries, and NCCL where several GPUs work together."""
    together = layout.tensor * layout.pipeline * layout.data
    nccl = next((mib for degree, mib in _NCCL_MIB if together >= degree), 0)
    return _RUNTIME + nccl * MIB
