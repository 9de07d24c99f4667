"""What the sections about a model alone share: which model it is, and whether their engine runs it."""

from collections.abc import Mapping
from typing import Any

from service.core.catalogued import Model, Support
from service.core.tiers import TIER_ENGINE
from service.i18n.marking import mark
from service.i18n.messages.terms import ENGINES as ENGINE_NAMES
from service.i18n.voice import Voice

_UNSUPPORTED = mark("%(engine)s does not run this model yet; the figures follow its rules all the same.")
_UNSURE = mark("It is not known whether %(engine)s runs this model; the figures follow its rules.")


def subject(model: Model) -> dict[str, Any]:
    """The model, the engine by whose rules it is sized, and whether that engine runs it."""
    return {
        "model": {"id": model.id, "name": model.name},
        "engine": TIER_ENGINE,
        "supported": model.support.get(TIER_ENGINE, Support("unknown")).status,
    }


def doubts(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """A sentence where the engine does not run the model, or nobody knows."""
    message = {"no": _UNSUPPORTED, "unknown": _UNSURE}.get(data["supported"])
    return [] if message is None else [voice.text(message, engine=ENGINE_NAMES[data["engine"]])]
