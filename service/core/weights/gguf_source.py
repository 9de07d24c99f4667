"""What llama.cpp's converter writes before quantization, and which tensors llama-quantize leaves alone."""

from collections.abc import Mapping
from functools import lru_cache

from service.core.architecture.tensors import Dtype, Tensor, TensorClass
from service.core.weights.block_types import GgmlType

# llama.cpp conversion/base.py prepare_tensors: kept in 32 bit whatever the output type.
_ALWAYS_F32 = (
    "ffn_gate_inp.weight",
    "ffn_gate_inp_shexp.weight",
    "ssm_conv1d.weight",
    "ssm_conv1d_q.weight",
    "ssm_conv1d_k.weight",
    "ssm_conv1d_v.weight",
    "shortconv.conv.weight",
    "altup_correct_coef.weight",
    "altup_predict_coef.weight",
    "indexer.proj.weight",
)

# tensor_force_quant of conversion/minimax.py and conversion/glm.py: parts of a name that mean 32 bit.
_F32_BY_ARCHITECTURE: Mapping[str, tuple[str, ...]] = {
    "minimax-m3": ("indexer.",),
    "glm5-next": ("hc_attn_", "hc_ffn_", "indexer_compressor_", "ssm_a", "ssm_dt", "exp_probs_b"),
}

# llama.cpp src/llama-quant.cpp tensor_allows_quantization: parts of a name that are never quantized.
_NEVER = (
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
)
_NEVER_BY_ARCHITECTURE: Mapping[str, tuple[str, ...]] = {
    "glm5-next": (
        "hc_",
        "indexer.attn_q_b",
        "indexer.attn_k",
        "indexer.proj",
        "indexer_compressor_gate",
        "indexer_compressor_ape",
        "ssm_f_a.weight",
        "ssm_f_b.weight",
        "ssm_g_a.weight",
        "ssm_g_b.weight",
        "ssm_beta.weight",
        "attn_kv_a_mqa.weight",
        "attn_k_b.weight",
        "attn_v_b.weight",
    ),
}

# conversion/deepseek.py DeepseekV4Model: FP8 matrices of these classes become Q8_0 instead of 16 bit. Shared
# experts stay 16 bit as in the file that llama-quantize was run on.
_FP8_AS_Q8_0: Mapping[str, frozenset[TensorClass]] = {
    "deepseek4": frozenset({TensorClass.ATTENTION, TensorClass.INDEXER})
}


@lru_cache(maxsize=2**16)
def dimensions(shape: tuple[int, ...]) -> int:
    """GGML's number of dimensions: leading ones do not count (ggml_n_dims), and there is at least one."""
    leading = next((i for i, size in enumerate(shape) if size != 1), len(shape) - 1)
    return len(shape) - leading


@lru_cache(maxsize=2**16)
def quantizable(role: str, shape: tuple[int, ...], architecture: str | None) -> bool:
    """Whether llama-quantize may change the tensor (src/llama-quant.cpp tensor_allows_quantization)."""
    if dimensions(shape) < 2 or not role.endswith("weight"):
        return False
    kept = _NEVER + _NEVER_BY_ARCHITECTURE.get(architecture or "", ())
    return not any(part in role for part in kept)


def source_type(
    tensor: Tensor, architecture: str | None, sixteen: GgmlType = GgmlType.BF16, native: str | None = None
) -> GgmlType:
    """The type in the converter's own output, for an output type of 16 bit.

    native: the encoding of the tensor in the published checkpoint; MXFP4 experts are repacked as they are
    (conversion/base.py repack_mxfp4_blocks), other encodings are expanded.
    """
    if tensor.dtype is Dtype.I64:
        return GgmlType.I32  # conversion/deepseek.py _write_hash_routing_tensors
    if len(tensor.shape) <= 1 or tensor.role.endswith("_norm.weight"):
        return GgmlType.F32
    if native == "mxfp4" and tensor.tensor_class is TensorClass.ROUTED_EXPERTS:
        return GgmlType.MXFP4
    forced = _F32_BY_ARCHITECTURE.get(architecture or "", ())
    if tensor.role.endswith(_ALWAYS_F32) or any(part in tensor.role for part in forced):
        return GgmlType.F32
    if native and tensor.tensor_class in _FP8_AS_Q8_0.get(architecture or "", ()):
        return GgmlType.Q8_0
    return sixteen if tensor.role.endswith(".weight") else GgmlType.F32
