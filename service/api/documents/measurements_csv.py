"""Measurements as CSV, in which no cell is a formula: a spreadsheet would run what a stranger wrote."""

import csv
from collections.abc import Iterable, Mapping
from io import StringIO
from typing import Any

from service.api.written_text import APOSTROPHE, FORMULA_STARTS

COLUMNS = (
    "id",
    "status",
    "provenance",
    "model",
    "gpu",
    "gpu_count",
    "interconnect",
    "tensor_parallel",
    "expert_parallel",
    "engine",
    "engine_version",
    "backend",
    "quantization",
    "context_tokens",
    "prompt_tokens",
    "output_tokens",
    "concurrency",
    "speculative",
    "draft_acceptance",
    "kv_cache_dtype",
    "offload",
    "decode_tokens_per_second",
    "decode_tokens_per_second_per_sequence",
    "prefill_tokens_per_second",
    "time_to_first_token_ms",
    "date",
    "comparable",
    "source",
    "source_detail",
    "remark",
)


def measurements_csv(items: Iterable[Mapping[str, Any]]) -> bytes:
    """A header and one line for each measurement, as their JSON documents have them; UTF-8, CRLF."""
    return table(COLUMNS, (_flat(item) for item in items))


def table(columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Rows under a header; None is an empty cell."""
    names = list(columns)
    text = StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerows([cell(row[name]) for name in names] for row in rows)
    return text.getvalue().encode()


def cell(value: object) -> str:
    """A value as the text of a cell; text that a spreadsheet would compute gets an apostrophe before it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    guarded = isinstance(value, str) and text.startswith(FORMULA_STARTS)
    return APOSTROPHE + text if guarded else text


def _flat(item: Mapping[str, Any]) -> dict[str, Any]:
    source = item["source"]
    return {**item, "source": source["name"], "source_detail": source["detail"] or source["url"]}
