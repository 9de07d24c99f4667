"""What can be set, and what stands for what is not."""

from dataclasses import dataclass, field
from pathlib import Path

_DEFAULT_CONFIG = Path(__file__).resolve().parents[2] / "config"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the environment decides; a field is the variable of the same name in capitals.

    trusted_proxies: how many proxies in front set X-Forwarded-*. warm_up_seconds: how long the server may
    prepare answers before it forks; 0 prepares none.
    redis_url: None keeps the cache inside each process. redis_ca_file: authorities of a `rediss://` server.
    cache_memory_bytes: bound of one process's answers.
    cache_max_age_seconds, cache_shared_max_age_seconds, cache_stale_seconds: `max-age`, `s-maxage` and
    `stale-while-revalidate` of cacheable answers. max_body_bytes, max_url_bytes,
    max_header_bytes: larger is 413, 414, 431. max_pending_per_key: uploads of an API key that may wait for
    review.
    public_url: where the pages are reached from outside, without a slash at the end; None: not known.
    metrics_path: folder of PROMETHEUS_MULTIPROC_DIR, where workers keep their metrics; None for one process.
    catalog_path: folder of the operator's own facts, laid over those of config_path; None for none.
    rate_limit_misses, rate_limit_writes: points of a caller, such as `1200/minute`; None does not limit.
    hsts_seconds: `max-age` of Strict-Transport-Security; 0 sends none. frame_ancestors: who may frame pages.
    state_path: folder of the SQLite file that uploaded measurements and API keys are kept in; made by the
    first write. database_url: PostgreSQL instead; None for that file.
    tracing_endpoint: where an OpenTelemetry collector takes traces; None sends none.
    What holds a password is left out of the text form.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    web_concurrency: int = 2
    threads: int = 4
    graceful_timeout_seconds: int = 30
    trusted_proxies: int = 0
    warm_up_seconds: float = 1.0
    redis_url: str | None = field(default=None, repr=False)
    redis_ca_file: str | None = None
    cache_memory_bytes: int = 64 * 2**20
    cache_max_age_seconds: int = 300
    cache_shared_max_age_seconds: int = 3600
    cache_stale_seconds: int = 86_400
    max_body_bytes: int = 2**20
    max_url_bytes: int = 8000
    max_header_bytes: int = 16_384
    max_pending_per_key: int = 5000
    rate_limit_misses: str | None = None
    rate_limit_writes: str | None = "60/minute"
    hsts_seconds: int = 0
    frame_ancestors: str = "'none'"
    tracing_endpoint: str | None = None
    public_url: str | None = None
    log_level: str = "INFO"
    metrics_path: str | None = None
    config_path: Path = _DEFAULT_CONFIG
    catalog_path: Path | None = None
    state_path: Path = Path("state")
    database_url: str | None = field(default=None, repr=False)

    @property
    def cache_control(self) -> str:
        """The Cache-Control of an answer that is a pure function of its request."""
        return (
            f"public, max-age={self.cache_max_age_seconds}, s-maxage={self.cache_shared_max_age_seconds}, "
            f"stale-while-revalidate={self.cache_stale_seconds}"
        )
