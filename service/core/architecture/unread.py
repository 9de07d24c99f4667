"""Config fields that the generic rule does not understand, and in which direction that errs."""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum

from service.core.architecture.config import Config
from service.core.notes import Note

_MOST_NAMED = 12  # fields that one remark names
_LONGEST_NAME = 80


class Direction(StrEnum):
    """What ignoring a field does to the figures; the value is the code of the remark."""

    CACHE_TOO_LARGE = "config_fields_read_cache_too_large"
    TOO_LARGE = "config_fields_read_too_large"
    TOO_SMALL = "config_fields_read_too_small"
    EITHER = "config_fields_read_either_way"


_CACHE, _LARGE, _SMALL, _EITHER = Direction

# Layers that keep a state of constant size, or share a cache, are read as attention of their own.
_PATTERNS = (
    (_CACHE, r"(linear|mamba|ssm|conv|kda|gdn|delta|rwkv|lru|recurrent|short_conv|time_step)_\w+|state_size"),
    (_CACHE, r"(full_)?attn_(layer_\w+|idxs)|full_attention_interval|hybrid_\w+|num_memory_blocks"),
    (_CACHE, r"num_kv_shared_layers|use_cla|cla_\w+|cross_layer_\w+|compress_ratios"),
    (_LARGE, r"block_configs|routed_expert_hidden_size|moe_latent_\w+|zero_expert\w*"),
    (_SMALL, r"index(er)?_\w+|engram_\w+|ngram_\w+|ple_\w+|hc_\w+|mhc_\w+|altup_\w+|laurel_\w+"),
    (_SMALL, r"\w+_per_layer_input|num_nextn_predict_layers|num_mtp_\w+|mtp_\w+"),
    (_SMALL, r"(vision|visual|audio|speech|image|video|talker|code2wav)\w*_config|vision_tower|visual"),
    (_EITHER, r"swa_\w+|global_\w+|intermediate_size_\w+|\w+_list"),
)
_RULES = tuple((direction, re.compile(pattern)) for direction, pattern in _PATTERNS)


def remarks(config: Config, noticed: Mapping[str, Direction]) -> tuple[Note, ...]:
    """One remark for each direction with the fields that err that way.

    noticed: fields that the reader itself could not use, which no pattern tells.
    """
    fields: dict[str, Direction] = {**dict(_unread(config)), **noticed}
    return tuple(
        Note(direction.value, {"fields": names[:_MOST_NAMED]})
        for direction in Direction
        if (names := sorted(name for name, found in fields.items() if found is direction))
    )


def _unread(config: Config) -> Iterator[tuple[str, Direction]]:
    """Fields of the language model and beside it that say something, by the first pattern that matches."""
    for place in (config.published, config.text):
        for name, value in place.items():
            if not value or len(name) > _LONGEST_NAME or name.endswith("dtype"):
                continue
            for direction, pattern in _RULES:
                if pattern.fullmatch(name):
                    yield name, direction
                    break
