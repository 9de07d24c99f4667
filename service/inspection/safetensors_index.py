"""What a model.safetensors.index.json says of a checkpoint's size."""

from collections.abc import Mapping
from typing import Any

_LARGEST = 2**50


def total_size(index: Mapping[str, Any]) -> int | None:
    """Bytes of all tensors by `metadata.total_size`, None when the index does not say it as a number.

    Source: huggingface_hub serialization; older versions wrote the number as a decimal fraction.
    """
    metadata = index.get("metadata")
    stated = metadata.get("total_size") if isinstance(metadata, Mapping) else None
    if isinstance(stated, bool) or not isinstance(stated, int | float):
        return None
    return int(stated) if 0 < stated <= _LARGEST else None
