"""What matrices cost: all models x accelerators x eight formats x six contexts, slices of it, and its JSON.

`python -m benchmarks.matrix_cases` prints CPU milliseconds, and microseconds a cell.
"""

from collections.abc import Callable, Mapping
from itertools import count

from benchmarks.rounds import measure
from service.api.documents.matrix import matrix_csv, matrix_document
from service.api.encoding import to_json
from service.catalog import Catalog, load_catalog
from service.core.catalogued import Model
from service.core.matrix.cells import Facts
from service.core.matrix.compute import compute
from service.core.matrix.question import Question
from service.settings import Settings

FORMATS = ("native", "q8_0", "q6_k", "q5_k_m", "q4_k_m", "iq4_xs", "q3_k_m", "q2_k")
CONTEXTS = (4096, 8192, 32_768, 65_536, 131_072, 1_048_576)
Work = Callable[[], object]


def matrix_cases(catalog: Catalog) -> Mapping[str, tuple[Work, int]]:
    """Row -> a call, and how many calls a round; every question is a new one, of the catalog's models."""
    facts = Facts(catalog.speed, catalog.costs.offers)
    unseen = count(1)

    def asked(models: tuple[Model, ...] | None = None) -> Question:
        """Contexts that no one asked for before."""
        more = next(unseen)
        contexts = tuple(tokens + more for tokens in CONTEXTS)
        every = tuple(catalog.models.values())
        return Question(every if models is None else models, tuple(catalog.gpus.values()), FORMATS, contexts)

    def default() -> Question:
        return Question(
            tuple(catalog.models.values()), tuple(catalog.gpus.values()), contexts=(8192 + next(unseen),)
        )

    whole = compute(asked(), facts)
    one = (catalog.models["kimi-k3.1-pro"],)
    return {
        f"matrix of {whole.question.cells:,} cells": (lambda: compute(asked(), facts), 1),
        "matrix of one model, 8 formats, 6 contexts": (lambda: compute(asked(one), facts), 5),
        "matrix of one format and context": (lambda: compute(default(), facts), 3),
        "its JSON": (lambda: to_json(matrix_document(whole, catalog.digest)), 1),
        "its CSV": (lambda: matrix_csv(whole), 1),
    }


def cells(catalog: Catalog) -> int:
    """Cells of the first case."""
    return len(catalog.models) * len(catalog.gpus) * len(FORMATS) * len(CONTEXTS)


def main() -> None:
    """Print CPU milliseconds of each case."""
    catalog = load_catalog(Settings().config_path)
    times = measure(matrix_cases(catalog), rounds=7)
    for name, seconds in times.items():
        print(f"{name:45}{1000 * seconds:9.2f} ms")
    print(f"{'a cell of the first':45}{1e6 * next(iter(times.values())) / cells(catalog):9.3f} µs")


if __name__ == "__main__":
    main()
