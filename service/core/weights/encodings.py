"""Bytes of one matrix in the encodings of safetensors and MLX checkpoints.

A matrix is (rows, row length), or (experts, rows, row length), every expert encoded alone. Scales are counted
per block, the last block of a dimension as a whole one, as every quantizer stores them.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import prod

from service.core.units import ceil_div

Shape = tuple[int, ...]
Encoding = Callable[[Shape], int]


def _parts(shape: Shape) -> tuple[int, int, int]:
    """Number of matrices, rows and row length of one."""
    rows = shape[-2] if len(shape) > 1 else 1
    return prod(shape[:-2]), rows, shape[-1]


def blocks(
    shape: Shape, *, bits: int, rows: int, columns: int, scale_bytes: int, matrix_bytes: int = 0
) -> int:
    """Values of `bits` and one scale per block of rows x columns; matrix_bytes: extra scales of a matrix."""
    matrices, height, width = _parts(shape)
    values = ceil_div(height * width * bits, 8)
    scales = ceil_div(height, rows) * ceil_div(width, columns) * scale_bytes
    return matrices * (values + scales + matrix_bytes)


def per_row(shape: Shape, *, bits: int, scale_bytes: int) -> int:
    """Values of `bits` and one scale per output channel."""
    return blocks(shape, bits=bits, rows=1, columns=max(shape[-1], 1), scale_bytes=scale_bytes)


def packed_groups(shape: Shape, *, bits: int, group: int, index_bytes: int = 0) -> int:
    """GPTQ, AWQ: a 16-bit scale and packed zero point per group of a row; index_bytes: g_idx per column."""
    matrices, height, width = _parts(shape)
    groups = ceil_div(width, group)
    zeros = groups * ceil_div(height * bits, 32) * 4  # packed into int32 words along the rows
    return matrices * (ceil_div(height * width * bits, 8) + groups * height * 2 + zeros + index_bytes * width)


def double_quantized(shape: Shape) -> int:
    """bitsandbytes NF4: an 8-bit scale per 64 values, and a 32-bit scale per 256 of those."""
    count = prod(shape)
    scales = ceil_div(count, 64)
    return ceil_div(count, 2) + scales + 4 * ceil_div(scales, 256)


def affine(shape: Shape, *, bits: int, group: int = 64) -> int:
    """MLX: values of `bits`, a 16-bit scale and a 16-bit bias per group of a row."""
    return blocks(shape, bits=bits, rows=1, columns=group, scale_bytes=4)


def plain(shape: Shape, *, size: int) -> int:
    """Elements of `size` bytes."""
    return prod(shape) * size


ENCODINGS: Mapping[str, Encoding] = {
    "bf16": partial(plain, size=2),
    "fp16": partial(plain, size=2),
    "f32": partial(plain, size=4),
    "i64": partial(plain, size=8),
    "fp8_block_128": partial(blocks, bits=8, rows=128, columns=128, scale_bytes=4),
    "fp8_block_128_e8m0": partial(blocks, bits=8, rows=128, columns=128, scale_bytes=1),
    "fp8_block_32": partial(blocks, bits=8, rows=32, columns=32, scale_bytes=1),
    "fp8_tensor": partial(blocks, bits=8, rows=2**62, columns=2**62, scale_bytes=4),
    "fp8_channel": partial(per_row, bits=8, scale_bytes=4),
    "int8_channel": partial(per_row, bits=8, scale_bytes=2),
    "mxfp8": partial(blocks, bits=8, rows=1, columns=32, scale_bytes=1),
    "mxfp4": partial(blocks, bits=4, rows=1, columns=32, scale_bytes=1),
    "nvfp4": partial(blocks, bits=4, rows=1, columns=16, scale_bytes=1, matrix_bytes=4),
    "int4_group_32": partial(blocks, bits=4, rows=1, columns=32, scale_bytes=2),
    "int4_group_128": partial(blocks, bits=4, rows=1, columns=128, scale_bytes=2),
    "awq_group_128": partial(packed_groups, bits=4, group=128),
    "gptq_group_128": partial(packed_groups, bits=4, group=128, index_bytes=4),
    "nf4": double_quantized,
    **{f"affine_{bits}": partial(affine, bits=bits) for bits in (3, 4, 5, 6, 8)},
}
