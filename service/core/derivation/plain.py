"""What holds of every engine that does not explain itself: weights, their split, bytes of a token."""

from collections import Counter
from itertools import product

from service.core.architecture.caches import Cache, KeyValueCache, LatentCache, Reach
from service.core.derivation.explained import Explained
from service.core.derivation.expressions import Expression, add
from service.core.derivation.facts import config, rule
from service.core.derivation.ranks import EXPLAINED, UNSTATED, RankTerms, kinds
from service.core.derivation.shares import rank_shares
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.derivation.weights import model_weights
from service.core.engines import ENGINES
from service.core.scenario import Scenario
from service.core.sizing import Sizing
from service.core.weights.table import WeightTable
from service.core.weights.weigh import weigh

_ELEMENT_BYTES = {"bf16": 2, "fp16": 2, "fp8": 1, "fp8_e4m3": 1}
_TYPE = rule("width of the cache type")
_LAYERS = rule("layers that cache alike, from config.json")


def explain_plainly(trace: Trace, sizing: Sizing) -> Explained:
    """The steps that need no engine's rules; where the engine differs, its own figure stands as a leaf."""
    table = _table(sizing)
    ranks = {} if table is None else _weights(trace, sizing, table)
    if table is None:
        trace.about(Topic.WEIGHTS)
        figure, source = sizing.plan.model_weights_bytes, sizing.plan.evidence.get("weights", UNSTATED)
        prints = ("memory.model_weights",)
        trace.follows("model_weights", None, Unit.BYTES, source, figure=figure, prints=prints)
    token = _bytes_per_token(trace, sizing.scenario)
    return Explained({} if token is None else {"kv_bytes_per_token": token}, ranks)


def _table(sizing: Sizing) -> WeightTable | None:
    """The tensors that the engine loads, as far as their sum tells."""
    scenario = sizing.scenario
    for drafting, seeing in product((False, True), repeat=2):
        table = weigh(scenario.model, scenario.quantization, mtp=drafting, vision=seeing)
        if table.total_bytes == sizing.plan.model_weights_bytes:
            return table
    return None


def _weights(trace: Trace, sizing: Sizing, table: WeightTable) -> RankTerms:
    """The model's weights, and those of each kind of GPU where ranks are those of the layout."""
    plan, scenario = sizing.plan, sizing.scenario
    whole = model_weights(trace, table).total
    if len(plan.ranks) == 1 and plan.ranks[0].memory.weights == whole.value:
        return {(0, "weights"): whole}
    if ENGINES[scenario.engine].splits_layers or len(plan.ranks) != scenario.layout.pipeline:
        return {}
    source = plan.evidence.get("weights", UNSTATED)
    return {
        (number, "weights"): rank_shares(trace, scenario, table, kind.first, source)
        for number, kind in enumerate(kinds(plan)[:EXPLAINED])
    }


def _bytes_per_token(trace: Trace, scenario: Scenario) -> Expression | None:
    """Keys and values or latents of the layers that grow; None with an index or a type that packs."""
    layers = scenario.model.architecture.layers
    width = _ELEMENT_BYTES.get(scenario.kv_cache_dtype)
    if width is None or any(layer.index is not None for layer in layers):
        return None
    trace.about(Topic.CACHE)
    size = trace.given("kv_element_bytes", width, Unit.BYTES, _TYPE, cache_type=scenario.kv_cache_dtype)
    terms = []
    for cache, count in Counter(layer.cache for layer in layers if layer.cache is not None).items():
        elements = _elements(trace, scenario, cache)
        if elements is not None:
            terms.append(trace.given("layers_alike", count, Unit.LAYERS, _LAYERS) * (elements * size))
    return add(terms) if terms else None


def _elements(trace: Trace, scenario: Scenario, cache: Cache) -> Expression | None:
    """Elements that a token adds to one layer; None where it does not grow, or not by whole tokens."""
    source = config(scenario.model)
    if isinstance(cache, KeyValueCache) and cache.reach is Reach.FULL:
        heads = trace.given("kv_heads", cache.heads, Unit.HEADS, source)
        width = trace.given("key_dim", cache.key_dim, Unit.ELEMENTS, source)
        return heads * (width + trace.given("value_dim", cache.value_dim, Unit.ELEMENTS, source))
    if isinstance(cache, LatentCache):
        width = trace.given("latent_dim", cache.latent_dim, Unit.ELEMENTS, source)
        return width + trace.given("rope_dim", cache.rope_dim, Unit.ELEMENTS, source)
    return None
