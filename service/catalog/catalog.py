"""All facts of the service, loaded once and never changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from service.catalog.facts import EngineFacts, Offer, Quantization
from service.catalog.names import Names
from service.core.catalogued import Model
from service.core.cost.currency import ExchangeRate
from service.core.cost.facts import CostFacts
from service.core.hardware import Gpu
from service.core.measurements import Measurement, Source
from service.core.speed.constants import SpeedConstants
from service.errors import UnknownGpu, UnknownModel


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Catalog:
    """Models, accelerators, formats, engines and offers, each by id in the order of their files.

    digest: 16 hex digits that change with any fact. model_files / gpu_rows: an entry as its file has it,
    read-only, for what the core types leave out (published config, date of check, street price, PCIe).
    speed: constants of the speed model.
    exchange_rates: by code of the currency, without the US dollar.
    measurements: real measurements by model id; measurement_sources: where they were published, by id.
    """

    models: Mapping[str, Model]
    gpus: Mapping[str, Gpu]
    quantizations: Mapping[str, Quantization]
    engines: Mapping[str, EngineFacts]
    offers: tuple[Offer, ...]
    digest: str
    model_names: Names = field(repr=False, compare=False)
    gpu_names: Names = field(repr=False, compare=False)
    model_files: Mapping[str, Mapping[str, Any]] = field(repr=False, compare=False)
    gpu_rows: Mapping[str, Mapping[str, Any]] = field(repr=False, compare=False)
    costs: CostFacts = field(repr=False)
    speed: SpeedConstants = field(repr=False)
    measurements: Mapping[str, tuple[Measurement, ...]] = field(default_factory=dict, repr=False)
    measurement_sources: Mapping[str, Source] = field(default_factory=dict, repr=False)
    exchange_rates: Mapping[str, ExchangeRate] = field(default_factory=dict, repr=False)

    def find_model(self, name: str) -> Model:
        """The model that answers to an id, alias, Hugging Face repository or common spelling of its name.

        Raises UnknownModel with up to five ids, closest first.
        """
        found = self.model_names.find(name)
        if found is None:
            raise UnknownModel(name, self.model_names.suggest(name))
        return self.models[found]

    def find_gpu(self, name: str) -> Gpu:
        """The accelerator that answers to an id, alias or common spelling of its name.

        Raises UnknownGpu with up to five ids, closest first.
        """
        found = self.gpu_names.find(name)
        if found is None:
            raise UnknownGpu(name, self.gpu_names.suggest(name))
        return self.gpus[found]

    def offers_for(self, gpu_id: str) -> tuple[Offer, ...]:
        """Offers of one accelerator, in the order of the file."""
        return tuple(offer for offer in self.offers if offer.gpu == gpu_id)
