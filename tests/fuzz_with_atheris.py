"""Coverage-guided fuzzing of what reads bytes from outside; `atheris`, no dependency, must be installed.

    python -m tests.fuzz_with_atheris gguf -max_total_time=300 [folder of seeds]

Targets: gguf, json, csv, config, yaml. Any error but those that are meant to be is a finding.
"""

import json
import sys
from collections.abc import Callable

import atheris  # type: ignore[import-not-found]

with atheris.instrument_imports(include=["service"]):
    from service.api.json_body import check_structure
    from service.api.submitting import csv_rows
    from service.catalog.overlay import overlay
    from service.core.posted import Stated, build_model
    from service.core.recognition import Known
    from service.inspection import NotGguf, inspect_gguf, read_header
from service.errors import CatalogError, SizingError

_NOTHING = Known((), {})


def gguf(content: bytes) -> None:
    """The header of a GGUF file, and the model that it describes."""
    try:
        inspect_gguf(read_header(content), _NOTHING)
    except (NotGguf, SizingError):
        return


def json_structure(content: bytes) -> None:
    """The bounds of a JSON text; what they let through, the parser takes without running out of stack."""
    try:
        check_structure(content)
        json.loads(content)
    except (SizingError, ValueError):
        return


def csv(content: bytes) -> None:
    """A CSV of measurements."""
    try:
        csv_rows(content)
    except SizingError:
        return


def config(content: bytes) -> None:
    """A config.json of any architecture."""
    try:
        check_structure(content)
        value = json.loads(content)
    except (SizingError, ValueError):
        return
    if isinstance(value, dict):
        try:
            build_model(value, Stated(None), _NOTHING)
        except SizingError:
            return


def yaml(content: bytes) -> None:
    """An operator's file of accelerators."""
    try:
        overlay({"gpus.yaml": content}, "own")
    except CatalogError:
        return


_TARGETS: dict[str, Callable[[bytes], None]] = {
    "gguf": gguf,
    "json": json_structure,
    "csv": csv,
    "config": config,
    "yaml": yaml,
}

if __name__ == "__main__":
    target = _TARGETS[sys.argv.pop(1)]
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
