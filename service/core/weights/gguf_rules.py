"""Which type one tensor gets under one file type of llama-quantize, as small rules that a table combines.

Source: llama.cpp src/llama-quant.cpp, llama_tensor_get_type_impl.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from service.core.weights.block_types import GgmlType


class Category(Enum):
    """Broad kinds of tensors that the rules tell apart, found by parts of the name, first match first."""

    HEAD = ("output.weight",)
    EMBEDDING = ("token_embd.weight", "per_layer_token_embd.weight")
    VALUE = ("attn_qkv.weight", "attn_kv_b.weight", "attn_v.weight")
    KEY = ("attn_k.weight",)
    QUERY = ("attn_q.weight",)
    ATTENTION_OUTPUT = ("attn_output.weight",)
    UP_OR_GATE = ("ffn_up", "ffn_gate")
    DOWN = ("ffn_down",)
    OTHER = ()


@lru_cache(maxsize=2**16)
def category(role: str, layer: int | None) -> Category:
    """The category of a role; output and embedding match as whole names, the others inside a layer."""
    for kind in Category:
        if kind in (Category.HEAD, Category.EMBEDDING):
            if layer is None and role in kind.value:
                return kind
        elif any(part in role for part in kind.value):
            return kind
    return Category.OTHER


@dataclass(frozen=True, slots=True)
class Position:
    """Where a tensor stands among its kind: index of count, and the model's head grouping and experts.

    index: a running count, or the layer's number for the down projections of a mixture of experts.
    grouping: query heads per KV head of the first layer, 0 when it has no KV heads.
    """

    index: int
    count: int
    grouping: int
    experts: int


Rule = Callable[[Position], GgmlType | None]


def unchanged(_position: Position) -> None:
    """The file type's base type."""
    return


def always(chosen: GgmlType) -> Rule:
    """One type wherever the tensor stands."""
    return lambda _position: chosen


def more_bits(chosen: GgmlType) -> Rule:
    """The first and the last eighth, and every third between (use_more_bits); else the base type."""

    def rule(at: Position) -> GgmlType | None:
        eighth = at.count // 8
        chosen_here = at.index < eighth or at.index >= 7 * at.count // 8 or (at.index - eighth) % 3 == 2
        return chosen if chosen_here else None

    return rule


def first(number: int, chosen: GgmlType, rest: GgmlType | None = None) -> Rule:
    """The first `number` tensors of the kind, then the rest."""
    return lambda at: chosen if at.index < number else rest


def first_part(divisor: int, chosen: GgmlType, rest: GgmlType | None = None) -> Rule:
    """The first 1/divisor of the layers, then the rest."""
    return lambda at: chosen if at.index < at.count // divisor else rest


def grouped(chosen: GgmlType, rest: GgmlType | None = None) -> Rule:
    """Models with at least four query heads per KV head, then the rest."""
    return lambda at: chosen if at.grouping >= 4 else rest


def grouped_or_experts(chosen: GgmlType, rest: GgmlType) -> Rule:
    """Models with at least four query heads per KV head or four experts, then the rest."""
    return lambda at: chosen if at.grouping >= 4 or at.experts >= 4 else rest
