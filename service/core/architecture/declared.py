"""What a config states for engines and no layer shows: sizes of its vision_config, a type for its cache."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from service.core.architecture.config import Config
from service.core.architecture.model import Architecture


def with_declarations(architecture: Architecture, config: Config) -> Architecture:
    """The architecture with the vision sizes and the KV type that the config names."""
    return replace(
        architecture, vision_config=_vision_config(config.vision), kv_cache_dtype=_kv_cache_dtype(config)
    )


def _vision_config(vision: Mapping[str, Any] | None) -> tuple[int | None, int | None] | None:
    if vision is None:
        return None
    return _size(vision.get("num_hidden_layers")), _size(vision.get("hidden_size"))


def _size(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _kv_cache_dtype(config: Config) -> str | None:
    """`fp8` where ModelOpt or compressed-tensors quantized the cache to eight-bit floats."""
    quantization = config.get("quantization_config")
    if not isinstance(quantization, Mapping):
        return None
    if str(quantization.get("kv_cache_quant_algo") or "").upper() == "FP8":
        return "fp8"
    scheme = quantization.get("kv_cache_scheme")
    eight_bit_float = (
        isinstance(scheme, Mapping) and scheme.get("type") == "float" and scheme.get("num_bits") == 8
    )
    return "fp8" if eight_bit_float else None
