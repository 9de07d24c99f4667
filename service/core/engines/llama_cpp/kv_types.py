"""Cache types of llama.cpp (`-ctk`, `-ctv`) and the bytes of a row in each."""

from service.core.units import ceil_div

# Elements and bytes of one block: ggml/src/ggml-common.h (block_q8_0: 32 bytes + an f16 scale, ...).
_BLOCKS: dict[str, tuple[int, int]] = {
    "f32": (1, 4),
    "fp16": (1, 2),
    "f16": (1, 2),
    "bf16": (1, 2),
    "q8_0": (32, 34),
    "q5_1": (32, 24),
    "q5_0": (32, 22),
    "q4_1": (32, 20),
    "q4_0": (32, 18),
    "iq4_nl": (32, 18),
}

# `f16` is llama.cpp's own spelling of the API's `fp16`.
KV_TYPES: tuple[str, ...] = tuple(name for name in _BLOCKS if name != "f16")


def row_bytes(cache_type: str, elements: int) -> int:
    """Bytes of a row of `elements` (ggml_row_size), rounded up to whole blocks.

    llama.cpp refuses such a row, see `fits_blocks`. KeyError for a type that is not in `KV_TYPES`.
    """
    block, size = _BLOCKS[cache_type]
    return ceil_div(elements, block) * size


def block_layout(cache_type: str) -> tuple[int, int]:
    """Elements and bytes of one block of the type; plain types have blocks of one element."""
    return _BLOCKS[cache_type]


def fits_blocks(cache_type: str, head_dim: int) -> bool:
    """Whether llama.cpp takes the type for heads of this width, which its block must divide."""
    return head_dim % _BLOCKS[cache_type][0] == 0
