"""Cache types of mlx-lm: the activation type, or groups of 64 quantized values (`--kv-bits`).

`int8-g64` means `--kv-bits 8 --kv-group-size 64`, `int4-g64` the same with 4 bits.
"""

GROUP = 64  # --kv-group-size
_SCALES_BYTES = 4  # a 16-bit scale and a 16-bit bias beside each group
_QUANTIZED_BITS = {"int8-g64": 8, "int4-g64": 4}

KV_TYPES: tuple[str, ...] = ("bf16", "fp16", *_QUANTIZED_BITS)


def quantized(dtype: str) -> bool:
    """Whether the type is one of `--kv-bits`."""
    return dtype in _QUANTIZED_BITS


def row_bytes(dtype: str, elements: int) -> int:
    """Bytes of a row of one head: 8.5 or 4.5 bits an element in groups of 64, else 16.

    mlx-lm 0.32.2 models/cache.py QuantizedKVCache; a row that groups do not divide is refused there.
    """
    if not quantized(dtype):
        return 2 * elements
    return elements * _QUANTIZED_BITS[dtype] // 8 + elements // GROUP * _SCALES_BYTES
