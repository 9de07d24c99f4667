"""SIGHUP: a server takes up changed facts and settings without dropping a request.

gunicorn reads its configuration anew and replaces its workers, but keeps the application that it preloaded
(gunicorn 27.0.1 app/base.py, BaseApplication.wsgi; arbiter.py, Arbiter.reload). `replace_application` builds
another one first, so that the workers which follow serve it while the old ones finish their requests.
"""

import gc
import sys
from typing import Protocol

import structlog
from flask import Flask

from service.app import facts_state, start
from service.core.matrix.blocks import forget_questions
from service.core.weights.weigh import forget_catalogued
from service.settings.last import SETTINGS

_ENTRY = "service.wsgi"


class Holder(Protocol):
    """What is used of gunicorn's application: the WSGI callable that its workers get."""

    callable: Flask


class Server(Protocol):
    """What is used of gunicorn's arbiter."""

    app: Holder


def replace_application(server: Server) -> bool:
    """Give the workers to come an application of the current files; whether that was possible.

    Otherwise they get the one that was served, which says in /health/ready and /metrics that its facts are
    not those of the files; the log says why.
    """
    log = structlog.get_logger()
    try:
        if SETTINGS.fault is not None:
            raise ValueError(SETTINGS.fault)
        forget_catalogued()
        forget_questions()
        fresh = start(SETTINGS.valid)
    except Exception as error:  # whatever is wrong with the new files, the server goes on with what it has
        facts_state(server.app.callable).current = False
        log.error("reload_failed", reason=str(error), error=type(error).__name__)
        return False
    server.app.callable = fresh
    _release(fresh)
    log.info("reloaded", data_digest=fresh.extensions["sizing"].catalog.digest)
    return True


def _release(fresh: Flask) -> None:
    """Let go of the old application, whose parts know each other, before workers copy the memory."""
    entry = sys.modules.get(_ENTRY)
    if entry is not None:
        entry.app = fresh  # type: ignore[attr-defined]  # the name by which gunicorn found the first one
    gc.collect()
