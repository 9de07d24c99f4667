"""The published figures that tests compare with: the catalog's models and the data files beside the tests."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]


@cache
def models() -> dict[str, dict[str, Any]]:
    """Catalog id -> the model's file, in which `config` is the published config.json."""
    files = sorted((ROOT / "config" / "models").glob("*.yaml"))
    return {entry["id"]: entry for entry in map(_read, files)}


@cache
def expectations() -> dict[str, dict[str, Any]]:
    """Catalog id -> cache, state and active figures, derived apart from this program."""
    return {entry["id"]: entry for entry in _read(ROOT / "tests" / "data" / "expectations.yaml")}


@cache
def llamacpp_figures() -> dict[str, dict[str, Any]]:
    """Catalog id -> what llama.cpp itself said of the converted model."""
    return {entry["model"]: entry for entry in _read(ROOT / "tests" / "data" / "llamacpp_figures.yaml")}


def _read(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
