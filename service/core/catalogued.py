"""A model of the catalog: its architecture and the facts that were published about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from service.core.architecture.model import Architecture
from service.core.evidence import Evidence
from service.core.notes import Note
from service.core.provenance import ProvidedBy


@dataclass(frozen=True, slots=True)
class Support:
    """Whether an engine runs an architecture: `yes`, `no` or `unknown`, from which version, and a remark."""

    status: str
    since: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Model:
    """One open-weight model.

    native_bytes: bytes that an engine loads from the published checkpoint, None when no one published them.
    published_files: quantization id -> bytes of a published GGUF file (tensors and metadata).
    gguf_repo: Hugging Face repository that holds those files, None where none is known by name.
    support: engine id -> support; an engine not named is `unknown`.
    native_source: who stated native_bytes, where it was not the catalog.
    catalogued: false for a model that a caller described, of which nothing is worth keeping.
    remarks: what is to be said of the model's facts in every answer.
    provided_by: who states the facts; `evidence` says how well they are known.
    compute_floats: llama.cpp's own compute buffer in floats per token of the micro-batch, where it was run
      (sizing-model 3.3); compute_exact: the same number holds at every context.
    """

    id: str
    name: str
    family: str
    publisher: str
    hf_repo: str
    architecture: Architecture
    parameters_total: int
    parameters_active: int
    parameters_exact: bool
    evidence: str
    sources: tuple[str, ...]
    native_bytes: int | None = None
    native_evidence: Evidence = Evidence.CHECKPOINT
    published_files: Mapping[str, int] = field(default_factory=dict)
    gguf_repo: str | None = None
    support: Mapping[str, Support] = field(default_factory=dict)
    compute_floats: float | None = None
    compute_exact: bool = False
    aliases: tuple[str, ...] = ()
    license: str | None = None
    released: str | None = None
    notes: str | None = None
    native_source: str | None = None
    catalogued: bool = True
    remarks: tuple[Note, ...] = ()
    provided_by: ProvidedBy = ProvidedBy.CATALOG
