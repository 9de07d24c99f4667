"""Settings from the environment's variables; every wrong one is named at once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from environs import Env, EnvValidationError, validate

from service.settings import checks
from service.settings.secrets import secret
from service.settings.values import Settings

_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_DEFAULTS = Settings()


class InvalidSettings(Exception):
    """The environment holds values that the service cannot start with; the message names each one."""


def read_settings() -> Settings:
    """The settings that the process's environment describes; defaults stand for what is unset.

    Raises InvalidSettings with every wrong variable and what is wrong with it.
    """
    env = Env(eager=False)
    values = {**_serving(env), **_caching(env), **_storage(env), **_bounds(env), **_protection(env)}
    try:
        env.seal()
    except EnvValidationError as error:
        messages = error.error_messages
        assert isinstance(messages, Mapping)  # seal() always names the variables
        wrong = (f"{name}: {' '.join(map(str, reasons))}" for name, reasons in messages.items())
        raise InvalidSettings("; ".join(wrong)) from None
    return Settings(**values)


def _serving(env: Env) -> dict[str, Any]:
    return {
        "host": env.str("HOST", _DEFAULTS.host),
        "port": env.int("PORT", _DEFAULTS.port, validate=validate.Range(0, 65_535)),
        "web_concurrency": _count(env, "WEB_CONCURRENCY", _DEFAULTS.web_concurrency, 1),
        "threads": _count(env, "THREADS", _DEFAULTS.threads, 1),
        "graceful_timeout_seconds": _count(
            env, "GRACEFUL_TIMEOUT_SECONDS", _DEFAULTS.graceful_timeout_seconds, 0
        ),
        "trusted_proxies": env.int(
            "TRUSTED_PROXIES", _DEFAULTS.trusted_proxies, validate=validate.Range(0, 10)
        ),
        "warm_up_seconds": env.float(
            "WARM_UP_SECONDS", _DEFAULTS.warm_up_seconds, validate=validate.Range(0, 60)
        ),
        "public_url": (env.str("PUBLIC_URL", None, validate=checks.public_url) or "").rstrip("/") or None,
        "tracing_endpoint": _tracing_endpoint(env),
        "log_level": env.str("LOG_LEVEL", _DEFAULTS.log_level, validate=validate.OneOf(_LEVELS)),
        "metrics_path": env.str("PROMETHEUS_MULTIPROC_DIR", None) or None,
        "config_path": env.path("CONFIG_PATH", _DEFAULTS.config_path, validate=checks.folder),
        "catalog_path": _optional_path(env.str("CATALOG_PATH", None, validate=checks.optional_folder)),
    }


def _caching(env: Env) -> dict[str, Any]:
    return {
        "redis_url": secret(env, "REDIS_URL", checks.redis_url),
        "redis_ca_file": env.str("REDIS_CA_FILE", None, validate=checks.file) or None,
        "cache_memory_bytes": _count(env, "CACHE_MEMORY_BYTES", _DEFAULTS.cache_memory_bytes, 0),
        "cache_max_age_seconds": _count(env, "CACHE_MAX_AGE_SECONDS", _DEFAULTS.cache_max_age_seconds, 0),
        "cache_shared_max_age_seconds": _count(
            env, "CACHE_SHARED_MAX_AGE_SECONDS", _DEFAULTS.cache_shared_max_age_seconds, 0
        ),
        "cache_stale_seconds": _count(env, "CACHE_STALE_SECONDS", _DEFAULTS.cache_stale_seconds, 0),
    }


def _storage(env: Env) -> dict[str, Any]:
    return {
        "state_path": _optional_path(env.str("STATE_PATH", None)) or _DEFAULTS.state_path,
        "database_url": secret(env, "DATABASE_URL", checks.database_url),
    }


def _bounds(env: Env) -> dict[str, Any]:
    return {
        "max_body_bytes": _count(env, "MAX_BODY_BYTES", _DEFAULTS.max_body_bytes, 1),
        "max_url_bytes": _count(env, "MAX_URL_BYTES", _DEFAULTS.max_url_bytes, 256),
        "max_header_bytes": _count(env, "MAX_HEADER_BYTES", _DEFAULTS.max_header_bytes, 1024),
        "max_pending_per_key": _count(env, "MAX_PENDING_PER_KEY", _DEFAULTS.max_pending_per_key, 1),
    }


def _protection(env: Env) -> dict[str, Any]:
    return {
        "rate_limit_misses": _rate(env, "RATE_LIMIT_MISSES", _DEFAULTS.rate_limit_misses),
        "rate_limit_writes": _rate(env, "RATE_LIMIT_WRITES", _DEFAULTS.rate_limit_writes),
        "hsts_seconds": _count(env, "HSTS_SECONDS", _DEFAULTS.hsts_seconds, 0),
        "frame_ancestors": env.str(
            "FRAME_ANCESTORS", _DEFAULTS.frame_ancestors, validate=checks.frame_ancestors
        ),
    }


def _rate(env: Env, name: str, default: str | None) -> str | None:
    rate: str | None = env.str(name, default, validate=checks.rate)
    return None if rate in (None, "", checks.OFF) else rate


def _tracing_endpoint(env: Env) -> str | None:
    """The service's own variable, else OpenTelemetry's, which other programs of a host may be meant by."""
    own: str | None = env.str("TRACING_ENDPOINT", None, validate=checks.tracing_endpoint)
    base = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", None)
    standard = env.str("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", None) or (
        f"{base.rstrip('/')}/v1/traces" if base else None
    )
    return own or (standard if standard and checks.can_trace() else None)


def _optional_path(path: str | None) -> Path | None:
    return Path(path) if path else None


def _count(env: Env, name: str, default: int, minimum: int) -> int:
    return env.int(name, default, validate=validate.Range(min=minimum))
