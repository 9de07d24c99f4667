"""JSON on the way out."""

import json

import orjson


def to_json(value: object) -> bytes:
    """A value as UTF-8 JSON; whole numbers of any size are written out, arrays of numbers are lists.

    NaN, which only arrays may hold, is null; infinity is not possible.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY)
    except orjson.JSONEncodeError:  # orjson stops at 64 bits; absurd but valid scenarios do not
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
