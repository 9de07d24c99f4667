"""Counting requests in batches, and gauges that are read at each scrape."""

import re
from datetime import UTC, datetime

import pytest
from flask import Flask
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from service.api import metrics
from service.api.counters import BatchedHistogram, observe
from service.api.facts_state import FactsState
from service.api.metrics import Reading
from service.api.readings import of_database, of_facts
from service.journal import Seen
from service.measurements.schema import Condition, State

VALUES = (0.0, 0.0004, 0.0005, 0.00051, 0.3, 7, 10, 11, 1e9)
BOUNDS = (0.0005, 0.001, 0.5, 10)


def text(histogram_class, count) -> str:
    registry = CollectorRegistry()
    count(histogram_class("seconds", "Seconds.", buckets=BOUNDS, registry=registry))
    return re.sub(r".*_created.*\n", "", generate_latest(registry).decode())


def test_a_batch_counts_as_its_values_one_by_one():
    """Buckets, sum and count are those of the library's own `observe`, at the bounds and beyond them."""
    batched = text(BatchedHistogram, lambda histogram: histogram.observe_all(VALUES))
    single = text(Histogram, lambda histogram: [histogram.observe(value) for value in VALUES])
    assert batched == single
    assert 'seconds_bucket{le="0.0005"} 3.0' in batched


def sources_of(*sources) -> str:
    app = Flask("test")
    app.register_blueprint(metrics.blueprint(None, "digest", FactsState(), sources))
    return app.test_client().get("/metrics").text


def test_requests_are_counted_by_method_route_status_and_level():
    """Unknown methods are one label, whatever a client sends."""
    recorded = (("sizing.route", "/for-this-test"), ("sizing.language", "de"))
    noted = [Seen("GET", "/x", "200 OK", recorded, "miss", "id", 0.002, 0.0, "")] * 3
    noted += [
        Seen(f"BREW{n}", "/x", "405 Method Not Allowed", recorded, "none", "id", 1, 0, "") for n in (1, 2)
    ]
    observe(noted)
    scraped = sources_of()
    labels = 'cache="miss",method="GET",route="/for-this-test",status="200"'
    assert f"sizing_http_requests_total{{{labels}}} 3.0" in scraped
    labels = 'cache="none",method="other",route="/for-this-test",status="405"'
    assert f"sizing_http_requests_total{{{labels}}} 2.0" in scraped
    assert 'sizing_http_request_seconds_count{cache="miss",route="/for-this-test"} 3.0' in scraped


def test_a_source_is_asked_at_each_scrape():
    """A gauge shows how things are now, with its labels and its documentation."""
    values = iter((1, 2))

    def read():
        yield Reading("sizing_age", "Age of it.", next(values), {"of": "data"})

    app = Flask("test")
    app.register_blueprint(metrics.blueprint(None, "digest", FactsState(), (read,)))
    first, second = (app.test_client().get("/metrics").text for _ in range(2))
    assert 'sizing_age{of="data"} 1.0' in first
    assert 'sizing_age{of="data"} 2.0' in second
    assert "# HELP sizing_age Age of it." in first


def test_a_source_that_fails_is_left_out():
    """A database that is down does not take the other metrics with it."""

    def fail():
        raise OSError("down")

    def read():
        yield Reading("sizing_fine", "Fine.", 1)

    scraped = sources_of(fail, read)
    assert "sizing_fine 1.0" in scraped
    assert 'sizing_build_info{data="digest"' in scraped


def test_outdated_facts_are_seen():
    """`sizing_facts_current` is 0 once a reload failed."""
    app, state = Flask("test"), FactsState(current=False)
    app.register_blueprint(metrics.blueprint(None, "digest", state))
    assert "sizing_facts_current 0.0" in app.test_client().get("/metrics").text


def test_the_age_of_facts_can_be_told(catalog):
    """Prices were collected in the months before 2026-12-01, and no day lies in the future of that."""
    newest = {each.labels["facts"]: each.value for each in of_facts(catalog)()}
    assert newest.keys() == {"offers", "measurements"}
    december = datetime(2026, 12, 1, tzinfo=UTC).timestamp()
    assert all(december - 180 * 86_400 < seen <= december for seen in newest.values())


@pytest.mark.parametrize("condition", Condition)
def test_the_condition_of_the_database_is_seen(condition):
    """Exactly one condition is 1, whichever it is; the revision is the one that was found."""
    readings = list(of_database(lambda: State(condition, revision=7))())
    shown = {each.labels["condition"]: each.value for each in readings if each.labels}
    assert shown == {each.value: int(each is condition) for each in Condition}
    assert [each.value for each in readings if not each.labels] == [7]
