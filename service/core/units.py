"""Units: bytes are integers, a GiB is 2**30 bytes, a GB is 10**9 bytes, and they never meet in a sum."""

MIB = 2**20
GIB = 2**30
GB = 10**9


def gib(amount_bytes: int) -> float:
    """Bytes as GiB, rounded to two places for print."""
    return round(amount_bytes / GIB, 2)


def ceil_div(numerator: int, denominator: int) -> int:
    """The smallest integer not below numerator / denominator (denominator > 0)."""
    return -(-numerator // denominator)


def pad(value: int, multiple: int) -> int:
    """The smallest multiple of `multiple` not below `value`."""
    return ceil_div(value, multiple) * multiple
