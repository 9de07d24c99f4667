"""gunicorn for `service.wsgi:app`; every value comes from the service's own settings."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from service.settings import read_settings

_settings = read_settings()
_shared_memory = Path("/dev/shm")  # noqa: S108 - only where it exists and may be written
_in_memory = str(_shared_memory) if _shared_memory.is_dir() and os.access(_shared_memory, os.W_OK) else None

bind = [
    f"[{_settings.host}]:{_settings.port}" if ":" in _settings.host else f"{_settings.host}:{_settings.port}"
]
workers = _settings.web_concurrency
threads = _settings.threads
worker_class = "gthread"
preload_app = True  # the catalog is loaded once and shared by the workers
graceful_timeout = _settings.graceful_timeout_seconds
timeout = 60
keepalive = 15
worker_tmp_dir = _in_memory  # the workers' heartbeat must not wait for a disk
control_socket_disable = True  # it would write below $HOME, which a read-only container does not have
limit_request_line = 8190
forwarded_allow_ips = ""  # nothing in an answer depends on forwarded headers
loglevel = _settings.log_level.lower()

# The workers' metrics meet in a folder; without one each worker would report only itself.
_OWN_METRICS = f"sizing-metrics-{os.getpid()}-"
if _settings.metrics_path is None:
    with contextlib.suppress(OSError):
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix=_OWN_METRICS, dir=_in_memory)


def child_exit(_server, worker):
    """Drop the gauges of a worker that ended; its counts stay in the sums."""
    from prometheus_client import multiprocess

    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        multiprocess.mark_process_dead(worker.pid)


def on_exit(_server):
    """Remove the folder of the metrics, if it was made here."""
    folder = Path(os.environ.get("PROMETHEUS_MULTIPROC_DIR", ""))
    if folder.name.startswith(_OWN_METRICS):
        shutil.rmtree(folder, ignore_errors=True)
