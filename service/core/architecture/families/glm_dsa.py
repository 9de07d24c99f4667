"""GLM-5 and GLM-5.3 (`GlmMoeDsaForCausalLM`): MLA with an indexer on all or some of the layers."""

from collections.abc import Sequence
from functools import cache

from service.core.architecture.common import positive
from service.core.architecture.config import Config
from service.core.architecture.families._decoder import is_sparse, layer_count, per_layer
from service.core.architecture.families.deepseek_v3 import (
    latent_architecture,
    latent_layer,
    prediction_layers,
)
from service.core.architecture.model import Architecture


def index_owners(config: Config) -> Sequence[bool]:
    """Which layers run their own indexer; the others reuse the choice of the last one that did."""
    count = layer_count(config)
    kinds = config.strings("indexer_types")
    if kinds is not None:
        return [kind == "full" for kind in per_layer(config, "indexer_types", kinds)[:count]]
    every = positive(config, "index_topk_freq", default=1)
    offset = config.integer("index_skip_topk_offset", default=0)
    return [i < offset or (i - offset + 1) % every == 0 for i in range(count)]


def parse(config: Config) -> Architecture:
    """GLM-5; the converter writes the MTP layer, which shares embedding and output with the model."""
    make = cache(lambda sparse, indexed: latent_layer(config, sparse=sparse, indexed=indexed))
    layers = tuple(make(is_sparse(config, i), own) for i, own in enumerate(index_owners(config)))
    mtp = prediction_layers(config, indexed=True, copies=False, in_gguf=True)
    return latent_architecture(config, "glm-dsa", layers, mtp, assumed=True)


PARSERS = {"GlmMoeDsaForCausalLM": parse}
