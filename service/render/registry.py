"""Every section of a report; adding one is a data module, two templates, and its line here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from service.core.catalogued import Model
from service.core.hardware import Gpu
from service.core.sizing import Sizing
from service.i18n.marking import mark
from service.i18n.voice import Voice
from service.render.sections import (
    about,
    accelerator,
    architecture,
    cloud,
    cloud_of_gpu,
    commands,
    commands_alone,
    context,
    context_alone,
    derivation,
    diagnosis,
    estimates,
    faq,
    finetuning,
    gpus,
    measurements,
    measurements_of_gpu,
    memory,
    memory_tiers,
    models,
    models_of_gpu,
    quantizations,
    quantizations_alone,
    recommendations,
    scenario,
    speed,
    summary,
    tiers_of_gpu,
    tips,
)

Compute = Callable[[Sizing, object], dict[str, Any]]
ComputeOfModel = Callable[[Model, object], dict[str, Any]]
ComputeOfGpu = Callable[[Gpu, object], dict[str, Any]]
Say = Callable[[Mapping[str, Any], Voice], list[str]]
Subject = Sizing | Model | Gpu
"""What a report is about: a model on an accelerator, or one of them alone."""


@dataclass(frozen=True, slots=True)
class Form:
    """A section about one kind of subject: what computes it, what says it, and its template."""

    compute: Callable[[Any, object], dict[str, Any]]
    say: Say
    template: str
    title: str


@dataclass(frozen=True, slots=True)
class Section:
    """One section: its name, its title, and what computes and says it.

    needs_gpu: false when it is also part of a report about a model alone.
    compute / say: None while this version of the service does not have the section yet.
    compute_of_model: the data about a model alone, None where the section needs a sizing.
    say_of_model: what says that data, where it has another shape; its templates are `<name>-alone`.
    compute_of_gpu / say_of_gpu: the same about an accelerator alone; its templates are `<name>-gpu`.
    title_of_gpu: its title there, where it has another one.
    """

    name: str
    title: str
    needs_gpu: bool = True
    compute: Compute | None = None
    say: Say | None = None
    compute_of_model: ComputeOfModel | None = None
    say_of_model: Say | None = None
    compute_of_gpu: ComputeOfGpu | None = None
    say_of_gpu: Say | None = None
    title_of_gpu: str | None = None

    def form(self, subject: Subject | None) -> Form | None:
        """The section about a subject; None where it has nothing to say of one of its kind."""
        compute: Callable[[Any, object], dict[str, Any]] | None
        say: Say | None
        if isinstance(subject, Sizing):
            compute, say, suffix = self.compute, None, ""
        elif isinstance(subject, Gpu):
            compute, say, suffix = self.compute_of_gpu, self.say_of_gpu, "-gpu"
        else:
            compute, say, suffix = self.compute_of_model, self.say_of_model, "-alone"
        if compute is None or self.say is None:
            return None
        title = self.title_of_gpu if isinstance(subject, Gpu) else None
        return Form(compute, say or self.say, f"{self.name}{suffix if say else ''}", title or self.title)

    @property
    def available(self) -> bool:
        """Whether this version computes the section."""
        return self.compute is not None


_ALL = (
    Section("summary", mark("Summary"), True, summary.data, summary.sentences),
    Section("scenario", mark("Scenario"), True, scenario.data, scenario.sentences),
    Section("memory", mark("Memory breakdown"), True, memory.data, memory.sentences),
    Section("speed", mark("Speed"), True, speed.data, speed.sentences),
    Section(
        "recommendations",
        mark("Recommended hardware"),
        True,
        recommendations.data,
        recommendations.sentences,
    ),
    Section(
        "commands",
        mark("Launch commands"),
        False,
        commands.data,
        commands.sentences,
        commands_alone.data_of_model,
        commands_alone.sentences,
    ),
    Section(
        "cloud",
        mark("Cloud price comparison"),
        True,
        cloud.data,
        cloud.sentences,
        compute_of_gpu=cloud_of_gpu.data_of_gpu,
        say_of_gpu=cloud_of_gpu.sentences,
    ),
    Section("finetuning", mark("Fine-tuning"), True, finetuning.data, finetuning.sentences),
    Section("diagnosis", mark("Diagnosis"), True, diagnosis.data, diagnosis.sentences),
    Section(
        "context",
        mark("Memory by context window"),
        False,
        context.data,
        context.sentences,
        context_alone.data_of_model,
        context_alone.sentences,
    ),
    Section(
        "quantizations",
        mark("Quantizations"),
        False,
        quantizations.data,
        quantizations.sentences,
        quantizations_alone.data_of_model,
        quantizations_alone.sentences,
    ),
    Section(
        "measurements",
        mark("Measurements"),
        False,
        measurements.data,
        measurements.sentences,
        measurements.data_of_model,
        compute_of_gpu=measurements_of_gpu.data_of_gpu,
        say_of_gpu=measurements_of_gpu.sentences,
    ),
    Section("derivation", mark("Derivation"), True, derivation.data, derivation.sentences),
    Section("faq", mark("Frequently asked questions"), True, faq.data, faq.sentences),
    Section("gpus", mark("This model on other GPUs"), True, gpus.data, gpus.sentences),
    Section(
        "models",
        mark("Other models on this GPU"),
        True,
        models.data,
        models.sentences,
        compute_of_gpu=models_of_gpu.data_of_gpu,
        say_of_gpu=models_of_gpu.sentences,
        title_of_gpu=mark("Models on this GPU"),
    ),
    Section(
        "accelerator",
        mark("About the GPU"),
        True,
        accelerator.data,
        accelerator.sentences,
        compute_of_gpu=accelerator.data_of_gpu,
    ),
    Section("about", mark("About the model"), False, about.data, about.sentences, about.data_of_model),
    Section(
        "estimates",
        mark("Estimated speed on each GPU"),
        False,
        estimates.data,
        estimates.sentences,
        estimates.data_of_model,
    ),
    Section(
        "architecture",
        mark("Architecture"),
        False,
        architecture.data,
        architecture.sentences,
        architecture.data_of_model,
    ),
    Section(
        "memory-tiers",
        mark("Memory tiers"),
        False,
        memory_tiers.data,
        memory_tiers.sentences,
        memory_tiers.data_of_model,
        compute_of_gpu=tiers_of_gpu.data_of_gpu,
        say_of_gpu=tiers_of_gpu.sentences,
    ),
    Section("tips", mark("Tips"), False, tips.data, tips.sentences, tips.data_of_model),
)

SECTIONS: Mapping[str, Section] = MappingProxyType({section.name: section for section in _ALL})
"""Sections by name, in the order of the report."""
