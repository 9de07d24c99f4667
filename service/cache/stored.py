"""How Redis holds an answer: compression, the time of writing, then the bytes; nothing that could execute."""

import zlib

from service.cache.answers import CachedAnswer

_COMPRESS_FROM = 1024
_LARGEST = 64 * 2**20
_PLAIN, _DEFLATED = b"0", b"1"
_TIME_BYTES = 5


def packed(answer: CachedAnswer, written: float = 0.0) -> bytes:
    """One digit for plain or deflated, the Unix time of writing, then the answer."""
    data, when = answer.to_bytes(), int(written).to_bytes(_TIME_BYTES, "big")
    if len(data) <= _COMPRESS_FROM or answer.header("Content-Encoding"):
        return _PLAIN + when + data
    return _DEFLATED + when + zlib.compress(data, level=1)


def unpacked(value: bytes) -> tuple[int, bytes]:
    """Time of writing and the bytes. Raises ValueError or zlib.error for what `packed` did not write."""
    kind, data = value[:1], value[1 + _TIME_BYTES :]
    when = int.from_bytes(value[1 : 1 + _TIME_BYTES], "big")
    if kind == _PLAIN:
        return when, data
    if kind != _DEFLATED:
        raise ValueError("neither plain nor deflated")
    inflater = zlib.decompressobj()
    result = inflater.decompress(data, _LARGEST)
    if not inflater.eof:
        raise ValueError("cut off or too large")
    return when, result
