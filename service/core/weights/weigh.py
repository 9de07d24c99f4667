"""The weights of a model in any format: `weigh` for a catalog model, `weigh_architecture` for a config."""

from dataclasses import replace
from functools import lru_cache

from service.core.architecture.generic import GENERIC_SOURCE
from service.core.architecture.model import Architecture
from service.core.architecture.tensors import Tensor
from service.core.catalogued import Model
from service.core.evidence import Evidence
from service.core.identity import ByIdentity
from service.core.weights.alike import checkpoint_contents
from service.core.weights.checkpoint import (
    Encoder,
    encoded_bytes,
    format_encoder,
    native_encoder,
    unquantized,
)
from service.core.weights.formats import FORMATS, Family, Format, gguf_source, published_names
from service.core.weights.gguf import weigh_gguf
from service.core.weights.scaling import scaled_to
from service.core.weights.table import Weighed, WeightTable

_AGREES = 1000  # a computed checkpoint within 1/1000 of the published bytes confirms its tensor list
_CONFIRMED = "checkpoint size on record, confirmed tensor by tensor from the config"
_SPREAD = "checkpoint size on record, spread over the tensors of the config"

_bytes = lru_cache(maxsize=2**16)(encoded_bytes)  # shapes are also those of posted configs


class _Identity:
    """A model as a cache key: equal only to itself, and kept alive while the cache holds it."""

    __slots__ = ("model",)

    def __init__(self, model: Model) -> None:
        self.model = model

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.model is self.model

    def __hash__(self) -> int:
        return id(self.model)


def weigh(
    model: Model,
    quantization: str,
    *,
    mtp: bool = False,
    vision: bool = False,
    family: Family | None = None,
    unused_kv: bool = True,
) -> WeightTable:
    """The tensors of a catalog model in a format, with published sizes where they were published.

    quantization: an id of `formats.FORMATS`, else KeyError. mtp, vision: also the MTP layers and the vision
    tower (16 bit). family: the kind of file when the format exists in several (`bf16` is safetensors unless
    GGUF is asked for); ValueError for one that the format does not have. unused_kv: see `weigh_gguf`.
    A native table sums to the published bytes (less what was left out) where they were published: a list of
    tensors that agrees within 0.1 % carries the model's own evidence, the small rest (32-bit details that no
    config states) spread over the tensors; one that disagrees is scaled and says so. A format other than
    `native` that only shares its name keeps its computed bytes when they disagree.
    """
    weighed = _catalogued if model.catalogued else _described
    return weighed(
        _Identity(model), quantization, mtp, vision, family or FORMATS[quantization].family, unused_kv
    )


def _weigh(
    key: _Identity, quantization: str, mtp: bool, vision: bool, family: Family, unused_kv: bool
) -> WeightTable:
    model, chosen = key.model, FORMATS[quantization]
    table = weigh_architecture(
        model.architecture, quantization, mtp=mtp, vision=vision, family=family, unused_kv=unused_kv
    )
    if family is Family.GGUF:
        published = _published_file(model, chosen)
        if chosen.neighbour and published:
            return _as_published(model, table, published)
        return replace(table, published_file_bytes=published)
    if is_native(chosen, model.architecture) and model.native_bytes is not None:
        return _reconciled(model, chosen, table, model.native_bytes)
    return table


# All models in a dozen formats: a table takes some 3 KB.
_catalogued = lru_cache(maxsize=1024)(_weigh)
_described = lru_cache(maxsize=16)(_weigh)  # one request asks for a table many times, the next for another


def forget_catalogued() -> None:
    """Let go of the tables of all catalog models, of which a new catalog has none."""
    _catalogued.cache_clear()


