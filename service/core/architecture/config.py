"""Reading a published config.json: nested text_config, several spellings of a field, missing fields."""

from collections.abc import Mapping, Sequence
from typing import Any

from service.errors import UnsupportedArchitecture


class Config:
    """A published config.json; `text` is its language model, which may be nested in `text_config`."""

    def __init__(self, published: Mapping[str, Any]) -> None:
        self.published = published
        text = published.get("text_config")
        self.text: Mapping[str, Any] = text if isinstance(text, Mapping) else published
        vision = published.get("vision_config")
        self.vision: Mapping[str, Any] | None = vision if isinstance(vision, Mapping) else None

    @property
    def engine_class(self) -> str:
        """The class that engines register, from `architectures`."""
        names = self.published.get("architectures") or self.text.get("architectures")
        if isinstance(names, list) and names and isinstance(names[0], str):
            return names[0]
        return ""

    @property
    def model_type(self) -> str:
        """The published model_type, outermost first."""
        return str(self.published.get("model_type") or self.text.get("model_type") or "")

    def get(self, *names: str, default: Any = None) -> Any:
        """The first of the named fields that is present and not null, in the text part, else outside."""
        for place in (self.text, self.published):
            for name in names:
                if place.get(name) is not None:
                    return place[name]
        return default

    def need(self, *names: str) -> Any:
        """As `get`, but a missing field is an UnsupportedArchitecture that names it."""
        value = self.get(*names)
        if value is None:
            raise UnsupportedArchitecture(self.engine_class or self.model_type, names[:1])
        return value

    def integer(self, *names: str, default: int | None = None) -> int:
        """A whole number; booleans, fractions and text are refused as if missing."""
        value = self.get(*names, default=default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise UnsupportedArchitecture(self.engine_class or self.model_type, names[:1])
        return value

    def flag(self, *names: str, default: bool = False) -> bool:
        """A truth value."""
        return bool(self.get(*names, default=default))

    def integers(self, *names: str) -> Sequence[int] | None:
        """A list of whole numbers, None when the field is absent."""
        value = self.get(*names)
        if value is None:
            return None
        if not isinstance(value, list) or any(isinstance(v, bool) or not isinstance(v, int) for v in value):
            raise UnsupportedArchitecture(self.engine_class or self.model_type, names[:1])
        return value

    def strings(self, *names: str) -> Sequence[str] | None:
        """A list of strings, None when the field is absent."""
        value = self.get(*names)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise UnsupportedArchitecture(self.engine_class or self.model_type, names[:1])
        return value
