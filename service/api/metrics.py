"""`GET /metrics`: Prometheus metrics, summed over the workers when they keep their parts in a folder."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog
from flask import Blueprint, Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    generate_latest,
    multiprocess,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from service.api import metric_files
from service.api.facts_state import FactsState
from service.api.record import JOURNAL
from service.version import VERSION

_LOG = structlog.get_logger("service.metrics")


@dataclass(frozen=True, slots=True)
class Reading:
    """A gauge as it stands now, the same whichever worker is asked, such as of a database."""

    name: str
    documentation: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


Source = Callable[[], Iterable[Reading]]


class _Readings(Collector):
    """Asks sources at each scrape; one that raises is left out of that scrape."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources

    def collect(self) -> Iterable[Metric]:
        families: dict[str, GaugeMetricFamily] = {}
        for source in self._sources:
            try:
                readings = list(source())
            except Exception:  # whatever a source is about is down; the other metrics are wanted the more
                _LOG.warning("a reading failed", exc_info=True)
                continue
            for reading in readings:
                family = families.setdefault(
                    reading.name,
                    GaugeMetricFamily(reading.name, reading.documentation, labels=tuple(reading.labels)),
                )
                family.add_metric(tuple(reading.labels.values()), reading.value)
        return families.values()


def about(data_digest: str, facts: FactsState) -> Source:
    """What is running: version and digest; whether the facts are those of the files."""

    def read() -> Iterable[Reading]:
        yield Reading(
            "sizing_build_info", "Version and data digest.", 1, {"version": VERSION, "data": data_digest}
        )
        current = "Zero once a reload failed and the facts from before it are still served."
        yield Reading("sizing_facts_current", current, int(facts.current))

    return read


def blueprint(
    metrics_folder: str | None,
    data_digest: str,
    facts: FactsState,
    sources: Sequence[Source] = (),
    held: Callable[[], None] = lambda: None,
) -> Blueprint:
    """`GET /metrics`; metrics_folder: where the workers keep their parts, None for one process.

    facts: whether they are those of the files. sources: more gauges. held: sets those of this process's
    memory.
    """
    resource = Blueprint("metrics", __name__)
    readings = CollectorRegistry(auto_describe=False)
    readings.register(_Readings((about(data_digest, facts), *sources)))

    @resource.get("/metrics")
    def metrics() -> Response:
        JOURNAL.flush()
        held()
        registry = REGISTRY
        if metrics_folder is not None:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry, metrics_folder)  # type: ignore[no-untyped-call]
        with metric_files.reading(metrics_folder):
            counted = generate_latest(registry)
        body = counted + generate_latest(readings)
        return Response(body, headers={"Cache-Control": "no-store"}, content_type=CONTENT_TYPE_LATEST)

    return resource
