"""The gauges of the answers in memory, as a process tells them."""

import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from service.app import create_app
from service.settings import Settings

BOUND = 60_000


@pytest.fixture
def client(tmp_path: Path) -> FlaskClient:
    return create_app(Settings(state_path=tmp_path, cache_memory_bytes=BOUND)).test_client()


def told(client: FlaskClient, name: str) -> float:
    found = re.search(rf"^sizing_memory_cache_{name} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    assert found
    return float(found[1])


def test_answers_and_their_encodings_are_entries(client: FlaskClient):
    """None before the first, one for an answer, one for each encoding of it; a hit changes nothing."""
    assert (told(client, "entries"), told(client, "bytes")) == (0, 0)
    question = "/v1/sizing?model=qwen3-8b&gpu=rtx-4090"
    answer = client.get(question)
    assert told(client, "entries") == 1
    assert len(answer.data) < told(client, "bytes") < BOUND
    client.get(question, headers={"Accept-Encoding": "gzip"})
    held = told(client, "bytes")
    assert told(client, "entries") == 2
    client.get(question, headers={"Accept-Encoding": "gzip"})
    assert client.get("/v1/sizing?model=nothing&gpu=rtx-4090").status_code == 404
    assert (told(client, "entries"), told(client, "bytes")) == (2, held)


def test_what_makes_room_is_counted(client: FlaskClient):
    """Thirty answers of some 7 KB each do not fit into 60 KB: each is held or was dropped."""
    before = told(client, "evictions_total")
    for number in range(30):
        client.get(f"/v1/sizing?model=qwen3-8b&gpu=rtx-4090&reserved_memory_bytes={number}")
    assert 0 < told(client, "entries") < 30
    assert told(client, "bytes") <= BOUND
    assert told(client, "entries") + told(client, "evictions_total") - before == 30
