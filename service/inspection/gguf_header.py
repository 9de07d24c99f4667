"""The header of a GGUF file, read from as many of its first bytes as there are.

Format: ggml docs/gguf.md, versions 2 and 3, little-endian. Tokenizer lists stand before the tensors and are
walked over, not kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from struct import Struct, unpack

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MOST_KEPT = 4096  # values of an array that are kept, enough for one a layer
_MOST_KEPT_TOGETHER = 65_536  # of all arrays
_MOST_DIMENSIONS = 4  # GGML_MAX_DIMS
_LONGEST_TEXT = 4096  # of a key or a value that is kept
_MOST_KEYS = 65_536
_MOST_TENSORS = 4096  # the files of the largest models, Kimi K3 for one, have 2,700


class ValueType(IntEnum):
    """Types of metadata values."""

    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


_FORMS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRUCTS = {number: Struct(form) for number, form in _FORMS.items()}
_KINDS = {kind.value: kind for kind in ValueType}


class NotGguf(ValueError):
    """The bytes do not begin a GGUF file of a known version."""


class _EndOfBytes(Exception):
    """The bytes that were sent end here."""


@dataclass(frozen=True, slots=True)
class GgufArray:
    """An array of which only the length is kept."""

    length: int


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """One entry of the tensor list; shape with the row length last, type as ggml numbers it."""

    name: str
    shape: tuple[int, ...]
    type_id: int


@dataclass(slots=True)
class GgufHeader:
    """Metadata and tensors as far as the bytes reached; complete: all of both."""

    tensor_count: int
    metadata: dict[str, object] = field(default_factory=dict)
    tensors: list[GgufTensor] = field(default_factory=list)
    complete: bool = False


def read_header(content: bytes) -> GgufHeader:
    """The header at the beginning of `content`.

    Raises NotGguf for another format, an unknown version, or a structure that no writer makes.
    """
    reader = _Reader(content)
    try:
        magic, version = reader.take(4), reader.number(ValueType.UINT32)
        if magic != _MAGIC or version not in _VERSIONS:
            raise NotGguf
        header = GgufHeader(int(reader.number(ValueType.UINT64)))
        keys = int(reader.number(ValueType.UINT64))
    except _EndOfBytes:
        raise NotGguf from None
    if keys > _MOST_KEYS or header.tensor_count > _MOST_TENSORS:
        raise NotGguf
    try:
        for _ in range(keys):
            key = reader.text()
            header.metadata[key] = reader.value(reader.kind())
        for _ in range(header.tensor_count):
            header.tensors.append(reader.tensor())
        header.complete = True
    except _EndOfBytes:
        pass
    return header


class _Reader:
    """A place in the bytes that moves on with every value."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self._room = _MOST_KEPT_TOGETHER

    def take(self, size: int) -> bytes:
        """The next bytes."""
        end = self._at + size
        if end > len(self._content):
            raise _EndOfBytes
        found = self._content[self._at : end]
        self._at = end
        return found

    def number(self, kind: ValueType) -> int | float:
        """A number or truth value."""
        form = _STRUCTS[kind]
        if self._at + form.size > len(self._content):
            raise _EndOfBytes
        value: int | float = form.unpack_from(self._content, self._at)[0]
        self._at += form.size
        return value

    def kind(self) -> ValueType:
        """The type of the value that follows."""
        found = _KINDS.get(int(self.number(ValueType.UINT32)))
        if found is None:
            raise NotGguf
        return found

    def text(self) -> str:
        """A string; what is longer than any key or name is cut."""
        return self.take(int(self.number(ValueType.UINT64)))[:_LONGEST_TEXT].decode("utf-8", "replace")

    def value(self, kind: ValueType) -> object:
        """A value of any type; of a long array or one of texts only the length."""
        if kind is ValueType.STRING:
            return self.text()
        if kind is not ValueType.ARRAY:
            return self.number(kind)
        inner, length = self.kind(), int(self.number(ValueType.UINT64))
        if inner is ValueType.ARRAY:
            raise NotGguf  # no writer nests arrays
        if inner is ValueType.STRING:
            return self._passed_texts(length)
        if length <= min(_MOST_KEPT, self._room):
            self._room -= length
            return self._numbers(inner, length)
        self._at += length * _STRUCTS[inner].size
        return GgufArray(length)

    def _numbers(self, kind: ValueType, length: int) -> list[int | float]:
        """Numbers in a row, read at once: a body may hold millions."""
        form = _FORMS[kind]
        return list(unpack(f"{form[0]}{length}{form[1]}", self.take(length * _STRUCTS[kind].size)))

    def _passed_texts(self, length: int) -> GgufArray:
        """Step over texts one by one; where the bytes end among them, the rest of the header is missing."""
        content, at, size = self._content, self._at, len(self._content)
        unpack = _STRUCTS[ValueType.UINT64].unpack_from
        for _ in range(length):
            if at + 8 > size:
                break
            at += 8 + unpack(content, at)[0]
        self._at = at
        return GgufArray(length)

    def tensor(self) -> GgufTensor:
        """One entry of the tensor list; its offset is not kept."""
        name, dimensions = self.text(), int(self.number(ValueType.UINT32))
        if not 1 <= dimensions <= _MOST_DIMENSIONS:
            raise NotGguf
        shape = [int(self.number(ValueType.UINT64)) for _ in range(dimensions)]
        type_id = int(self.number(ValueType.UINT32))
        self.number(ValueType.UINT64)
        return GgufTensor(name, tuple(reversed(shape)), type_id)


def metadata_number(metadata: Mapping[str, object], key: str) -> int | None:
    """A whole number of the metadata; of a list, one a layer, the largest."""
    value = metadata.get(key)
    if isinstance(value, list):
        value = max((item for item in value if isinstance(item, int)), default=None)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
