"""What tests of uploaded measurements share: a measurement that could be true, keys, and an application."""

import time
from pathlib import Path

from service.app import create_app
from service.measurements.database import Database
from service.measurements.keys import Key, Scope, authenticate, create_key
from service.measurements.submission import Submission
from service.settings import Settings

MEASUREMENTS = "/v1/measurements"
# 4,352 tokens in the cache on average; 110.5 tokens/s are half of what the bandwidth allows.
ROW = {
    "model": "Qwen/Qwen3-8B",
    "gpu": "RTX 4090",
    "gpu_count": 1,
    "interconnect": "PCIe 4.0",
    "engine": "llama.cpp",
    "engine_version": "b9992",
    "backend": "cuda",
    "quantization": "q4_k_m",
    "context_tokens": 8192,
    "prompt_tokens": 4096,
    "output_tokens": 512,
    "concurrency": 1,
    "speculative_tokens": 0,
    "kv_cache_dtype": "fp16",
    "cpu_offload_percent": 0,
    "power_limit_watts": 350,
    "decode_tokens_per_second": 110.5,
    "decode_tokens_per_second_per_sequence": 110.5,
    "prefill_tokens_per_second": 6800.0,
    "time_to_first_token_ms": 640.0,
    "date": "2026-11-20",
    "source_url": "https://example.org/run/1",
    "log": "prompt eval time = 602 ms\neval time = 4633 ms",
    "note": "second of three runs",
}
SUBMISSION = Submission("qwen3-8b", "rtx-4090", "qwen3-8b", "rtx-4090", decode_tokens_per_second=100.0)
SUBMIT, REVIEW = frozenset({Scope.SUBMIT}), frozenset({Scope.REVIEW})


def bearer(text: str) -> dict[str, str]:
    """The header that sends a key."""
    return {"Authorization": f"Bearer {text}"}


def new_key(database: Database, scopes: frozenset[Scope] = SUBMIT, name: str = "tester") -> str:
    """The text of a new key."""
    return create_key(database, name, scopes, time.time())[1]


def known_key(database: Database, scopes: frozenset[Scope] = SUBMIT, name: str = "tester") -> Key:
    """A new key as the store wants it."""
    return authenticate(database, f"Bearer {new_key(database, scopes, name)}")


class Site:
    """An application with a database of its own, and a key of each scope."""

    def __init__(self, folder: Path, **settings) -> None:
        self.settings = Settings(state_path=folder / "state", rate_limit_writes=None, **settings)
        self.app = create_app(self.settings)
        self.client = self.app.test_client()
        self.uploads = self.app.extensions["sizing"].uploads
        self.database = self.uploads.database
        self.submitter = bearer(new_key(self.database, SUBMIT))
        self.reviewer = bearer(new_key(self.database, REVIEW))

    def submit(self, *rows, headers=(), **options):
        """The answer to a POST of one row as an object, or of several as a batch."""
        body = rows[0] if len(rows) == 1 else {"measurements": list(rows)}
        sent = {**self.submitter, **dict(headers)}
        return self.client.post(MEASUREMENTS, json=body, headers=sent, **options)

    def stored(self, **changed) -> str:
        """The id of a pending measurement."""
        answer = self.submit({**ROW, **changed})
        assert answer.status_code == 201, answer.get_data(as_text=True)
        return answer.json["id"]

    def review(self, name: str, status: str, match: str | None = "*", note: str | None = None):
        """The answer to a PATCH."""
        headers = {**self.reviewer, **({} if match is None else {"If-Match": match})}
        body = {"status": status} | ({} if note is None else {"note": note})
        return self.client.patch(f"{MEASUREMENTS}/{name}", json=body, headers=headers)

    def published(self, **changed) -> str:
        """The id of a published measurement."""
        name = self.stored(**changed)
        assert self.review(name, "published").status_code == 200
        return name

    def listed(self, headers=(), **query):
        """The items of the list."""
        query = {"limit": 500, **query}
        answer = self.client.get(MEASUREMENTS, query_string=query, headers=dict(headers))
        assert answer.status_code == 200, answer.get_data(as_text=True)
        return answer.json["items"]
