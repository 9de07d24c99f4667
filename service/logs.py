"""Logs: one JSON object a line on standard error."""

import logging
import sys

import orjson
import structlog

# Local variables would put whole catalogs, and what callers sent, into the logs.
_TRACEBACKS = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)


def configure_logs(level: str) -> None:
    """Set up structlog for the process; lines below `level` are not built."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.ExceptionRenderer(_TRACEBACKS),
            structlog.processors.JSONRenderer(serializer=_to_json),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.BytesLoggerFactory(sys.stderr.buffer),
        cache_logger_on_first_use=True,
    )


def _to_json(event: object, **options: object) -> bytes:
    default = options.get("default")
    return orjson.dumps(event, default=default if callable(default) else None)
