"""Every section of a report; adding one is a data module, two templates, and its line here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from service.core.catalogued import Model
from service.core.sizing import Sizing
from service.i18n.marking import mark
from service.i18n.voice import Voice
from service.render.sections import (
    cloud,
    context,
    derivation,
    finetuning,
    measurements,
    memory,
    quantizations,
    scenario,
    speed,
    summary,
)

Compute = Callable[[Sizing, object], dict[str, Any]]
ComputeOfModel = Callable[[Model, object], dict[str, Any]]
Say = Callable[[Mapping[str, Any], Voice], list[str]]


@dataclass(frozen=True, slots=True)
class Section:
    """One section: its name, its title, and what computes and says it.

    needs_gpu: false when it is also part of a report about a model alone.
    compute / say: None while this version of the service does not have the section yet.
    compute_of_model: the data about a model alone, None where the section needs a sizing.
    """

    name: str
    title: str
    needs_gpu: bool = True
    compute: Compute | None = None
    say: Say | None = None
    compute_of_model: ComputeOfModel | None = None

    @property
    def available(self) -> bool:
        """Whether this version computes the section."""
        return self.compute is not None


_ALL = (
    Section("summary", mark("Summary"), True, summary.data, summary.sentences),
    Section("scenario", mark("Scenario"), True, scenario.data, scenario.sentences),
    Section("memory", mark("Memory breakdown"), True, memory.data, memory.sentences),
    Section("speed", mark("Speed"), True, speed.data, speed.sentences),
    Section("recommendations", mark("Recommended hardware")),
    Section("commands", mark("Launch commands"), needs_gpu=False),
    Section("cloud", mark("Cloud price comparison"), True, cloud.data, cloud.sentences),
    Section("finetuning", mark("Fine-tuning"), True, finetuning.data, finetuning.sentences),
    Section("diagnosis", mark("Diagnosis")),
    Section("context", mark("Memory by context window"), False, context.data, context.sentences),
    Section("quantizations", mark("Quantizations"), False, quantizations.data, quantizations.sentences),
    Section(
        "measurements",
        mark("Measurements"),
        False,
        measurements.data,
        measurements.sentences,
        measurements.data_of_model,
    ),
    Section("derivation", mark("Derivation"), True, derivation.data, derivation.sentences),
    Section("faq", mark("Frequently asked questions")),
    Section("gpus", mark("This model on other GPUs")),
    Section("models", mark("Other models on this GPU")),
    Section("about", mark("About the model"), needs_gpu=False),
    Section("estimates", mark("Estimated speed on each GPU"), needs_gpu=False),
    Section("architecture", mark("Architecture"), needs_gpu=False),
    Section("memory-tiers", mark("Memory tiers"), needs_gpu=False),
    Section("tips", mark("Tips"), needs_gpu=False),
)

SECTIONS: Mapping[str, Section] = MappingProxyType({section.name: section for section in _ALL})
"""Sections by name, in the order of the report."""
