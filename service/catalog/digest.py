"""One short name for the whole of the facts; every cache key and ETag contains it."""

from collections.abc import Mapping
from hashlib import sha256


def digest(files: Mapping[str, bytes]) -> str:
    """First 16 hex digits of SHA-256 over the names and contents of all fact files, in order of name."""
    total = sha256()
    for name in sorted(files):
        for part in (name.encode(), files[name]):
            total.update(len(part).to_bytes(8, "big"))
            total.update(part)
    return total.hexdigest()[:16]
