"""`make bench`: what answers cost, against a bare WSGI application measured in the same rounds."""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks import in_process, sections
from benchmarks.client import Client
from benchmarks.over_http import FIRST_QUESTION, Measured, measure, service_cases
from benchmarks.report import DOCUMENT, Figures, document, printed
from benchmarks.servers import gunicorn
from service.catalog import load_catalog
from service.settings import Settings

_STARTS = 3


def main() -> int:
    """Measure, print, write the document, and return 1 when a row is beyond its mark."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--scale", type=float, default=1.0, help="of the requests a round")
    parser.add_argument("--mutations", type=int, default=200)
    parser.add_argument("--output", type=Path, default=DOCUMENT)
    given = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="sizing-bench-") as folder:
        start_up, memory = _started(Path(folder))
        over_http = _over_http(Path(folder), given.rounds, given.scale)
    figures = Figures(
        over_http=over_http,
        in_process=in_process.measured(given.rounds, given.mutations),
        sections=sections.measured(load_catalog(Settings().config_path)),
        start_up_seconds=start_up,
        memory_bytes=memory,
        load=load,
        rounds=given.rounds,
    )
    print(printed(figures))
    given.output.write_text(document(figures), encoding="utf-8")
    return int(bool(figures.late()))


def _over_http(folder: Path, rounds: int, scale: float) -> dict[str, Measured]:
    with service_cases(folder, scale) as cases:
        return measure(cases, rounds)


def _started(folder: Path) -> tuple[float, int]:
    """Medians of seconds from the start of the server to its first answer, and of its memory after it."""
    seconds, memory = [], []
    for _ in range(_STARTS):
        with gunicorn("service.wsgi:app", folder) as server, Client(server.port) as client:
            client.ask(FIRST_QUESTION)
            seconds.append(server.age_seconds())
            memory.append(server.memory_bytes())
    return median(seconds), round(median(memory))


if __name__ == "__main__":
    if not Path("config").is_dir():
        raise SystemExit("run it from the project's folder: make bench")
    sys.exit(main())
