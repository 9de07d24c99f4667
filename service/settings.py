"""The service's settings: one frozen value, read from the environment here and nowhere else."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from environs import Env, EnvValidationError, ValidationError, validate

_DEFAULT_CONFIG = Path(__file__).resolve().parents[1] / "config"
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


class InvalidSettings(Exception):
    """The environment holds values that the service cannot start with; the message names each one."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the environment decides; a field is the variable of the same name in capitals.

    redis_url: None keeps the cache inside each process. cache_memory_bytes: bound of one process's answers.
    cache_max_age_seconds, cache_shared_max_age_seconds, cache_stale_seconds: `max-age`, `s-maxage` and
    `stale-while-revalidate` of cacheable answers. max_body_bytes, max_url_bytes: larger is 413, 414.
    metrics_path: folder of PROMETHEUS_MULTIPROC_DIR, where workers keep their metrics; None for one process.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    web_concurrency: int = 2
    threads: int = 4
    graceful_timeout_seconds: int = 30
    redis_url: str | None = None
    cache_memory_bytes: int = 64 * 2**20
    cache_max_age_seconds: int = 300
    cache_shared_max_age_seconds: int = 3600
    cache_stale_seconds: int = 86_400
    max_body_bytes: int = 2**20
    max_url_bytes: int = 8000
    log_level: str = "INFO"
    metrics_path: str | None = None
    config_path: Path = _DEFAULT_CONFIG

    @property
    def cache_control(self) -> str:
        """The Cache-Control of an answer that is a pure function of its request."""
        return (
            f"public, max-age={self.cache_max_age_seconds}, s-maxage={self.cache_shared_max_age_seconds}, "
            f"stale-while-revalidate={self.cache_stale_seconds}"
        )


_DEFAULTS = Settings()


def read_settings() -> Settings:
    """The settings that the process's environment describes; defaults stand for what is unset.

    Raises InvalidSettings with every wrong variable and what is wrong with it.
    """
    env = Env(eager=False)
    values = {**_serving(env), **_caching(env), **_bounds(env)}
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
        "log_level": env.str("LOG_LEVEL", _DEFAULTS.log_level, validate=validate.OneOf(_LEVELS)),
        "metrics_path": env.str("PROMETHEUS_MULTIPROC_DIR", None) or None,
        "config_path": env.path("CONFIG_PATH", _DEFAULTS.config_path, validate=_folder),
    }


def _caching(env: Env) -> dict[str, Any]:
    return {
        "redis_url": env.str("REDIS_URL", None, validate=_redis_url) or None,
        "cache_memory_bytes": _count(env, "CACHE_MEMORY_BYTES", _DEFAULTS.cache_memory_bytes, 0),
        "cache_max_age_seconds": _count(env, "CACHE_MAX_AGE_SECONDS", _DEFAULTS.cache_max_age_seconds, 0),
        "cache_shared_max_age_seconds": _count(
            env, "CACHE_SHARED_MAX_AGE_SECONDS", _DEFAULTS.cache_shared_max_age_seconds, 0
        ),
        "cache_stale_seconds": _count(env, "CACHE_STALE_SECONDS", _DEFAULTS.cache_stale_seconds, 0),
    }


def _bounds(env: Env) -> dict[str, Any]:
    return {
        "max_body_bytes": _count(env, "MAX_BODY_BYTES", _DEFAULTS.max_body_bytes, 1),
        "max_url_bytes": _count(env, "MAX_URL_BYTES", _DEFAULTS.max_url_bytes, 256),
    }


def _count(env: Env, name: str, default: int, minimum: int) -> int:
    return env.int(name, default, validate=validate.Range(min=minimum))


def _redis_url(url: str) -> None:
    if url and not url.startswith(("redis://", "rediss://", "unix://")):
        raise ValidationError("Must start with redis://, rediss:// or unix://.")
    try:
        urlsplit(url).port  # noqa: B018 - reading it is the check
    except ValueError as error:
        raise ValidationError(f"{error}.") from None


def _folder(path: Path) -> None:
    if not path.is_dir():
        raise ValidationError(f"No such folder: {path}.")
