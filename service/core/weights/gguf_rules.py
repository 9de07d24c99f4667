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
def category(role: str, *, inside: bool) -> Category:
    """The category of a role; output and embedding match as whole names, and not inside a layer."""
    for kind in Category:
        if kind in (Category.HEAD, Category.EMBEDDING):
            if not inside and role in kind.value:
                return kind
        elif any(part in role for part in kind.value):
            return kind
    return Category.OTHER


@dataclass(frozen=True, slots=True)
class Among:
    """What a tensor stands among: how many of its kind, and the model's head grouping and experts.

    grouping: query heads per KV head of the first layer, 0 when it has no KV heads.
    """

    count: int
    grouping: int
    experts: int


# (model, place among the kind: a running count, or the layer's number for the down projections of experts)
Rule = Callable[[Among, int], GgmlType | None]


def unchanged(_among: Among, _place: int) -> None:
    """The file type's base type."""
    return


def always(chosen: GgmlType) -> Rule:
    """One type wherever the tensor stands."""
    return lambda _among, _place: chosen


def more_bits(chosen: GgmlType) -> Rule:
    """The first and the last eighth, and every third between (use_more_bits); else the base type."""

    def rule(among: Among, place: int) -> GgmlType | None:
        eighth = among.count // 8
        chosen_here = place < eighth or place >= 7 * among.count // 8 or (place - eighth) % 3 == 2
        return chosen if chosen_here else None

    return rule


def first(number: int, chosen: GgmlType, rest: GgmlType | None = None) -> Rule:
    """The first `number` tensors of the kind, then the rest."""
    return lambda _among, place: chosen if place < number else rest


def first_part(divisor: int, chosen: GgmlType, rest: GgmlType | None = None) -> Rule:
    """The first 1/divisor of the layers, then the rest."""
    return lambda among, place: chosen if place < among.count // divisor else rest


def grouped(chosen: GgmlType, rest: GgmlType | None = None) -> Rule:
    """Models with at least four query heads per KV head, then the rest."""
    return lambda among, _place: chosen if among.grouping >= 4 else rest


def grouped_or_experts(chosen: GgmlType, rest: GgmlType) -> Rule:
    """Models with at least four query heads per KV head or four experts, then the rest."""
    return lambda among, _place: chosen if among.grouping >= 4 or among.experts >= 4 else rest
