"""The file types of llama-quantize as data: base type and what each kind of tensor gets instead.

Source: llama.cpp src/llama-quant.cpp, llama_ftype_get_default_type and llama_tensor_get_type_impl. Without an
importance matrix, except for the types that cannot be made without one (IQ3_XXS, IQ2_*, IQ1_*).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from service.core.weights.block_types import GgmlType
from service.core.weights.gguf_rules import (
    Rule,
    always,
    first,
    first_part,
    grouped,
    grouped_or_experts,
    more_bits,
    unchanged,
)

Q8_0, Q6_K, Q5_K, Q4_K, Q3_K, Q2_K = (
    GgmlType.Q8_0,
    GgmlType.Q6_K,
    GgmlType.Q5_K,
    GgmlType.Q4_K,
    GgmlType.Q3_K,
    GgmlType.Q2_K,
)


@dataclass(frozen=True, slots=True)
class Scheme:
    """One file type. A type that is None stands for the base type.

    value: attn_v, attn_qkv and attn_kv_b; head: the output matrix, or the embedding when both are one.
    eight_experts_output: attn_output of models with exactly eight experts (Mixtral).
    low_bit: the IQ2 and IQ1 family, which has its own exceptions and counts down projections one by one.
    three_dimensional: what tensors with a third dimension get, above every other rule but the head's.
    """

    base: GgmlType
    value: Rule = unchanged
    key: GgmlType | None = None
    query: GgmlType | None = None
    attention_output: GgmlType | None = None
    down: Rule = unchanged
    embedding: GgmlType | None = None
    head: GgmlType = Q6_K
    eight_experts_output: GgmlType | None = None
    low_bit: bool = False
    three_dimensional: GgmlType | None = None


def _low_bit(of: GgmlType, embedding: GgmlType, early: GgmlType, output: GgmlType | None) -> Scheme:
    return Scheme(
        of,
        value=grouped_or_experts(Q4_K, early),
        attention_output=output,
        down=first_part(8, early),
        embedding=embedding,
        head=Q5_K,
        eight_experts_output=Q5_K,
        low_bit=True,
    )


_Q4_K_S = Scheme(Q4_K, value=first(4, Q5_K), down=first_part(8, Q5_K), eight_experts_output=Q5_K)
_IQ4_XS = Scheme(GgmlType.IQ4_XS, value=grouped(Q5_K), down=first_part(8, Q5_K), eight_experts_output=Q5_K)
_Q3_K_S = Scheme(Q3_K, eight_experts_output=Q5_K)

SCHEMES: Mapping[str, Scheme] = {
    "q8_0": Scheme(Q8_0, head=Q8_0),
    "q6_k": Scheme(Q6_K),
    "q5_k_m": Scheme(Q5_K, value=more_bits(Q6_K), down=more_bits(Q6_K)),
    "q5_k_s": Scheme(Q5_K),
    "q5_0": Scheme(GgmlType.Q5_0),
    "q4_k_m": replace(_Q4_K_S, value=more_bits(Q6_K), down=more_bits(Q6_K)),
    "q4_k_s": _Q4_K_S,
    "q4_1": Scheme(GgmlType.Q4_1),
    "q4_0": Scheme(GgmlType.Q4_0),
    "iq4_nl": replace(_IQ4_XS, base=GgmlType.IQ4_NL),
    "iq4_xs": _IQ4_XS,
    "q3_k_l": Scheme(Q3_K, value=always(Q5_K), attention_output=Q5_K, down=always(Q5_K)),
    "q3_k_m": replace(
        _Q3_K_S, value=first(2, Q5_K, Q4_K), attention_output=Q4_K, down=first_part(16, Q5_K, Q4_K)
    ),
    "q3_k_s": _Q3_K_S,
    "iq3_s": Scheme(GgmlType.IQ3_S, value=grouped(Q4_K), eight_experts_output=Q5_K),
    "iq3_xxs": Scheme(
        GgmlType.IQ3_XXS,
        value=grouped(Q4_K),
        key=GgmlType.IQ2_S,
        query=GgmlType.IQ2_S,
        attention_output=GgmlType.IQ3_S,
        embedding=GgmlType.IQ3_S,
        head=Q5_K,
        eight_experts_output=Q5_K,
    ),
    "q2_k": Scheme(
        Q2_K, value=grouped(Q4_K, Q3_K), attention_output=Q3_K, down=always(Q3_K), eight_experts_output=Q5_K
    ),
    "iq2_s": _low_bit(GgmlType.IQ2_XS, GgmlType.IQ3_S, GgmlType.IQ3_S, GgmlType.IQ3_S),
    "iq2_xs": _low_bit(GgmlType.IQ2_XS, Q2_K, Q2_K, None),
    "iq2_xxs": _low_bit(GgmlType.IQ2_XXS, Q2_K, Q2_K, None),
    "iq1_m": _low_bit(GgmlType.IQ1_M, Q2_K, Q2_K, GgmlType.IQ2_XXS),
    "iq1_s": _low_bit(GgmlType.IQ1_S, Q2_K, Q2_K, GgmlType.IQ2_XXS),
    "mxfp4_moe": Scheme(Q8_0, head=Q8_0, three_dimensional=GgmlType.MXFP4),
}
