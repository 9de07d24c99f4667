"""The model that the header of a GGUF file describes, and what the file itself weighs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from service.core.architecture.plausible import check_plausible
from service.core.architecture.summary import active_parameters
from service.core.catalogued import Model
from service.core.notes import Note
from service.core.posted import GIVEN, POSTED, Stated, build_model
from service.core.recognition import Known
from service.inspection.gguf_architecture import architecture_of, config_of
from service.inspection.gguf_header import GgufHeader, GgufTensor, NotGguf, metadata_number
from service.inspection.gguf_types import FILE_TYPES, PLAIN_BYTES, TENSOR_TYPES

_LARGEST_TENSOR = 10**13  # elements


@dataclass(frozen=True, slots=True)
class GgufFile:
    """What the tensor list says: bytes and tensors by storage type; all None or empty where it was cut off.

    quantization: the weight format of the API that general.file_type names, None for another.
    """

    architecture: str
    quantization: str | None
    tensor_count: int
    complete: bool
    parts: int
    tensor_bytes: int | None
    bytes_by_type: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Inspected:
    """A model and the file that it was read from."""

    model: Model
    file: GgufFile


def inspect_gguf(header: GgufHeader, known: Known) -> Inspected:
    """The model of a header: of its tensors where the whole list is there, else of its metadata alone.

    Raises NotGguf for tensors that no file holds, UnsupportedArchitecture where sizes are missing.
    """
    file = _file(header)
    if header.complete and header.tensors:
        model = _from_tensors(header, file, known)
    else:
        model = build_model(config_of(header.metadata), Stated(), known)
        note = Note("gguf_without_tensors")
        model = replace(model, remarks=(note, *model.remarks))
    if file.parts > 1:
        model = replace(model, remarks=(*model.remarks, Note("gguf_split", {"count": file.parts})))
    name = _text(header.metadata, "general.name") or file.architecture or POSTED
    publisher = _text(header.metadata, "general.organization")
    return Inspected(replace(model, name=name, publisher=publisher), file)


def _from_tensors(header: GgufHeader, file: GgufFile, known: Known) -> Model:
    architecture = architecture_of(header)
    check_plausible(architecture)
    return Model(
        id=POSTED,
        name=POSTED,
        family=file.architecture,
        publisher="",
        hf_repo="",
        architecture=architecture,
        parameters_total=sum(prod(tensor.shape) for tensor in header.tensors),
        parameters_active=active_parameters(architecture),
        parameters_exact=True,
        evidence=POSTED,
        sources=(GIVEN,),
        support=known.gguf_support(file.architecture),
        catalogued=False,
    )


def _file(header: GgufHeader) -> GgufFile:
    found: Counter[str] = Counter()
    for tensor in header.tensors:
        label, size = _weight(tensor)
        found[label] += size
    file_type = metadata_number(header.metadata, "general.file_type")
    return GgufFile(
        architecture=_text(header.metadata, "general.architecture"),
        quantization=FILE_TYPES.get(-1 if file_type is None else file_type),
        tensor_count=header.tensor_count,
        complete=header.complete,
        parts=metadata_number(header.metadata, "split.count") or 1,
        tensor_bytes=found.total() if header.complete else None,
        bytes_by_type=dict(found) if header.complete else {},
    )


def _weight(tensor: GgufTensor) -> tuple[str, int]:
    """Storage type and bytes of one tensor; rows are whole blocks."""
    count = prod(tensor.shape)
    if not 0 < count <= _LARGEST_TENSOR:
        raise NotGguf
    if tensor.type_id in PLAIN_BYTES:
        return f"type {tensor.type_id}", count * PLAIN_BYTES[tensor.type_id]
    kind = TENSOR_TYPES.get(tensor.type_id)
    if kind is None or not kind.fits(tensor.shape[-1]):
        raise NotGguf
    return kind.label, count // kind.block_elements * kind.block_bytes


def _text(metadata: Mapping[str, object], key: str) -> str:
    value: Any = metadata.get(key)
    return value[:100] if isinstance(value, str) else ""
