"""What computing costs, without sockets: straight into the application, and into the core."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from benchmarks import cold
from benchmarks.marks import PER_CELL
from benchmarks.matrix_cases import cells, matrix_cases
from benchmarks.requests import Application, call, fresh
from benchmarks.rounds import measure
from service.app import create_app
from service.catalog import Catalog, load_catalog
from service.core.request import Request
from service.core.resolve import resolve
from service.core.size import size
from service.core.weights.weigh import weigh_architecture
from service.logs import configure_logs
from service.settings import Settings
from tests.mutations import mutated

Work = Callable[[], object]
_MODEL, _GPU = "llama-3.3-70b-instruct", "rtx-4090"
_QUESTION = "model=kimi-k3.1-pro&gpu=h20-141gb&quantization=q4_k_m&explain=true"
WORST = "damaged config, worst"
_MATRICES = (
    "full matrix",
    "full matrix, one model",
    "matrix of one format and context",
    "full matrix as JSON",
    "full matrix as CSV",
)


def measured(rounds: int, mutations: int) -> dict[str, float]:
    """CPU seconds of each row; mutations: how many damaged configs are tried."""
    configure_logs("CRITICAL")
    catalog = load_catalog(Settings().config_path)
    with TemporaryDirectory() as state:
        app = cast(Application, create_app(Settings(state_path=Path(state))))
        # In this order: what the matrix leaves in the memory of the process is not the others' affair.
        times = measure(_cases(app, catalog), rounds)
        times[WORST] = max(_damaged(app, mutations), default=0.0)
    times |= cold.measured()
    # The names say what the number of cells is today.
    matrices = dict(zip(_MATRICES, matrix_cases(catalog).values(), strict=True))
    times |= measure(matrices, rounds)
    times[PER_CELL] = times[_MATRICES[0]] / cells(catalog)
    return times


def _cases(app: Application, catalog: Catalog) -> Mapping[str, tuple[Work, int]]:
    """Row -> a call, and how many calls a round."""
    get = partial(call, app)
    return {
        "size()": (_sizing(catalog), 20),
        "weights of all models, one format": (_weighing(catalog), 3),
        "sizing with derivation": (lambda: get("/v1/sizing", fresh(_QUESTION)), 5),
        "costs": (lambda: get("/v1/costs", fresh(f"model={_MODEL}&gpu=h100")), 2),
        "plan for a model": (lambda: get("/v1/plan", fresh(f"model={_MODEL}&context_tokens=32768")), 1),
        "plan for a GPU": (lambda: get("/v1/plan", fresh(f"gpu={_GPU}")), 1),
    }


def _sizing(catalog: Catalog) -> Work:
    asked = Request(model=catalog.find_model("kimi-k3.1-pro"), gpu=catalog.find_gpu("h20-141gb"))
    return lambda: size(resolve(asked))


def _weighing(catalog: Catalog) -> Work:
    """Past what is remembered of the tables, not of where the tensors stand."""
    architectures = [model.architecture for model in catalog.models.values()]
    return lambda: [weigh_architecture(architecture, "q4_k_m") for architecture in architectures]


def _damaged(app: Application, count: int) -> list[float]:
    spent = []
    for what, config in mutated(seed=1, count=count):
        start = time.process_time()
        status, _ = call(app, "/v1/sizing", body={"model_config": config, "gpu": _GPU})
        spent.append(time.process_time() - start)
        if status >= 500:
            raise SystemExit(f"{what}: {status}")
    return spent
