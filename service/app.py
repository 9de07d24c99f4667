"""The only place where the parts meet."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING
from wsgiref.types import WSGIApplication

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from service.api import (
    arrival,
    costs,
    facts,
    finetuning,
    fragments,
    health,
    inspect,
    matrix,
    measurements,
    metrics,
    models,
    pages,
    plan,
    problems,
    rate_limits,
    report,
    sitemap,
    sizing,
    uploads,
    web,
)
from service.api.cache_key import canonical, classify_with
from service.api.constant_headers import of_reading, transport
from service.api.counters import computed, database_failed, database_used, redis_breaker, redis_failed
from service.api.envelope import Envelope
from service.api.facts_state import FactsState
from service.api.memory_held import MemoryHeld
from service.api.readings import of_facts, of_uploads
from service.api.warming import first_addresses, warm_up
from service.cache import ByteCache, CircuitBreaker, MemoryCache, RedisStore, Tiers, namespace
from service.catalog import Catalog, load_catalog
from service.logs import configure_logs
from service.measurements.database import Database
from service.measurements.uploads import SourcesWithUploads, Uploads, WithUploads
from service.settings import Settings
from service.version import VERSION

if TYPE_CHECKING:
    from service.api.tracing import Tracing


@dataclass(frozen=True, slots=True)
class Parts:
    """What warming needs of an application, in `app.extensions["sizing"]`.

    cached: all levels. own: the same without Redis, whose connections must not be shared by forked workers.
    facts: whether the facts are those of the files. uploads: what users uploaded.
    """

    catalog: Catalog
    cached: ByteCache
    own: ByteCache
    shared: RedisStore | None
    facts: FactsState
    uploads: Uploads


def create_app(settings: Settings) -> Flask:
    """The application for the given settings.

    Raises CatalogError when a fact file is wrong.
    """
    catalog = load_catalog(settings.config_path, settings.catalog_path)
    store = _shared(settings)
    app = _bounded(settings, store)
    facts_are = FactsState()
    uploaded = Uploads(_database(settings), catalog.gpus)
    memory = MemoryCache(settings.cache_memory_bytes)
    held = MemoryHeld(memory)
    _mount(app, catalog, settings, store, facts_are, uploaded, held)
    # Pages name their own address and who may frame them: services that share a Redis but differ in these
    # share no answers.
    code = f"{VERSION}@{settings.public_url or ''}@{settings.frame_ancestors}"
    prefix = namespace(catalog.digest, code)
    tracing, always = _tracing(settings), transport(settings.hsts_seconds)
    layer = partial(
        ByteCache,
        _trusting(app.wsgi_app, settings),
        classify=classify_with(uploaded.token),
        canonical=canonical(catalog, uploaded.token),
        constants=partial(of_reading, always=always),
        computed=computed if tracing is None else tracing.watching(computed),
    )
    # What is computed before the fork must not start the thread that looks for uploads.
    own = layer(tiers=Tiers(prefix, memory), revision=uploaded.token)
    cached = layer(tiers=Tiers(prefix, memory, store), revision=uploaded.watched_token, kept=held)
    around = None if tracing is None else tracing.around
    outermost = Envelope(cached, always=always, around=around)
    app.wsgi_app = outermost  # type: ignore[method-assign]  # Flask's own way of wrapping
    app.extensions["sizing"] = Parts(catalog, cached, own, store, facts_are, uploaded)
    return app


def _bounded(settings: Settings, store: RedisStore | None) -> Flask:
    """An application without resources: what every request meets before and after them."""
    app = Flask("service", template_folder="api/templates", static_folder=None)
    app.config.update(
        MAX_CONTENT_LENGTH=settings.max_body_bytes,
        MAX_URL_BYTES=settings.max_url_bytes,
        MAX_HEADER_BYTES=settings.max_header_bytes,
        FRAME_ANCESTORS=settings.frame_ancestors,
        CACHE_CONTROL=settings.cache_control,
    )
    app.url_map.merge_slashes = False  # a doubled slash is a wrong address, not a redirect
    arrival.register(app)
    problems.register(app)
    rate_limits.register(app, settings.rate_limit_misses, settings.rate_limit_writes, store)
    return app


def start(settings: Settings) -> Flask:
    """The application as a server needs it: its logs set up, its first answers prepared.

    Raises CatalogError when a fact file is wrong.
    """
    configure_logs(settings.log_level)
    app = create_app(settings)
    prepare(app, settings.warm_up_seconds)
    return app


def facts_state(app: Flask) -> FactsState:
    """Whether the application's facts are those of the files."""
    state: FactsState = app.extensions["sizing"].facts
    return state


def prepare(app: Flask, seconds: float) -> int:
    """Fill the process's own cache before it forks, for at most so long; how many answers there are now."""
    parts = app.extensions["sizing"]
    answered = warm_up(parts.own, first_addresses(parts.catalog), seconds) if seconds > 0 else 0
    parts.uploads.database.close()  # a fork must not share its connections
    return answered


def _shared(settings: Settings) -> RedisStore | None:
    if settings.redis_url is None:
        return None
    return RedisStore(
        settings.redis_url,
        ca_file=settings.redis_ca_file,
        breaker=CircuitBreaker(changed=redis_breaker),
        failed=redis_failed,
    )


def _database(settings: Settings) -> Database:
    return Database(
        settings.database_url,
        settings.state_path,
        bounded=True,
        failed=database_failed,
        used=database_used,
    )


def _tracing(settings: Settings) -> "Tracing | None":
    if settings.tracing_endpoint is None:
        return None
    from service.api.tracing import Tracing  # an extra, which need not be installed

    return Tracing(settings.tracing_endpoint)


def _trusting(inner: WSGIApplication, settings: Settings) -> WSGIApplication:
    """What the nearest proxies forward is believed as far as there are such proxies.

    Kept answers depend on none of it, so it is read where one is computed.
    """
    count = settings.trusted_proxies
    if count == 0:
        return inner
    # Not X-Forwarded-Prefix: proxies pass it on from anyone, and a cache between cannot tell them apart.
    return ProxyFix(inner, x_for=count, x_proto=count, x_host=count)


def _mount(
    app: Flask,
    catalog: Catalog,
    settings: Settings,
    store: RedisStore | None,
    facts_are: FactsState,
    uploaded: Uploads,
    held: MemoryHeld,
) -> None:
    shown = replace(
        catalog,
        measurements=WithUploads(catalog.measurements, uploaded),
        measurement_sources=SourcesWithUploads(catalog.measurement_sources),
    )
    for resource in (
        sizing.blueprint(shown),
        costs.blueprint(catalog),
        finetuning.blueprint(catalog),
        plan.blueprint(catalog),
        matrix.blueprint(catalog),
        models.blueprint(catalog),
        inspect.blueprint(catalog),
        measurements.blueprint(shown, uploaded),
        uploads.blueprint(shown, uploaded, settings.max_pending_per_key),
        facts.blueprint(catalog),
        fragments.blueprint(shown),
        report.blueprint(shown, settings.public_url),
        health.blueprint(catalog, health.cache_state(store), facts_are, uploaded),
        metrics.blueprint(
            settings.metrics_path,
            catalog.digest,
            facts_are,
            (of_facts(catalog), of_uploads(uploaded)),
            held,
        ),
        pages.blueprint(catalog),
        web.blueprint(catalog, settings.public_url),
        sitemap.blueprint(catalog, settings.public_url),
    ):
        app.register_blueprint(resource)
