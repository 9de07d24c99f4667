"""The files in a folder of the operator's own facts; what is not a fact file there is an error."""

from collections.abc import Iterator
from pathlib import Path

from service.errors import CatalogError

LISTS = ("gpus.yaml", "offers.yaml")
MODELS = "models"
_SUFFIX = ".yaml"
_ALLOWED = f"only {MODELS}/<id>{_SUFFIX}, {' and '.join(LISTS)} are read here"
# Kubernetes keeps the versions of a mounted ConfigMap under names with two dots, the current one here.
_CURRENT = "..data"
_OF_THE_SYSTEM = ("..", "lost+found")


def read_operator_files(folder: Path) -> dict[str, bytes]:
    """Contents of the fact files by path relative to the folder, sorted by it; an empty folder has none.

    Raises CatalogError for any other file or folder, and for what cannot be read.
    """
    # A ConfigMap changes by one link; following it once reads one version, not half of each of two.
    current = folder / _CURRENT
    root = current.resolve() if current.is_dir() else folder
    try:
        return {name: (root / name).read_bytes() for name in _names(root, folder)}
    except OSError as error:
        raise CatalogError(str(error.filename or folder), "file", error.strerror or str(error)) from error


def _names(root: Path, shown: Path) -> Iterator[str]:
    for entry in sorted(root.iterdir()):
        if entry.name.startswith(_OF_THE_SYSTEM):
            continue
        if entry.name == MODELS and entry.is_dir():
            yield from _model_names(entry, shown / MODELS)
        elif entry.name in LISTS and entry.is_file():
            yield entry.name
        else:
            raise CatalogError(str(shown / entry.name), "file", f"is not expected: {_ALLOWED}")


def _model_names(models: Path, shown: Path) -> Iterator[str]:
    for entry in sorted(models.iterdir()):
        if entry.name.startswith(_OF_THE_SYSTEM):
            continue
        if entry.suffix != _SUFFIX or not entry.is_file():
            raise CatalogError(str(shown / entry.name), "file", f"is not expected: {_ALLOWED}")
        yield f"{MODELS}/{entry.name}"
