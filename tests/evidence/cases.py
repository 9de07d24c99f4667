"""The logs, and how each of them is asked here."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from service.catalog.catalog import Catalog
from service.catalog.loader import load_catalog
from service.core.architecture.parse import parse
from service.core.catalogued import Model
from service.core.hardware import Gpu
from service.core.units import GIB
from tests.published import ROOT
from tests.unit.factories import make_model

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """One log: where it is from, what it reports, how it is asked, what is compared and what is left out."""

    id: str
    log: Mapping[str, Any]
    ask: Mapping[str, Any] = field(default_factory=dict)
    compare: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def engine(self) -> str:
        """The engine's family: forks are scored with the engine they come from."""
        name = str(self.log["engine"])
        known = ("llama.cpp", "ollama", "sglang", "vllm")
        return next((engine for engine in known if engine in name), "vllm")

    @property
    def reported(self) -> Mapping[str, Any]:
        """The printed figures."""
        figures: Mapping[str, Any] = self.log["reported"]
        return figures


@cache
def catalog() -> Catalog:
    return load_catalog(ROOT / "config")


def read(name: str) -> Any:
    """A file beside this one."""
    return yaml.load((HERE / name).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


@cache
def logs() -> dict[str, dict[str, Any]]:
    return {log["id"]: log for log in read("logs.yaml")}


@cache
def cases() -> tuple[Case, ...]:
    """Every log with its scenario, in the order of the scenarios."""
    return tuple(
        Case(
            id=entry["id"],
            log=logs()[entry["id"]],
            ask=entry.get("ask", {}),
            compare=tuple(entry.get("compare", ())),
            left_out=entry.get("left_out", {}),
        )
        for entry in read("scenarios.yaml")
    )


@cache
def _from_config(name: str) -> Model:
    entry = read("configs.yaml")[name]
    architecture = parse(entry["config"])
    return make_model(
        id=name, architecture=architecture, parameters_total=entry["parameters"], sources=(entry["source"],)
    )


def model(case: Case) -> Model:
    """The catalog's model (or sibling), or one made from a published config."""
    name = case.ask.get("model")
    return catalog().models[name] if name else _from_config(case.ask["config"])


def gpu(case: Case) -> Gpu:
    """The catalog's GPU with the memory of the log; `capability` where its release had other kernels."""
    card = catalog().gpus[case.ask["gpu"]]
    if "memory_gib" in case.ask:
        card = replace(card, memory_bytes=int(case.ask["memory_gib"] * GIB))
    if "capability" in case.ask:
        card = replace(card, compute_capability=case.ask["capability"])
    return card
