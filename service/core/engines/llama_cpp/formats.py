"""Weight formats that llama.cpp loads."""

from service.core.architecture.model import Architecture

_LEGACY = ("q4_0", "q4_1", "q5_0", "q8_0")
_K = ("q2_k", "q3_k_s", "q3_k_m", "q3_k_l", "q4_k_s", "q4_k_m", "q5_k_s", "q5_k_m", "q6_k")
_I = ("iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq4_xs", "iq4_nl", "mxfp4_moe")
_DYNAMIC = (
    "ud-iq1_s",
    "ud-iq2_xxs",
    "ud-iq3_xxs",
    "ud-q2_k_xl",
    "ud-q3_k_xl",
    "ud-q4_k_xl",
    "ud-q5_k_xl",
    "ud-q6_k_xl",
    "ud-q8_k_xl",
)
_SIXTEEN_BIT = ("bf16", "fp16")

GGUF_FORMATS: frozenset[str] = frozenset((*_LEGACY, *_K, *_I, *_DYNAMIC))
FORMATS: frozenset[str] = GGUF_FORMATS | {*_SIXTEEN_BIT, "native"}

# GGUF architectures whose published MXFP4 experts the converter repacks without loss, the rest 16 bit.
_REPACKED_MXFP4 = frozenset({"gpt-oss"})


def loads_native(architecture: Architecture) -> bool:
    """Whether GGUF holds the published values unchanged: a 16-bit checkpoint, or MXFP4 that is repacked."""
    native = architecture.native.name
    if native in _SIXTEEN_BIT:
        return True
    return native == "mxfp4" and architecture.gguf_architecture in _REPACKED_MXFP4
