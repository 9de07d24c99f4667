"""Traces for OpenTelemetry: one span for each request that memory does not answer, one for each computation.

This module is imported only when tracing is on; it needs the extra `tracing`.
"""

import logging
from collections.abc import Callable, Iterable
from time import time_ns
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from service.version import VERSION

_LOG = structlog.get_logger("service.tracing")
_TIMEOUT_SECONDS = 2
_NANOSECONDS = 10**9
_FAILED = 500
_Recorded = tuple[tuple[str, str], ...]
_Computed = Callable[[_Recorded, float], None]


class Tracing:
    """Sends spans to an OTLP/HTTP collector, in the background; a collector that is away costs nothing.

    endpoint: address of the collector's traces, such as `http://collector:4318/v1/traces`.
    """

    def __init__(self, endpoint: str) -> None:
        resource = Resource.create({"service.name": "llm-sizing", "service.version": VERSION})
        exporter = OTLPSpanExporter(endpoint=endpoint, timeout=_TIMEOUT_SECONDS)
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("service", VERSION)
        self._propagator = TraceContextTextMapPropagator()
        _tell_in_the_log()

    def around(self, answer: WSGIApplication) -> WSGIApplication:
        """The application with a span about each of its requests; a trace that the caller began goes on."""

        def traced(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            began = {"traceparent": environ.get("HTTP_TRACEPARENT", "")}
            with self._tracer.start_as_current_span(
                environ["REQUEST_METHOD"], self._propagator.extract(began), SpanKind.SERVER
            ) as span:
                return answer(environ, _telling(span, environ, start_response))

        return traced

    def watching(self, computed: _Computed) -> _Computed:
        """What is told of each computation, and now ends a span about it as well."""

        def watch(recorded: _Recorded, seconds: float) -> None:
            self._computed(recorded, seconds)
            computed(recorded, seconds)

        return watch

    def _computed(self, recorded: _Recorded, seconds: float) -> None:
        """A span about a computation that has just ended, within that of its request."""
        end = time_ns()
        span = self._tracer.start_span("compute", start_time=end - round(seconds * _NANOSECONDS))
        span.set_attributes({name.removeprefix("sizing."): value for name, value in recorded})
        span.end(end)

    def close(self) -> None:
        """Send what waits."""
        self._provider.shutdown()


def _telling(span: Span, environ: WSGIEnvironment, start_response: StartResponse) -> StartResponse:
    def start(status: str, headers: list[tuple[str, str]], *rest: object) -> Callable[[bytes], object]:
        route = environ.get("sizing.route", "none")
        span.update_name(f"{environ['REQUEST_METHOD']} {route}")
        span.set_attributes(
            {
                "http.request.method": environ["REQUEST_METHOD"],
                "http.route": route,
                "http.response.status_code": int(status[:3]),
                "sizing.cache": environ.get("sizing.cache", "none"),
                "sizing.language": environ.get("sizing.language") or "",
                "sizing.request_id": environ.get("sizing.request_id") or "",
            }
        )
        if int(status[:3]) >= _FAILED:
            span.set_status(Status(StatusCode.ERROR))
        return start_response(status, headers, *rest)  # type: ignore[arg-type]  # as it was called

    return start


class _ToLog(logging.Handler):
    """What the exporter complains about, as lines of the service's own log."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log one complaint."""
        _LOG.warning("traces", detail=record.getMessage())


def _tell_in_the_log() -> None:
    complaints = logging.getLogger("opentelemetry")
    if not any(isinstance(handler, _ToLog) for handler in complaints.handlers):
        complaints.addHandler(_ToLog(logging.WARNING))
        complaints.propagate = False
