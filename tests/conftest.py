"""Fixtures that every kind of test shares."""

import logging
from collections.abc import Iterator

import pytest
import structlog
from flask import Flask
from flask.testing import FlaskClient

from service.app import create_app
from service.catalog import Catalog, load_catalog
from service.settings import Settings


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog(Settings().config_path)


@pytest.fixture(scope="session")
def app() -> Flask:
    return create_app(Settings())


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture(scope="session", autouse=True)
def quiet_logs() -> Iterator[None]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()
