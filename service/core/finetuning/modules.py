"""The modules of a model that a trainer sees: linear layers by the names that Hugging Face gives them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from service.core.architecture.model import Architecture
from service.core.architecture.tensors import Tensor, TensorClass
from service.core.identity import ByIdentity

_SUFFIX = ".weight"
# GGUF role -> module names of transformers, where they differ; a role also answers to itself.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "attn_q": ("q_proj",),
    "attn_k": ("k_proj",),
    "attn_v": ("v_proj",),
    "attn_output": ("o_proj",),
    "attn_qkv": ("qkv_proj", "in_proj_qkv"),
    "attn_qkvz": ("in_proj_qkvz",),
    "attn_gate": ("g_proj", "in_proj_z"),
    "attn_q_a": ("q_a_proj", "wq_a"),
    "attn_q_b": ("q_b_proj", "wq_b"),
    "attn_kv_a_mqa": ("kv_a_proj_with_mqa",),
    "attn_kv_b": ("kv_b_proj",),
    "attn_kv": ("wkv",),
    "attn_output_a": ("wo_a",),
    "attn_output_b": ("wo_b",),
    "ssm_alpha": ("in_proj_a",),
    "ssm_beta": ("b_proj", "in_proj_b"),
    "ssm_ba": ("in_proj_ba",),
    "ssm_f_a": ("f_a_proj",),
    "ssm_f_b": ("f_b_proj",),
    "ssm_g": ("g_proj",),
    "ssm_g_a": ("g_a_proj",),
    "ssm_g_b": ("g_b_proj",),
    "ssm_in": ("in_proj",),
    "ssm_out": ("out_proj",),
    "shortconv.in_proj": ("in_proj",),
    "shortconv.out_proj": ("out_proj",),
    "ffn_gate": ("gate_proj",),
    "ffn_up": ("up_proj", "gate_up_proj"),
    "ffn_down": ("down_proj",),
    "ffn_gate_shexp": ("gate_proj",),
    "ffn_up_shexp": ("up_proj",),
    "ffn_down_shexp": ("down_proj",),
    "ffn_gate_inp_shexp": ("shared_expert_gate",),
    "ffn_gate_up_exps": ("experts.gate_up_proj",),
    "ffn_up_exps": ("experts.up_proj",),
    "ffn_down_exps": ("experts.down_proj",),
}
_NOT_ADAPTED = frozenset({TensorClass.EMBEDDING, TensorClass.OUTPUT, TensorClass.VISION})


@dataclass(frozen=True, slots=True)
class Linear:
    """One linear layer, or one stacked matrix of all routed experts.

    role: GGUF name without suffix; columns: inputs, rows: outputs; experts: 1 for an ordinary layer.
    """

    role: str
    columns: int
    rows: int
    tensor_class: TensorClass
    experts: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names that a caller may use for it."""
        return (*_NAMES.get(self.role, ()), self.role)

    @property
    def parameters(self) -> int:
        """Elements of the weight."""
        return self.experts * self.rows * self.columns

    def adapter_parameters(self, rank: int) -> int:
        """Parameters of a LoRA pair: rank x inputs and outputs x rank, for each expert.

        Source: peft tuners/lora/layer.py (lora_A, lora_B; ParamWrapper for stacked experts).
        """
        return rank * self.experts * (self.columns + self.rows)


def _of_tensors(tensors: tuple[Tensor, ...]) -> tuple[Linear, ...]:
    """The linear layers of one decoder layer, what GGUF split joined again."""
    found = {linear.role: linear for linear in map(_read, tensors) if linear is not None}
    # kv_b_proj is one module; llama.cpp keeps its key half transposed (conversion/deepseek.py).
    _join(found, "attn_kv_b", "attn_v_b", "attn_k_b")
    if "ssm_ba" in found:  # Qwen3-Next projects queries, keys, values and gate at once
        _join(found, "attn_qkvz", "attn_qkv", "attn_gate")
    # transformers 5 stacks gate and up of all experts in one parameter (integrations/moe.py).
    _join(found, "ffn_gate_up_exps", "ffn_gate_exps", "ffn_up_exps")
    return tuple(found.values())


layer_linears: ByIdentity[tuple[Tensor, ...], tuple[Linear, ...]] = ByIdentity(_of_tensors)


def linears(architecture: Architecture) -> Iterator[Linear]:
    """Every linear layer of the text model that can carry an adapter; no output matrix, MTP or vision."""
    for tensors in chain((architecture.outer,), (layer.tensors for layer in architecture.layers)):
        yield from layer_linears(tensors)


def _read(tensor: Tensor) -> Linear | None:
    role = tensor.role.removesuffix(_SUFFIX)
    if not tensor.in_checkpoint or tensor.tensor_class in _NOT_ADAPTED:
        return None
    if role == "ffn_gate_inp_shexp":  # a matrix of one row, which GGUF keeps as a vector
        return Linear(role, tensor.shape[-1], 1, tensor.tensor_class)
    if not tensor.linear:
        return None
    if tensor.tensor_class is TensorClass.ROUTED_EXPERTS:
        experts, rows, columns = tensor.shape
        return Linear(role, columns, rows, tensor.tensor_class, experts)
    if role == "attn_k_b":  # (heads, latent, nope): outputs are the nope dimensions of every head
        heads, columns, rows = tensor.shape
        return Linear(role, columns, heads * rows, tensor.tensor_class)
    *outer, columns = tensor.shape
    rows = 1
    for size in outer:
        rows *= size
    return Linear(role, columns, rows, tensor.tensor_class)


def _join(found: dict[str, Linear], role: str, first: str, second: str) -> None:
    """Two layers over the same input as the one module that they are."""
    if first in found and second in found:
        one, other = found.pop(first), found.pop(second)
        found[role] = Linear(role, one.columns, one.rows + other.rows, one.tensor_class, one.experts)
