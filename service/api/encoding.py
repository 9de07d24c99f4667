"""JSON on the way out."""

import json

import orjson


def to_json(value: object) -> bytes:
    """A value as UTF-8 JSON; whole numbers of any size are written out, NaN and infinity are not possible."""
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    except orjson.JSONEncodeError:  # orjson stops at 64 bits; absurd but valid scenarios do not
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
