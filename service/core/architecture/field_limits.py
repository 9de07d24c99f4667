"""Bounds of what a posted config.json may say, so that reading it costs little and means something."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from service.errors import UnsupportedArchitecture

MOST_PARAMETERS = 10**15  # two hundred times the largest published model
_LONGEST_NAME = 200
_DEEPEST = 32  # a published config nests four deep
_MOST_VALUES = 50_000  # per-layer lists of the largest published configs have some hundred entries

# What a field of this name counts -> the largest value, well above any published model's.
_LIMITS = (
    (re.compile(r".*layers?|depth|n_layer|num_\w*(modules|blocks)"), 192),
    (re.compile(r"\w*vocab_size\w*"), 2**31),
    (re.compile(r"\w*experts?\w*|moe_top_?k|moe_k"), 2**16),
    (re.compile(r"\w*_heads?|\w*head_dim|\w*_groups?|\w*(hidden|intermediate|embed\w*)_(size|dim)"), 2**20),
    (re.compile(r"\w*compress_ratios?"), 256),  # the page of the engines that cache compressed entries
    (re.compile(r"n_embd|d_model|dim|n_inner|ffn_dim|d_ff|\w*lora_rank|state_size|\w*_rank"), 2**20),
)
_LARGEST = 10**12  # of every other number, such as token counts


def check_limits(config: Mapping[str, Any], architecture: str) -> None:
    """Refuse what no published config has: deep nesting, masses of values, endless names, absurd sizes.

    Raises UnsupportedArchitecture that names each excessive field, by its path, and its limit.
    """
    excessive: dict[str, int] = {}
    for count, (depth, path, name, value) in enumerate(_values(config)):
        if count > _MOST_VALUES or depth > _DEEPEST or len(name) > _LONGEST_NAME:
            raise UnsupportedArchitecture(architecture, (path.split(".")[0][:_LONGEST_NAME],))
        limit = _limit(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) > limit:
            excessive[path] = limit
    if excessive:
        raise UnsupportedArchitecture(architecture, excessive=excessive)


def _limit(name: str) -> int:
    return next((limit for pattern, limit in _LIMITS if pattern.fullmatch(name)), _LARGEST)


def _values(config: Mapping[str, Any]) -> Iterator[tuple[int, str, str, Any]]:
    """Every value with its depth, path and field name; not recursive, because nesting is the caller's."""
    waiting: list[tuple[int, str, str, Any]] = [(1, name, name, value) for name, value in config.items()]
    while waiting:
        depth, path, name, value = waiting.pop()
        yield depth, path, name, value
        if isinstance(value, Mapping):
            waiting += [(depth + 1, f"{path}.{inner}", inner, held) for inner, held in value.items()]
        elif isinstance(value, list):
            waiting += [(depth + 1, path, name, held) for held in value]
