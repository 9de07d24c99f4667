"""The numbers that GGUF files give tensor types and file types.

Source: ggml.h enum ggml_type and llama.h enum llama_ftype, as gguf-py 0.19.0 constants.py has them.
"""

from collections.abc import Mapping

from service.core.weights.block_types import GgmlType

TENSOR_TYPES: Mapping[int, GgmlType] = {
    0: GgmlType.F32,
    1: GgmlType.F16,
    2: GgmlType.Q4_0,
    3: GgmlType.Q4_1,
    6: GgmlType.Q5_0,
    7: GgmlType.Q5_1,
    8: GgmlType.Q8_0,
    10: GgmlType.Q2_K,
    11: GgmlType.Q3_K,
    12: GgmlType.Q4_K,
    13: GgmlType.Q5_K,
    14: GgmlType.Q6_K,
    16: GgmlType.IQ2_XXS,
    17: GgmlType.IQ2_XS,
    18: GgmlType.IQ3_XXS,
    19: GgmlType.IQ1_S,
    20: GgmlType.IQ4_NL,
    21: GgmlType.IQ3_S,
    22: GgmlType.IQ2_S,
    23: GgmlType.IQ4_XS,
    26: GgmlType.I32,
    27: GgmlType.I64,
    29: GgmlType.IQ1_M,
    30: GgmlType.BF16,
    34: GgmlType.TQ1_0,
    35: GgmlType.TQ2_0,
    39: GgmlType.MXFP4,
    40: GgmlType.NVFP4,
    41: GgmlType.Q1_0,
}
# Plain types that no model file of ours needs, but that a file may hold: bytes an element.
PLAIN_BYTES: Mapping[int, int] = {24: 1, 25: 2, 28: 8}

# general.file_type -> weight format of the API.
FILE_TYPES: Mapping[int, str] = {
    1: "fp16",
    2: "q4_0",
    3: "q4_1",
    7: "q8_0",
    8: "q5_0",
    10: "q2_k",
    11: "q3_k_s",
    12: "q3_k_m",
    13: "q3_k_l",
    14: "q4_k_s",
    15: "q4_k_m",
    16: "q5_k_s",
    17: "q5_k_m",
    18: "q6_k",
    19: "iq2_xxs",
    20: "iq2_xs",
    23: "iq3_xxs",
    24: "iq1_s",
    25: "iq4_nl",
    26: "iq3_s",
    28: "iq2_s",
    30: "iq4_xs",
    31: "iq1_m",
    32: "bf16",
    38: "mxfp4_moe",
}
