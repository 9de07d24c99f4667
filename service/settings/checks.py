"""What a value of a setting must satisfy; no message repeats a value that may hold a password."""

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

from environs import ValidationError
from limits import parse_many

OFF = "off"
_REDIS = ("redis", "rediss")
_DATABASES = ("postgresql", "postgres", "sqlite")
_ANCESTORS = re.compile(r"'none'|'self'|\*|https?://[A-Za-z0-9.*:-]+( https?://[A-Za-z0-9.*:-]+)*")


def redis_url(url: str) -> None:
    """An address that the cache can connect to."""
    if not url:
        return
    schemes = (*_REDIS, "unix", *(f"{r}+{k}" for r in _REDIS for k in ("cluster", "sentinel")))
    try:
        parts = urlsplit(url)
        ports = [urlsplit(f"//{address}").port for address in parts.netloc.rpartition("@")[2].split(",")]
    except ValueError:
        raise ValidationError("A host or a port is wrong.") from None
    if parts.scheme not in schemes or "://" not in url:
        raise ValidationError(f"Must start with {', '.join(f'{scheme}://' for scheme in schemes)}.")
    if "+" not in parts.scheme and len(ports) > 1:
        raise ValidationError("Only clusters and Sentinel take more than one host.")
    if parts.scheme.endswith("+sentinel") and not parts.path.strip("/"):
        raise ValidationError("The path must name Sentinel's master, such as /mymaster/0.")


def database_url(url: str) -> None:
    """An address of a PostgreSQL server, or of a SQLite file."""
    if not url:
        return
    scheme, found, rest = url.partition("://")
    kind = scheme.partition("+")[0]
    if not found or kind not in _DATABASES or scheme not in (kind, "postgresql+psycopg"):
        raise ValidationError(f"Must start with {', '.join(f'{name}://' for name in _DATABASES)}.")
    try:
        _ = urlsplit(f"//{rest}").port
    except ValueError:
        raise ValidationError("A host or a port is wrong.") from None
    if kind == "sqlite" and not rest.strip("/"):
        raise ValidationError("Must name a file, such as sqlite:////var/lib/sizing/measurements.sqlite3.")


def public_url(url: str) -> None:
    """An address that pages can be reached at."""
    if not url:
        return
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValidationError("Must be an http:// or https:// address without query and fragment.")


def tracing_endpoint(url: str) -> None:
    """An address that traces can be sent to, where the libraries for it are installed."""
    if not url:
        return
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValidationError(
            "Must be an http:// or https:// address, such as http://collector:4318/v1/traces."
        )
    if not can_trace():
        raise ValidationError("Needs the extra “tracing”: pip install 'llm-sizing[tracing]'.")


def can_trace() -> bool:
    """Whether the libraries of the extra `tracing` are there; nothing of them is imported."""
    try:
        return bool(version("opentelemetry-exporter-otlp-proto-http"))
    except PackageNotFoundError:
        return False


def folder(path: Path) -> None:
    """A folder that exists."""
    if not path.is_dir():
        raise ValidationError(f"No such folder: {path}.")


def optional_folder(path: str) -> None:
    """A folder that exists; nothing is not checked."""
    if path:
        folder(Path(path))


def file(path: str) -> None:
    """A file that exists; nothing is not checked."""
    if path and not Path(path).is_file():
        raise ValidationError(f"No such file: {path}.")


def rate(rate: str) -> None:
    """A number of points in a period, or `off`; nothing is not checked."""
    if not rate or rate == OFF:
        return
    try:
        parse_many(rate)
    except ValueError:
        raise ValidationError("Must be a rate such as 60/minute, or off.") from None


def frame_ancestors(sources: str) -> None:
    """Sources of a Content-Security-Policy's frame-ancestors, as they go into the header."""
    if not _ANCESTORS.fullmatch(sources):
        raise ValidationError("Must be 'none', 'self', * or origins such as https://example.org.")
