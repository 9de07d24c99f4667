"""Lines of requests: one JSON object each, whole, and without what they must not hold."""

import io
import json

import pytest

from service import logs
from service.journal import Seen
from service.logs import RequestLines

RECORDED = (("sizing.language", "de"), ("sizing.route", "/v1/sizing"))
SEEN = Seen(
    method="GET",
    path="/v1/sizing",
    status="200 OK",
    recorded=RECORDED,
    cache="hit-memory",
    request_id="abc-1",
    seconds=0.0012345,
    ended=7.25,
    traceparent="",
)


class Pieces(io.BytesIO):
    """Remembers each write."""

    def __init__(self):
        super().__init__()
        self.pieces = []

    def write(self, piece):
        self.pieces.append(bytes(piece))
        return len(piece)


@pytest.fixture(autouse=True)
def clocks(monkeypatch):
    """The counter of the machine was at 10 when it was 2026-11-30, 12:00:03 UTC."""
    monkeypatch.setattr(logs, "perf_counter", lambda: 10.0)
    monkeypatch.setattr(logs, "time", lambda: 1_796_040_003.0)


def written(*requests) -> list:
    stream, lines = Pieces(), RequestLines()
    lines.send_to(stream)
    lines.write(requests)
    return [json.loads(line) for line in b"".join(stream.pieces).splitlines()]


def test_a_line_says_what_happened():
    """1,796,040,003 seconds after 1970 are 2026-11-30, 12:00:03 UTC; 0.0012345 s are 1.234 ms or 1.235 ms."""
    [line] = written(SEEN)
    assert line.pop("duration_ms") in (1.234, 1.235)
    assert line == {
        "event": "request",
        "level": "info",
        "request_id": "abc-1",
        "method": "GET",
        "path": "/v1/sizing",
        "route": "/v1/sizing",
        "status": 200,
        "language": "de",
        "cache": "hit-memory",
        "traceparent": None,
        "timestamp": "2026-11-30T12:00:00.250000Z",
    }


def test_what_is_not_known_is_null():
    """A request that reached no route has neither route nor language, and keeps its trace."""
    trace = f"00-{'1' * 32}-{'2' * 16}-01"
    [line] = written(SEEN._replace(recorded=(), traceparent=trace))
    assert (line["route"], line["language"], line["traceparent"]) == (None, None, trace)


def test_a_path_cannot_break_a_line():
    """Whatever an address holds stays inside its JSON string."""
    path = '/a"}\r\n{"event": "forged"}\\\x00\x7fé'
    [line] = written(SEEN._replace(path=path))
    assert line["path"] == path


def test_lines_are_written_whole_and_in_pieces_that_do_not_mix():
    """A thousand lines go out in writes of at most 4096 bytes (PIPE_BUF), each of whole lines."""
    stream, lines = Pieces(), RequestLines()
    lines.send_to(stream)
    lines.write([SEEN._replace(request_id=str(number)) for number in range(1000)])
    assert max(map(len, stream.pieces)) <= 4096
    assert all(piece.endswith(b"\n") for piece in stream.pieces)
    ids = [json.loads(line)["request_id"] for line in b"".join(stream.pieces).splitlines()]
    assert ids == [str(number) for number in range(1000)]


def test_a_long_line_is_still_written():
    """A path of 8000 characters is longer than a piece."""
    [line] = written(SEEN._replace(path="/" + "x" * 8000))
    assert len(line["path"]) == 8001


class Gone(io.BytesIO):
    """A pipe whose reader went away."""

    def write(self, piece):
        raise BrokenPipeError


@pytest.mark.parametrize("stream", [Gone(), None])
def test_a_stream_that_is_gone_does_not_stop_the_service(stream):
    """Nor does one that was never there: tests and commands stay quiet until logs are set up."""
    lines = RequestLines()
    lines.send_to(stream)
    lines.write([SEEN])


def test_a_closed_stream_does_not_stop_the_service():
    """At the end of a process the stream may be closed before the last lines."""
    stream, lines = Pieces(), RequestLines()
    lines.send_to(io.BufferedWriter(stream))
    stream.close()
    lines.write([SEEN])
