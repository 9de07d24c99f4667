"""The only place where the parts meet."""

from dataclasses import dataclass
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
    report,
    sizing,
    web,
)
from service.api.cache_key import canonical, classify
from service.api.envelope import Envelope
from service.api.warming import first_addresses, warm_up
from service.cache import ByteCache, MemoryCache, RedisStore, Tiers, namespace
from service.catalog import Catalog, load_catalog
from service.settings import Settings
from service.version import VERSION


@dataclass(frozen=True, slots=True)
class Parts:
    """What warming needs of an application, in `app.extensions["sizing"]`.

    cached: all levels. own: the same without Redis, whose connections must not be shared by forked workers.
    """

    catalog: Catalog
    cached: ByteCache
    own: ByteCache
    shared: RedisStore | None


def create_app(settings: Settings) -> Flask:
    """The application for the given settings.

    Raises CatalogError when a fact file is wrong.
    """
    catalog = load_catalog(settings.config_path)
    app = Flask("service", template_folder="api/templates", static_folder=None)
    app.config.update(
        MAX_CONTENT_LENGTH=settings.max_body_bytes,
        MAX_URL_BYTES=settings.max_url_bytes,
        CACHE_CONTROL=settings.cache_control,
    )
    app.url_map.merge_slashes = False  # a doubled slash is a wrong address, not a redirect
    arrival.register(app)
    problems.register(app)
    store = _shared(settings)
    _mount(app, catalog, settings, store)
    memory = MemoryCache(settings.cache_memory_bytes)
    # Pages name their own address: services that share a Redis under different names share no answers.
    code = f"{VERSION}@{settings.public_url}" if settings.public_url else VERSION
    prefix, known = namespace(catalog.digest, code), canonical(catalog)
    own = ByteCache(app.wsgi_app, Tiers(prefix, memory), classify, canonical=known)
    cached = ByteCache(app.wsgi_app, Tiers(prefix, memory, store), classify, canonical=known)
    outermost = _trusting(Envelope(cached), settings)
    app.wsgi_app = outermost  # type: ignore[method-assign, assignment]  # Flask's own way of wrapping
    app.extensions["sizing"] = Parts(catalog, cached, own, store)
    return app


def prepare(app: Flask, seconds: float) -> int:
    """Fill the process's own cache before it forks, for at most so long; how many answers there are now."""
    parts = app.extensions["sizing"]
    return warm_up(parts.own, first_addresses(parts.catalog), seconds) if seconds > 0 else 0


def _shared(settings: Settings) -> RedisStore | None:
    if settings.redis_url is None:
        return None
    return RedisStore(settings.redis_url, ca_file=settings.redis_ca_file)


def _trusting(inner: WSGIApplication, settings: Settings) -> WSGIApplication:
    """What the nearest proxies forward is believed as far as there are such proxies."""
    count = settings.trusted_proxies
    if count == 0:
        return inner
    # Not X-Forwarded-Prefix: proxies pass it on from anyone, and a cache between cannot tell them apart.
    return ProxyFix(inner, x_for=count, x_proto=count, x_host=count)


def _mount(app: Flask, catalog: Catalog, settings: Settings, store: RedisStore | None) -> None:
    for resource in (
        sizing.blueprint(catalog),
        costs.blueprint(catalog),
        finetuning.blueprint(catalog),
        plan.blueprint(catalog),
        matrix.blueprint(catalog),
        models.blueprint(catalog),
        inspect.blueprint(catalog),
        measurements.blueprint(catalog),
        facts.blueprint(catalog),
        fragments.blueprint(catalog),
        report.blueprint(catalog, settings.public_url),
        health.blueprint(catalog, health.cache_state(store)),
        metrics.blueprint(settings.metrics_path, catalog.digest),
        pages.blueprint(catalog),
        web.blueprint(catalog, settings.public_url),
    ):
        app.register_blueprint(resource)
