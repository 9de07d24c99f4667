"""The only place where the parts meet."""

from flask import Flask

from service.api import (
    arrival,
    costs,
    facts,
    finetuning,
    fragments,
    health,
    inspect,
    measurements,
    metrics,
    models,
    pages,
    problems,
    sizing,
)
from service.api.cache_key import classify
from service.api.envelope import Envelope
from service.cache import ByteCache, MemoryCache, RedisStore, Tiers, namespace
from service.catalog import Catalog, load_catalog
from service.settings import Settings
from service.version import VERSION


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
    store = RedisStore(settings.redis_url) if settings.redis_url else None
    _mount(app, catalog, settings, store)
    memory = MemoryCache(settings.cache_memory_bytes)
    cached = ByteCache(app.wsgi_app, Tiers(namespace(catalog.digest, VERSION), memory, store), classify)
    app.wsgi_app = Envelope(cached)  # type: ignore[method-assign]  # Flask's own way of wrapping
    return app


def _mount(app: Flask, catalog: Catalog, settings: Settings, store: RedisStore | None) -> None:
    for resource in (
        sizing.blueprint(catalog),
        costs.blueprint(catalog),
        finetuning.blueprint(catalog),
        models.blueprint(catalog),
        inspect.blueprint(catalog),
        measurements.blueprint(catalog),
        facts.blueprint(catalog),
        fragments.blueprint(catalog),
        health.blueprint(catalog, health.cache_state(store)),
        metrics.blueprint(settings.metrics_path, catalog.digest),
        pages.blueprint(catalog),
    ):
        app.register_blueprint(resource)
