"""The service's settings: one frozen value, read from the environment here and nowhere else."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from environs import Env, EnvValidationError, ValidationError, validate

_DEFAULT_CONFIG = Path(__file__).resolve().parents[1] / "config"
_REDIS = ("redis", "rediss")
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


class InvalidSettings(Exception):
    """The environment holds values that the service cannot start with; the message names each one."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the environment decides; a field is the variable of the same name in capitals.

    trusted_proxies: how many proxies in front set X-Forwarded-*. warm_up_seconds: how long the server may
    prepare answers before it forks; 0 prepares none.
    redis_url: None keeps the cache inside each process. redis_ca_file: authorities of a `rediss://` server.
    cache_memory_bytes: bound of one process's answers.
    cache_max_age_seconds, cache_shared_max_age_seconds, cache_stale_seconds: `max-age`, `s-maxage` and
    `stale-while-revalidate` of cacheable answers. max_body_bytes, max_url_bytes: larger is 413, 414.
    public_url: where the pages are reached from outside, without a slash at the end; None: not known.
    metrics_path: folder of PROMETHEUS_MULTIPROC_DIR, where workers keep their metrics; None for one process.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    web_concurrency: int = 2
    threads: int = 4
    graceful_timeout_seconds: int = 30
    trusted_proxies: int = 0
    warm_up_seconds: float = 1.0
    redis_url: str | None = None
    redis_ca_file: str | None = None
    cache_memory_bytes: int = 64 * 2**20
    cache_max_age_seconds: int = 300
    cache_shared_max_age_seconds: int = 3600
    cache_stale_seconds: int = 86_400
    max_body_bytes: int = 2**20
    max_url_bytes: int = 8000
    public_url: str | None = None
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
        "trusted_proxies": env.int(
            "TRUSTED_PROXIES", _DEFAULTS.trusted_proxies, validate=validate.Range(0, 10)
        ),
        "warm_up_seconds": env.float(
            "WARM_UP_SECONDS", _DEFAULTS.warm_up_seconds, validate=validate.Range(0, 60)
        ),
        "public_url": (env.str("PUBLIC_URL", None, validate=_public_url) or "").rstrip("/") or None,
        "log_level": env.str("LOG_LEVEL", _DEFAULTS.log_level, validate=validate.OneOf(_LEVELS)),
        "metrics_path": env.str("PROMETHEUS_MULTIPROC_DIR", None) or None,
        "config_path": env.path("CONFIG_PATH", _DEFAULTS.config_path, validate=_folder),
    }


def _caching(env: Env) -> dict[str, Any]:
    return {
        "redis_url": env.str("REDIS_URL", None, validate=_redis_url) or None,
        "redis_ca_file": env.str("REDIS_CA_FILE", None, validate=_file) or None,
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
    if not url:
        return
    schemes = ("redis", "rediss", "unix", *(f"{r}+{k}" for r in _REDIS for k in ("cluster", "sentinel")))
    try:
        parts = urlsplit(url)
        ports = [urlsplit(f"//{address}").port for address in parts.netloc.rpartition("@")[2].split(",")]
    except ValueError as error:
        raise ValidationError(f"{error}.") from None
    if parts.scheme not in schemes or "://" not in url:
        raise ValidationError(f"Must start with {', '.join(f'{scheme}://' for scheme in schemes)}.")
    if "+" not in parts.scheme and len(ports) > 1:
        raise ValidationError("Only clusters and Sentinel take more than one host.")
    if parts.scheme.endswith("+sentinel") and not parts.path.strip("/"):
        raise ValidationError("The path must name Sentinel's master, such as /mymaster/0.")


def _public_url(url: str) -> None:
    if not url:
        return
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValidationError("Must be an http:// or https:// address without query and fragment.")


def _folder(path: Path) -> None:
    if not path.is_dir():
        raise ValidationError(f"No such folder: {path}.")


def _file(path: str) -> None:
    if path and not Path(path).is_file():
        raise ValidationError(f"No such file: {path}.")
