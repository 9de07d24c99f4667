"""gunicorn for `service.wsgi:app`; every value comes from the service's own settings."""

import contextlib
import gc
import os
import shutil
import socket
import struct
import tempfile
from pathlib import Path

from service.settings.last import SETTINGS

_settings = SETTINGS.read()  # at a reload with wrong ones: those from before
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
limit_request_field_size = 32_768  # the service itself refuses less, with a problem
forwarded_allow_ips = ""  # nothing in an answer depends on forwarded headers
loglevel = _settings.log_level.lower()

gc.disable()  # what is loaded before the fork stays; a reload collects the application that it replaces

# The workers' metrics meet in a folder; without one each worker would report only itself.
_OWN_METRICS = f"sizing-metrics-{os.getpid()}-"
if _settings.metrics_path is None:
    with contextlib.suppress(OSError):
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix=_OWN_METRICS, dir=_in_memory)


# A client that stops in the middle of a request, or of reading its answer, loses its connection.
_STALLED_SECONDS = 10


def when_ready(server):
    """Bound how long a thread waits for a client; connections inherit it from the socket they come in by."""
    limit = struct.pack("@ll", _STALLED_SECONDS, 0)
    for listener in server.LISTENERS:
        for direction in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            listener.sock.setsockopt(socket.SOL_SOCKET, direction, limit)


def post_fork(_server, _worker):
    """Looking for garbage would write to, and so copy, every page that the workers share: leave those out."""
    gc.freeze()
    gc.enable()


def child_exit(_server, worker):
    """Drop the gauges of a worker that ended; its counts stay in the sums."""
    from prometheus_client import multiprocess

    from service.api.metric_files import fold_ended

    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if folder:
        multiprocess.mark_process_dead(worker.pid)
        fold_ended(folder, worker.pid)


def on_reload(server):
    """SIGHUP: the workers to come serve the current files, or the facts from before where those are wrong."""
    from service.reloading import replace_application  # not above: the metrics' folder comes first

    replace_application(server)


def on_exit(_server):
    """Remove the folder of the metrics, if it was made here."""
    folder = Path(os.environ.get("PROMETHEUS_MULTIPROC_DIR", ""))
    if folder.name.startswith(_OWN_METRICS):
        shutil.rmtree(folder, ignore_errors=True)
