"""Traces reach an OpenTelemetry collector: spans of what memory does not answer, and nothing when off."""

import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.integration.conftest import free_port
from tests.integration.test_gunicorn import Server

ROOT = Path(__file__).parents[2]
QUESTION = "/v1/sizing?model=qwen3-8b&gpu=rtx-4090&context_tokens=4321"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Collector:
    """A small OTLP/HTTP receiver that keeps the spans it gets."""

    def __init__(self) -> None:
        self.spans: list = []
        self.services: set[str] = set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.take(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, request) -> None:
        for resource in request.resource_spans:
            attributes = {a.key: a.value.string_value for a in resource.resource.attributes}
            self.services.add(attributes["service.name"])
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)


@pytest.fixture
def collector() -> Iterator[Collector]:
    receiver = Collector()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()


def attributes(span):
    return {a.key: a.value.string_value or a.value.int_value for a in span.attributes}


def test_a_miss_is_one_trace_and_a_hit_is_none(tmp_path, collector):
    """The caller's trace goes on with the request and its computation; kept answers send nothing."""
    server = Server(tmp_path, TRACING_ENDPOINT=collector.url, WEB_CONCURRENCY="1", WARM_UP_SECONDS="0")
    try:
        for _ in range(3):
            assert server.get(QUESTION, traceparent=f"00-{TRACE}-{PARENT}-01")[0] == 200
        assert server.get("/v1/models/no-such-model")[0] == 404
    finally:
        server.stop()  # what waits is sent before the end
    ours = [span for span in collector.spans if span.trace_id.hex() == TRACE]
    [request] = [span for span in ours if span.parent_span_id.hex() == PARENT]
    [compute] = [span for span in ours if span.parent_span_id == request.span_id]
    assert len(ours) == 2
    assert request.name == "GET /v1/sizing"
    told = attributes(request)
    assert (told["http.route"], told["http.response.status_code"]) == ("/v1/sizing", 200)
    assert (told["sizing.cache"], told["sizing.language"]) == ("miss", "en")
    assert compute.name == "compute"
    assert request.start_time_unix_nano <= compute.start_time_unix_nano
    assert compute.end_time_unix_nano <= request.end_time_unix_nano
    problems = [span for span in collector.spans if attributes(span).get("http.response.status_code") == 404]
    assert len(problems) == 1
    assert problems[0].trace_id.hex() != TRACE
    assert collector.services == {"llm-sizing"}


def test_a_collector_that_is_away_costs_nothing(tmp_path):
    """Answers come, the server ends gracefully, and complaints are lines of the log like any other."""
    url = f"http://127.0.0.1:{free_port()}/v1/traces"
    server = Server(tmp_path, TRACING_ENDPOINT=url, WEB_CONCURRENCY="1", WARM_UP_SECONDS="0")
    assert server.get(QUESTION)[0] == 200
    assert server.stop() == 0
    assert "Traceback" not in server.log.read_text(encoding="utf-8")


def test_nothing_is_imported_when_tracing_is_off():
    """Without a collector nothing that makes or sends spans is loaded (redis-py loads metrics by itself)."""
    code = (
        "import sys; from service.app import create_app; from service.settings import read_settings; "
        "create_app(read_settings()); "
        "ours = ('opentelemetry.exporter', 'opentelemetry.sdk.trace', 'service.api.tracing'); "
        "print([name for name in sys.modules if name.startswith(ours)])"
    )
    environment = {name: value for name, value in os.environ.items() if "OTEL" not in name}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]", done.stderr
