"""`python -m service.catalog.check [folder]`: load all facts and say what is in them."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from service.catalog.catalog import Catalog
from service.catalog.loader import load_catalog
from service.core.measurements import Measurement
from service.errors import CatalogError

_DEFAULT_ROOT = Path(__file__).resolve().parents[2] / "config"


def main(arguments: Sequence[str] = ()) -> int:
    """Print counts and shared names; 1 when a fact is wrong, 0 otherwise."""
    root = Path(arguments[0]) if arguments else _DEFAULT_ROOT
    try:
        catalog = load_catalog(root)
    except CatalogError as error:
        print(f"{root}/{error}", file=sys.stderr)
        return 1
    for line in report(catalog):
        print(line)
    return 0


def report(catalog: Catalog) -> list[str]:
    """What the catalog holds, one line for each kind of fact."""
    models, gpus = catalog.models.values(), catalog.gpus.values()
    measured = [row for rows in catalog.measurements.values() for row in rows]
    support = Counter(f"{engine} {row.status}" for m in models for engine, row in m.support.items())
    return [
        f"digest          {catalog.digest}",
        f"models          {len(catalog.models)}  {_counts(Counter(m.evidence for m in models))}",
        f"native bytes    {_counts(Counter(m.native_evidence.value for m in models))}",
        f"GGUF files      {sum(len(m.published_files) for m in models)}",
        f"support         {_counts(support)}",
        f"GPUs            {len(catalog.gpus)}  {_counts(Counter(g.vendor for g in gpus))}",
        f"GPU memory      {_counts(Counter(g.memory_evidence.value for g in gpus))}",
        f"quantizations   {len(catalog.quantizations)}",
        f"engines         {len(catalog.engines)}",
        f"offers          {len(catalog.offers)}  {_counts(Counter(o.confidence for o in catalog.offers))}",
        f"measurements    {len(measured)}  {_counts(Counter(_kind(row) for row in measured))}",
        f"shared names    {_shared(catalog) or 'none'}",
    ]


def _kind(row: Measurement) -> str:
    return "comparable" if row.comparable else "incomplete" if row.missing else "set aside"


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))


def _shared(catalog: Catalog) -> str:
    names = {**catalog.model_names.ambiguous(), **catalog.gpu_names.ambiguous()}
    return ", ".join(f"{name} ({' | '.join(ids)})" for name, ids in names.items())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
