"""Reasons, warnings and remarks as data; sentences are made at the edge."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Note:
    """A reason or warning: a code with the values that its sentence names."""

    code: str
    parameters: Mapping[str, object] = field(default_factory=dict)
