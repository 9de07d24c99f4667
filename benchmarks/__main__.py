"""`make bench`: what answers cost, as ratios to a bare WSGI application measured in the same rounds."""

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.requests import QUESTION, Application, call, floor, fresh
from benchmarks.rounds import measure
from service.app import create_app
from service.catalog import Catalog, load_catalog
from service.core.request import Request
from service.core.resolve import resolve
from service.core.size import size
from service.logs import configure_logs
from service.settings import Settings
from tests.mutations import mutated

# Largest accepted CPU milliseconds, with room for a slow machine; a case beyond its mark fails the run.
MARKS = {
    "cached sizing": 0.5,
    "cached fragment": 0.5,
    "not modified (304)": 0.5,
    "sizing, uncached": 40,
    "fragment memory, uncached": 40,
    "sizing with derivation, uncached": 80,
    "costs, uncached": 400,
    "plan for a model, uncached": 600,
    "plan for a GPU, uncached": 600,
    "matrix 80 x 57, uncached": 1000,
    "matrix of one model, uncached": 50,
    "cached matrix": 0.5,
    "size() in process": 30,
}
WORST_MUTATION_MS = 1000


def main() -> int:
    """Measure, print, and return 1 when a case is beyond its mark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--mutations", type=int, default=300)
    given = parser.parse_args()
    configure_logs("CRITICAL")
    start = time.perf_counter()
    app = create_app(Settings())
    print(f"start-up {time.perf_counter() - start:.2f} s")
    times = measure(_cases(app), given.rounds)
    bare = times.pop("bare WSGI")
    print(f"{'case':34}{'CPU ms':>10}{'× floor':>10}{'mark ms':>10}")
    print(f"{'bare WSGI (floor)':34}{1000 * bare:10.4f}{1:10.1f}")
    late = False
    for name, seconds in times.items():
        mark = MARKS[name]
        late |= 1000 * seconds > mark
        print(f"{name:34}{1000 * seconds:10.3f}{seconds / bare:10.1f}{mark:10}")
    worst, what = _worst_mutation(app, given.mutations)
    late |= worst > WORST_MUTATION_MS
    print(f"worst of {given.mutations} damaged configs: {worst:.0f} ms ({what})")
    return int(late)


def _cases(app: Application) -> dict[str, tuple[Callable[[], object], int]]:
    get = partial(call, app)
    _, answer = get("/v1/sizing", QUESTION)
    tag = _etag(app)
    catalog = load_catalog(Settings().config_path)
    return {
        "bare WSGI": (partial(call, floor(answer), "/v1/sizing", QUESTION), 500),
        "cached sizing": (lambda: get("/v1/sizing", QUESTION), 500),
        "cached fragment": (lambda: get("/v1/fragments/memory", QUESTION, HTTP_ACCEPT="text/html"), 500),
        "not modified (304)": (lambda: get("/v1/sizing", QUESTION, HTTP_IF_NONE_MATCH=tag), 500),
        "sizing, uncached": (lambda: get("/v1/sizing", fresh(QUESTION)), 10),
        "fragment memory, uncached": (
            lambda: get("/v1/fragments/memory", fresh(QUESTION), HTTP_ACCEPT="text/html"),
            10,
        ),
        "sizing with derivation, uncached": (lambda: get("/v1/sizing", fresh(QUESTION + "&explain=true")), 5),
        "costs, uncached": (lambda: get("/v1/costs", fresh("model=llama-3.3-70b-instruct&gpu=h100")), 2),
        "plan for a model, uncached": (
            lambda: get("/v1/plan", fresh("model=llama-3.3-70b-instruct&context_tokens=32768")),
            1,
        ),
        "plan for a GPU, uncached": (lambda: get("/v1/plan", fresh("gpu=rtx-4090")), 1),
        "matrix 80 x 57, uncached": (lambda: get("/v1/matrix", fresh("gpu_count=1")), 1),
        "matrix of one model, uncached": (lambda: get("/v1/matrix", fresh("model=kimi-k3.1-pro")), 5),
        "cached matrix": (lambda: get("/v1/matrix"), 500),
        "size() in process": (_sizing(catalog), 10),
    }


def _sizing(catalog: Catalog) -> Callable[[], object]:
    asked = Request(model=catalog.find_model("kimi-k3.1-pro"), gpu=catalog.find_gpu("h20-141gb"))
    return lambda: size(resolve(asked))


def _etag(app: Application) -> str:
    answer = app.test_client().get(f"/v1/sizing?{QUESTION}")  # type: ignore[attr-defined]
    return str(answer.headers["ETag"])


def _worst_mutation(app: Application, count: int) -> tuple[float, str]:
    worst, worst_what = 0.0, "none"
    for what, config in mutated(seed=1, count=count):
        start = time.process_time()
        status, _ = call(app, "/v1/sizing", body={"model_config": config, "gpu": "rtx-4090"})
        spent = 1000 * (time.process_time() - start)
        if status >= 500:
            raise SystemExit(f"{what}: {status}")
        if spent > worst:
            worst, worst_what = spent, str(what)
    return worst, worst_what


if __name__ == "__main__":
    if not Path("config").is_dir():
        raise SystemExit("run it from the project's folder: make bench")
    sys.exit(main())