def weigh_architecture(
    architecture: Architecture,
    quantization: str,
    *,
    mtp: bool = False,
    vision: bool = False,
    family: Family | None = None,
    unused_kv: bool = True,
) -> WeightTable:
    """The tensors of an architecture in a format, from its config alone; arguments as of `weigh`."""
    chosen = FORMATS[quantization]
    if (family or chosen.family) is Family.GGUF:
        if chosen.recipe is None:
            raise ValueError(f"{quantization} has no GGUF form")
        tensors = weigh_gguf(architecture, chosen.recipe, mtp=mtp, unused_kv=unused_kv)
        evidence = Evidence.ESTIMATE if chosen.neighbour else Evidence.RECIPE
        source = gguf_source(chosen)
    else:
        if chosen.encoding is None and chosen.id != "native":
            raise ValueError(f"{quantization} is a GGUF format")
        tensors = _weigh_checkpoint(architecture, _encoder(chosen, architecture), mtp=mtp)
        evidence, source = _evidence(chosen, architecture), chosen.source
    if architecture.generic:
        evidence, source = Evidence.ESTIMATE, f"{source}; {GENERIC_SOURCE}"
    if vision:
        tensors += tuple(_weighed(t, (), unquantized) for t in architecture.vision if t.in_checkpoint)
    return WeightTable(
        quantization=quantization,
        tensors=tensors,
        total_bytes=sum(weighed.all_bytes for weighed in tensors),
        evidence=evidence,
        source=source,
        estimated=chosen.neighbour is not None,
    )


def is_native(chosen: Format, architecture: Architecture) -> bool:
    """Whether the format is the published checkpoint's own: by name, or 16 bit where nothing is quantized."""
    native = architecture.native
    if chosen.id == "native":
        return True
    return chosen.id == ("bf16" if not native.encodings and native.name == "bf16" else native.name)


def _encoder(chosen: Format, architecture: Architecture) -> Encoder:
    """The checkpoint's own mix, or the format's usual one when the config names no encodings."""
    native = architecture.native
    if is_native(chosen, architecture):
        if native.encodings or native.name not in FORMATS:
            return native_encoder(architecture)
        chosen = FORMATS[native.name]
    return format_encoder(chosen, architecture)


def _evidence(chosen: Format, architecture: Architecture) -> Evidence:
    """Unpublished: a 16-bit checkpoint follows from the config, a quantized mix is an estimate."""
    if not is_native(chosen, architecture):
        return chosen.evidence
    plain = architecture.native.name == "bf16" and not architecture.native.encodings
    return Evidence.CONFIG if plain else Evidence.ESTIMATE


def _weigh_checkpoint(architecture: Architecture, encode: Encoder, *, mtp: bool) -> tuple[Weighed, ...]:
    return tuple(
        _weighed(tensor, kind.layers, encode)
        for kind in checkpoint_contents(architecture, mtp)
        for tensor in kind.tensors
    )


def _weighed(tensor: Tensor, layers: tuple[int, ...], encode: Encoder) -> Weighed:
    encoding = encode(tensor)
    return Weighed(tensor, layers, _bytes(encoding, tensor.shape), encoding)


def _published_file(model: Model, chosen: Format) -> int | None:
    sizes = (model.published_files.get(name) for name in published_names(chosen))
    return next((size for size in sizes if size is not None), None)


def _as_published(model: Model, table: WeightTable, file_bytes: int) -> WeightTable:
    """A published file of a format without rules: its bytes for the text model, MTP and vision beside it."""
    vision, layers = {id(tensor) for tensor in model.architecture.vision}, len(model.architecture.layers)
    text: list[Weighed] = []
    rest: list[Weighed] = []
    for weighed in table.tensors:
        beside = id(weighed.tensor) in vision or (weighed.layers and weighed.layers[0] >= layers)
        (rest if beside else text).append(weighed)
    tensors = (*scaled_to(file_bytes, text), *rest)
    return replace(
        table,
        tensors=tensors,
        total_bytes=sum(weighed.all_bytes for weighed in tensors),
        evidence=Evidence.CHECKPOINT,
        source="published file",
        published_file_bytes=file_bytes,
        estimated=False,
    )


_whole_bytes: ByIdentity[Architecture, str, int] = ByIdentity(
    lambda architecture, quantization: (
        weigh_architecture(architecture, quantization, mtp=True, vision=True).total_bytes
    )
)


def _reconciled(model: Model, chosen: Format, table: WeightTable, published: int) -> WeightTable:
    """The computed checkpoint made to sum to the published bytes, which count MTP and vision too."""
    whole = _whole_bytes(model.architecture, chosen.id)
    agrees = abs(whole - published) * _AGREES <= published
    if not agrees and chosen.id != "native":
        return table
    total = published * table.total_bytes // whole
    if agrees:
        total = published - (whole - table.total_bytes)
    return replace(
        table,
        tensors=scaled_to(total, table.tensors) if total != table.total_bytes else table.tensors,
        total_bytes=total,
        evidence=model.native_evidence,
        source=model.native_source or (_CONFIRMED if agrees else _SPREAD),
    )
