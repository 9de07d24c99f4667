"""What heavy questions cost a process that has prepared nothing: each in a process of its own.

`python -m benchmarks.cold ADDRESS` prints CPU seconds of its first answer in a new process.
"""

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import cast

from benchmarks.requests import Application, call
from benchmarks.servers import ROOT
from service.app import create_app
from service.logs import configure_logs
from service.settings import Settings

COLD: Mapping[str, str] = MappingProxyType(
    {
        "models of a GPU, cold process": "/v1/fragments/models?gpu=rtx-4090",
        "tiers of a GPU, cold process": "/v1/fragments/memory-tiers?gpu=rtx-4090",
    }
)
_STARTS = 3


def measured() -> dict[str, float]:
    """CPU seconds of each row."""
    return {row: median(_first(address) for _ in range(_STARTS)) for row, address in COLD.items()}


def _first(address: str) -> float:
    """CPU seconds of an answer in a new process, its start not counted."""
    command = [sys.executable, "-m", "benchmarks.cold", address]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603 - our own
    return float(done.stdout)


def main() -> None:
    """Print CPU seconds of the first answer to an address."""
    configure_logs("CRITICAL")
    path, _, query = sys.argv[1].partition("?")
    with TemporaryDirectory() as state:
        app = cast(Application, create_app(Settings(state_path=Path(state))))
        start = time.process_time()
        status, _ = call(app, path, query, HTTP_ACCEPT="text/html")
        print(time.process_time() - start)
    if status != 200:
        raise SystemExit(f"{sys.argv[1]}: {status}")


if __name__ == "__main__":
    main()
