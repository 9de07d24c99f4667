"""A fine-tuning as JSON."""

from typing import Any

from service.api.documents.notes import told
from service.core.finetuning.result import FineTunings
from service.i18n import Voice
from service.render import finetuning
from service.version import VERSION


def finetuning_document(found: FineTunings, data_digest: str, voice: Voice) -> dict[str, Any]:
    """The question, and for each method its memory, verdict, smallest hardware and evidence."""
    training = found.training
    methods = finetuning.results(found)
    for entry, result in zip(methods, found.results, strict=True):
        entry["notes"] = told(result.notes, voice)
        if entry["fit"] is not None:
            entry["fit"]["reasons"] = told(result.reasons, voice)
    return {
        "scenario": {
            **finetuning.parameters(found),
            "lang": voice.language.tag,
            "defaulted": list(training.defaulted),
        },
        "model": {
            "id": training.model.id,
            "name": training.model.name,
            "hf_repo": training.model.hf_repo,
            "parameters_total": training.model.parameters_total,
            "evidence": training.model.evidence,
        },
        "methods": methods,
        "versions": {"service": VERSION, "data_digest": data_digest},
    }
