"""Prometheus metrics, summed over the workers when gunicorn's configuration gives them a folder."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from flask import Blueprint, Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
    multiprocess,
)

from service.version import VERSION

REQUESTS = Counter(
    "sizing_http_requests", "HTTP requests.", ("method", "route", "status", "cache"), registry=REGISTRY
)
SECONDS = Histogram(
    "sizing_http_request_seconds",
    "Seconds until the response starts.",
    ("route", "cache"),
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    registry=REGISTRY,
)
_KEPT = 2048  # methods × routes × statuses × cache levels are some hundreds
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})


def observe(environ: Mapping[str, Any], status: str, seconds: float) -> None:
    """Count one request; labels are bounded, whatever a client sends."""
    method = environ["REQUEST_METHOD"]
    requests, durations = _counters(
        method if method in _METHODS else "other",
        environ.get("sizing.route", "none"),
        status[:3],
        environ.get("sizing.cache", "none"),
    )
    requests.inc()
    durations.observe(seconds)


@lru_cache(_KEPT)
def _counters(method: str, route: str, status: str, cache: str) -> tuple[Counter, Histogram]:
    """The counters of these labels, kept because finding them costs more than counting."""
    return REQUESTS.labels(method, route, status, cache), SECONDS.labels(route, cache)


def blueprint(metrics_folder: str | None, data_digest: str) -> Blueprint:
    """`GET /metrics`; metrics_folder: where the workers keep their parts, None for one process."""
    resource = Blueprint("metrics", __name__)
    labels = f'version="{VERSION}",data="{data_digest}"'
    about = f"# TYPE sizing_build_info gauge\nsizing_build_info{{{labels}}} 1\n".encode()

    @resource.get("/metrics")
    def metrics() -> Response:
        registry = REGISTRY
        if metrics_folder is not None:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry, metrics_folder)  # type: ignore[no-untyped-call]
        body = generate_latest(registry) + about
        return Response(body, headers={"Cache-Control": "no-store"}, content_type=CONTENT_TYPE_LATEST)

    return resource
