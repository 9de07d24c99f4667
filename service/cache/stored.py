"""How Redis holds an answer: compression, the time of writing, then the bytes; nothing that could execute."""

import zstandard

from service.cache.answers import CachedAnswer

_COMPRESS_FROM = 1024
_LARGEST = 64 * 2**20
_PLAIN, _COMPRESSED = b"0", b"2"
_TIME_BYTES = 5
# The fastest level: whoever publishes an answer has made a caller wait already.
_LEVEL = 1


def packed(answer: CachedAnswer, written: float = 0.0) -> bytes:
    """One digit for plain or compressed (zstd), the Unix time of writing, then the answer."""
    data, when = answer.to_bytes(), int(written).to_bytes(_TIME_BYTES, "big")
    if len(data) <= _COMPRESS_FROM or answer.header("Content-Encoding"):
        return _PLAIN + when + data
    return _COMPRESSED + when + zstandard.ZstdCompressor(level=_LEVEL).compress(data)


def unpacked(value: bytes) -> tuple[int, bytes]:
    """Time of writing and the bytes. Raises ValueError for what `packed` did not write."""
    kind, data = value[:1], value[1 + _TIME_BYTES :]
    when = int.from_bytes(value[1 : 1 + _TIME_BYTES], "big")
    if kind == _PLAIN:
        return when, data
    if kind != _COMPRESSED:
        raise ValueError("neither plain nor compressed")
    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= _LARGEST:
            raise ValueError("of unknown size, or too large")
        return when, zstandard.ZstdDecompressor().decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise ValueError("damaged") from error
