"""Facts of models, accelerators, formats, engines and offers, read from config/."""

from service.catalog.catalog import Catalog
from service.catalog.facts import EngineFacts, Offer, Quantization
from service.catalog.loader import load_catalog

__all__ = ["Catalog", "EngineFacts", "Offer", "Quantization", "load_catalog"]
