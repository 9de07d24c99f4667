"""Inputs of every parser, damaged: the same number always gives the same damage."""

import csv
import io
import json
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any
from urllib.parse import urlencode

import yaml

from tests.mutations import WRONG, mutated
from tests.operators import example
from tests.published import models
from tests.unit.test_inspection import TINY, gguf
from tests.uploads import MEASUREMENTS, ROW, Site

INSPECT, SIZING, MATRIX, PLAN = "/v1/models/inspect", "/v1/sizing", "/v1/matrix", "/v1/plan"
MOST_CPU_SECONDS = 2.0
_FORM, _GGUF, _CSV = "application/json", "application/octet-stream", "text/csv"
_ODD_BYTES = (
    b"",
    b"\0",
    b"\xff" * 8,
    b"\x80",
    b'"',
    b"{",
    b"[",
    b",",
    b"\n",
    b"=",
    b"&",
    b"%",
    b"-",
    b"9" * 40,
)
_QUERIES: tuple[tuple[str, Mapping[str, Any]], ...] = (
    (SIZING, {"model": "qwen3-8b", "gpu": "rtx-4090", "gpu_count": 2, "context_tokens": 8192, "lang": "de"}),
    (SIZING, {"model": "deepseek-r1-0528-671b", "gpu": "b200", "engine": "vllm", "kv_cache_dtype": "fp8"}),
    (PLAN, {"model": "qwen3-32b", "context_tokens": 32768, "hours_per_day": 8}),
    (MATRIX, {"models": "qwen3-8b", "gpus": "h100,b200", "quantizations": "native,q8_0", "contexts": "4096"}),
    (MEASUREMENTS, {"model": "qwen3-8b", "limit": 3, "sort": "model"}),
    ("/v1/fragments/memory", {"model": "gemma-3-27b-it", "gpu": "rtx-4090", "lang": "zh-Hans"}),
    ("/v1/finetuning", {"model": "qwen3-8b", "gpu": "h100", "method": "qlora"}),
)


@dataclass(frozen=True)
class Input:
    """What is sent: a request, or the file of an operator where there is no method."""

    kind: str
    what: str
    path: str
    content: bytes
    media_type: str = _FORM

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}; {len(self.content)} bytes {self.content[:400]!r}"


def damaged_bytes(content: bytes, choose: Random, others: Sequence[bytes] = ()) -> bytes:
    """One to four times: a bit, a number, a cut, a repetition, something odd, or a piece of another."""
    found = bytearray(content)
    for _ in range(choose.randint(1, 4)):
        size = len(found)
        at = choose.randrange(size + 1)
        end = min(size, at + choose.choice([1, 2, 4, 8, 64, 1024]))
        match choose.randrange(7):
            case 0 if at < size:
                found[at] ^= 1 << choose.randrange(8)
            case 1:
                found[at:end] = choose.choice([0, 1, 255, 2**31, 2**62, 2**64 - 1]).to_bytes(8, "little")
            case 2:
                del found[at:end]
            case 3:
                found[at:at] = bytes(found[at:end]) * choose.choice([1, 2, 50])
            case 4:
                found[at:end] = choose.choice(_ODD_BYTES) * choose.choice([1, 1, 100])
            case 5 if others:
                other = choose.choice(others)
                start = choose.randrange(len(other) + 1)
                found[at:end] = other[start : start + choose.choice([4, 16, 256])]
            case _:
                del found[at:]
    return bytes(found)


def damaged_value(value: Any, choose: Random) -> Any:
    """A JSON value with one thing in it lost, repeated, renamed or replaced by something wrong."""
    value = deepcopy(value)
    inner = list(_places(value))
    holder, key = choose.choice(inner) if inner else (None, None)
    if holder is None or choose.random() < 0.03:
        return deepcopy(choose.choice(WRONG))
    match choose.randrange(4):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder[key:key] = [deepcopy(holder[key])] * choose.choice([1, 10, 700])
        case 1:
            holder[str(choose.choice(WRONG))[:300]] = holder.pop(key)
        case _:
            holder[key] = deepcopy(choose.choice(WRONG))
    return value


def _places(value: Any) -> Any:
    if isinstance(value, dict):
        pairs = list(value.items())
    else:
        pairs = list(enumerate(value)) if isinstance(value, list) else []
    for key, inner in pairs:
        yield value, key
        yield from _places(inner)


def _json(value: Any, choose: Random) -> bytes:
    """The text of a damaged value; a quarter of them is damaged as a text too."""
    content = json.dumps(value).encode()
    return damaged_bytes(content, choose) if choose.random() < 0.25 else content


