"""Everything that can go wrong in the domain, as data; sentences are made at the edge.

SizingError
├── UnknownModel            no catalog model answers to the name        -> 404
├── UnknownGpu              no catalog accelerator answers to the name  -> 404
├── UnknownSection          no report section has the name              -> 404
├── InvalidParameters       one or more parameters are wrong            -> 422
├── UnsupportedArchitecture a config.json that no parser understands    -> 422
├── MalformedBody           the body is not what its media type says    -> 400
└── CatalogError            a file under config/ is wrong               -> the service does not start
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


class SizingError(Exception):
    """The root of the domain's errors."""


class UnknownName(SizingError):
    """A name that the catalog does not have, with the closest ids that it has."""

    def __init__(self, name: str, suggestions: Sequence[str] = ()) -> None:
        super().__init__(name)
        self.name = name
        self.suggestions = tuple(suggestions)


class UnknownModel(UnknownName):
    """No catalog model answers to the name."""


class UnknownGpu(UnknownName):
    """No catalog accelerator answers to the name."""


class UnknownSection(UnknownName):
    """No report section has the name."""


@dataclass(frozen=True, slots=True)
class ParameterError:
    """One wrong parameter: a code for the sentence, the allowed values, and what the sentence names."""

    parameter: str
    code: str
    allowed: tuple[object, ...] | None = None
    values: Mapping[str, object] = field(default_factory=dict)


class InvalidParameters(SizingError):
    """One or more parameters are wrong; nothing was computed."""

    def __init__(self, *errors: ParameterError) -> None:
        super().__init__(", ".join(f"{e.parameter}: {e.code}" for e in errors))
        self.errors = errors


class UnsupportedArchitecture(SizingError):
    """A config.json that no parser understands, that lacks needed fields, or has absurdly large ones.

    excessive: field -> the largest value that is read. place: the parameter that holds the config.
    """

    place = "model_config"

    def __init__(
        self, architecture: str, missing: Sequence[str] = (), excessive: Mapping[str, int] | None = None
    ) -> None:
        self.architecture = architecture
        self.missing = tuple(missing)
        self.excessive = dict(excessive or {})
        super().__init__(f"{architecture}: {', '.join((*self.missing, *self.excessive))}")


class MalformedBody(SizingError):
    """The request body is not what its media type says."""


class CatalogError(SizingError):
    """A fact file is wrong: which file, where in it, and why."""

    def __init__(self, file: str, path: str, reason: str) -> None:
        super().__init__(f"{file}: {path}: {reason}")
        self.file = file
        self.path = path
        self.reason = reason
