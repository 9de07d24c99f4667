"""Probes: alive, ready, and what is running."""

from collections.abc import Callable, Mapping

from flask import Blueprint, Response, request

from service.api.answers import plain_answer
from service.api.facts_state import FactsState
from service.api.reading import read_query
from service.api.schemas import LANGUAGE_QUERY
from service.cache import RedisStore
from service.catalog import Catalog
from service.measurements.uploads import Uploads
from service.version import VERSION

CacheState = Callable[[], Mapping[str, object]]


def blueprint(catalog: Catalog, state: CacheState, facts: FactsState, uploads: Uploads) -> Blueprint:
    """The probes.

    state: which shared cache is used and whether it answers now. facts: whether they are those of the files.
    uploads: whose database may be away or of another version; everything but writing goes on without it.
    """
    resource = Blueprint("health", __name__)

    @resource.get("/health/live")
    def live() -> Response:
        read_query(LANGUAGE_QUERY, request)
        return plain_answer({"status": "ok"})

    @resource.get("/health/ready")
    def ready() -> Response:
        """Ready without a shared cache too: answers are then computed or kept in the process.

        Ready with the facts from before a failed reload, too: they were valid.
        """
        read_query(LANGUAGE_QUERY, request)
        status, age = ("ok", "current") if facts.current else ("degraded", "outdated")
        return plain_answer({"status": status, "cache": state(), "facts": age, "storage": _storage(uploads)})

    @resource.get("/health/info")
    def info() -> Response:
        read_query(LANGUAGE_QUERY, request)
        return plain_answer(
            {
                "version": VERSION,
                "data_digest": catalog.digest,
                "models": len(catalog.models),
                "gpus": len(catalog.gpus),
            }
        )

    return resource


def _storage(uploads: Uploads) -> dict[str, object]:
    """What the last look at the database found, a second ago; a probe must not wait for a database."""
    found = uploads.state
    return {"backend": uploads.database.backend, "state": str(found.condition), "schema": found.schema}


def cache_state(store: RedisStore | None) -> CacheState:
    """How to ask for the state of the shared cache; store: None when there is none."""
    if store is None:
        return lambda: {"backend": "memory"}
    return lambda: {"backend": "redis", "available": store.is_up()}
