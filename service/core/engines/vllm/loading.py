"""What loading a model takes beside the tensors of its checkpoint: copies, tables, kernel padding.

Sources: vLLM 0.33.0 model_executor/layers/attention/mla_attention.py process_weights_after_loading,
model_executor/layers/rotary_embedding/base.py _compute_cos_sin_cache, fused_moe/oracle/mxfp4.py
mxfp4_round_up_hidden_size_and_intermediate_size.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import ceil

from service.core.architecture.caches import KeyValueCache, LatentCache
from service.core.architecture.model import Architecture
from service.core.architecture.tensors import TensorClass
from service.core.engines.vllm.generation import Generation
from service.core.identity import ByIdentity
from service.core.scenario import Layout
from service.core.units import pad
from service.core.weights.table import WeightTable

# A kernel's latent up-projections are copied as bf16 W_UK and W_UV after loading.
_ABSORBED_ROLES = frozenset({"attn_k_b.weight", "attn_v_b.weight"})
_TABLE_ELEMENT = 2  # cosines and sines in the model's 16-bit type
# Linear scaling multiplies the positions, which max_position_embeddings already counts scaled
# (rotary_embedding/linear_scaling_rope.py; rope_scaling of google/gemma-3-*-it, global layers).
_LINEAR_SCALING = {"Gemma3ForConditionalGeneration": 8}
_PADDED_HIDDEN = 256
_MARLIN_WIDTH = 128
# Experts with biases (gpt-oss) run on Triton kernels on sm90 and on TensorRT-LLM's on sm100.
_BIASED_WIDTH = {Generation.HOPPER: 64, Generation.BLACKWELL_DATACENTER: 256}
_EXPERT_BIAS = "ffn_down_exps.bias"


def _absorbed_before(architecture: Architecture) -> tuple[int, ...]:
    """Parameters of these roles in the layers before each, and in all."""
    own = (
        sum(tensor.parameters for tensor in layer.tensors if tensor.role in _ABSORBED_ROLES)
        for layer in architecture.layers
    )
    return tuple(accumulate(own, initial=0))


_absorbed = ByIdentity(_absorbed_before)


def absorbed_bytes(architecture: Architecture, layers: range, tensor_parallel: int) -> int:
    """Bf16 copies of the latent up-projections that MLA decodes with, on one rank.

    They exist after loading and are no part of the checkpoint, so they count as buffers and not as weights.
    """
    parameters = _absorbed(architecture)
    return 2 * (parameters[layers.stop] - parameters[layers.start]) // tensor_parallel


def _rotary(architecture: Architecture) -> int:
    widths: dict[tuple[str, int], int] = {}
    for layer in architecture.layers:
        if isinstance(layer.cache, KeyValueCache):
            reach = layer.cache.reach
            scaled = _LINEAR_SCALING.get(architecture.engine_class, 1) if reach.value == "full" else 1
            widths[reach.value, layer.cache.key_dim] = layer.cache.key_dim * scaled
        elif isinstance(layer.cache, LatentCache):
            widths["latent", layer.cache.rope_dim] = layer.cache.rope_dim
    return _TABLE_ELEMENT * architecture.max_context_tokens * sum(widths.values())


_rotary_bytes = ByIdentity(_rotary)


def rotary_bytes(architecture: Architecture) -> int:
    """Cosines and sines of every position, one table for each kind of attention, whole on every rank.

    Heads that rotate only a part, or nothing, are counted whole: up to 0.1 GiB too much.
    """
    return _rotary_bytes(architecture)


@dataclass(frozen=True, slots=True)
class FourBitExperts:
    """MXFP4 routed experts of a table: bytes by layer, and whether they have biases, as gpt-oss's do."""

    by_layer: Mapping[int, int]
    biased: bool


def _four_bit(table: WeightTable) -> FourBitExperts:
    by_layer: Counter[int] = Counter()
    biased = False
    for weighed in table.tensors:
        if weighed.tensor.tensor_class is TensorClass.ROUTED_EXPERTS and weighed.layers:
            biased = biased or weighed.tensor.role == _EXPERT_BIAS
            if weighed.encoding == "mxfp4":
                by_layer.update(dict.fromkeys(weighed.layers, weighed.bytes))
    return FourBitExperts(by_layer, biased)


_four_bit_experts = ByIdentity(_four_bit)


def padding_bytes(
    table: WeightTable, architecture: Architecture, layout: Layout, generation: Generation, layers: range
) -> int:
    """What the kernels for MXFP4 experts add to the checkpoint's bytes on one rank; 0 for other formats.

    Every kernel wants rows of a multiple of 256 and a width on the rank of a multiple of 64 to 256. Triton's
    (sm90) swizzles rows likewise: gpt-oss-120b takes 64.38 GiB there (vLLM issue 33155).
    """
    experts, stored = architecture.experts, _four_bit_experts(table)
    if experts is None or not stored.by_layer:
        return 0
    ranks = layout.expert if layout.expert > 1 else layout.tensor * layout.data
    width = Fraction(experts.width, 1 if layout.expert > 1 else ranks)
    hidden = experts.latent_dim or architecture.hidden_size
    multiple = _BIASED_WIDTH.get(generation, _MARLIN_WIDTH) if stored.biased else _MARLIN_WIDTH
    padded = pad(hidden, _PADDED_HIDDEN) * pad(ceil(width), multiple)
    here = sum(stored.by_layer.get(layer, 0) for layer in layers)
    return int(here / ranks * (padded / (hidden * width) - 1))
