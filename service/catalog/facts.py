"""Catalog entries that are only looked up and shown; models and accelerators are types of the core."""

from dataclasses import dataclass

from service.core.cost.facts import Offer as Offer


@dataclass(frozen=True, slots=True)
class Quantization:
    """A weight format.

    nominal_bits_per_weight: of the base block, for documentation; None where it depends on the model.
    engines: ids of the engines that load it.
    """

    id: str
    label: str
    family: str
    nominal_bits_per_weight: float | None
    engines: tuple[str, ...]
    source: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """An inference engine as it is published; what it computes is in the core.

    version: release whose rules were read, None when none was. modelled: it has rules of its own in the core.
    support_from: engine whose model support it shares. backends_from: engines on whose backends it runs too.
    """

    id: str
    name: str
    vendor: str
    license: str
    home: str
    version: str | None
    formats: tuple[str, ...]
    kv_cache_dtypes: tuple[str, ...]
    modelled: bool
    memory_rule: str
    source: str
    support_from: str | None = None
    backends_from: tuple[str, ...] = ()