def _config(choose: Random) -> Input:
    [(what, config)] = list(mutated(choose.randrange(10**9), 1))
    names = sorted(models())
    if choose.random() < 0.7:  # `mutated` begins with the first model
        name = choose.choice(names)
        what, config = name, damaged_value(models()[name]["config"], choose)
    if choose.random() < 0.5:
        return Input("config.json", what, INSPECT, _json({"config": config}, choose))
    body = {"model_config": config, "gpu": choose.choice(["rtx-4090", "h100", "b200"])}
    engine = choose.choice([None, "vllm", "llama.cpp", "sglang", "mlx", "tensorrt-llm"])
    return Input("config.json", what, SIZING, _json({**body, "engine": engine}, choose))


def _index(choose: Random) -> Input:
    weights = {f"model.layers.{n}.mlp.weight": f"model-0000{n % 3}-of-00003.safetensors" for n in range(40)}
    index = {"metadata": {"total_size": 16_381_470_720}, "weight_map": weights}
    config = models()["qwen3-8b"]["config"]
    return Input(
        "index", "", INSPECT, _json({"config": config, "index": damaged_value(index, choose)}, choose)
    )


@cache
def _headers() -> tuple[bytes, ...]:
    """One of the reference writer, and one with a list of every layer's heads and an unknown class."""
    lists = {
        "general.architecture": "unheard-of",
        "unheard-of.block_count": 3,
        "unheard-of.embedding_length": 64,
        "unheard-of.attention.head_count": [4, 4, 4],
        "unheard-of.attention.head_count_kv": [2, 0, 2],
    }
    names = ("token_embd.weight", *(f"blk.{layer}.attn_q.weight" for layer in range(3)))
    return TINY, gguf(lists, [(name, (64, 64), 1) for name in names])


def _gguf(choose: Random) -> Input:
    content = damaged_bytes(choose.choice(_headers()), choose, _headers())
    return Input("GGUF header", "", INSPECT, content, _GGUF)


def _csv_text(rows: Sequence[Mapping[str, Any]]) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def _measurements_csv(choose: Random) -> Input:
    rows = [dict(ROW) for _ in range(choose.choice([1, 3]))]
    for row in rows:
        row[choose.choice(sorted(ROW))] = choose.choice([*map(str, WRONG), "1e5", "=1+1", "\r", "٣", "1_0"])
    content = _csv_text(rows)
    if choose.random() < 0.7:
        content = damaged_bytes(content, choose)
    return Input("CSV", "", MEASUREMENTS, content, _CSV)


def _measurements_json(choose: Random) -> Input:
    body: Any = ROW if choose.random() < 0.5 else {"measurements": [ROW, ROW]}
    return Input("JSON", "", MEASUREMENTS, _json(damaged_value(body, choose), choose))


def _query(choose: Random) -> Input:
    path, asked = choose.choice(_QUERIES)
    asked = dict(asked)
    for _ in range(choose.randint(0, 2)):
        name = choose.choice([*asked, "concurrent_sequences", "prompt_tokens", "x"])
        asked[name] = choose.choice([*map(str, WRONG), "1e5", "0x10", "native", "h100", "NaN", "-0", "٣"])
    content = urlencode(asked).encode()
    return Input("query", path, path, damaged_bytes(content, choose) if choose.random() < 0.7 else content)


def _operator(choose: Random) -> Input:
    name = choose.choice(sorted(example()))
    content = example()[name].encode()
    if choose.random() < 0.6:
        return Input(
            "operator's YAML", name, "", yaml.safe_dump(damaged_value(_facts(name), choose)).encode()
        )
    return Input("operator's YAML", name, "", damaged_bytes(content, choose))


@cache
def _facts(name: str) -> Any:
    return yaml.safe_load(example()[name])


KINDS: Mapping[str, Callable[[Random], Input]] = {
    "config": _config,
    "index": _index,
    "gguf": _gguf,
    "csv": _measurements_csv,
    "json": _measurements_json,
    "query": _query,
    "operator": _operator,
}


def send(site: Site, damaged: Input) -> tuple[int, str, float]:
    """Status, media type and CPU seconds of the answer to a request."""
    began = time.process_time()
    if damaged.kind == "query":
        # As the server gives it on: one character for each byte, no line ends and no blanks.
        query = "".join(chr(byte) for byte in damaged.content if 32 < byte < 127)
        answer = site.client.get(damaged.path, environ_overrides={"QUERY_STRING": query})
    else:
        key = site.submitter if damaged.path == MEASUREMENTS else {}
        answer = site.client.post(
            damaged.path, data=damaged.content, content_type=damaged.media_type, headers=key
        )
    return answer.status_code, answer.mimetype, time.process_time() - began
