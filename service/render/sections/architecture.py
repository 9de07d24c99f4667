"""How the model is built: sizes, groups of layers with what they keep, and parameters by part."""

from collections.abc import Mapping
from typing import Any

from service.core.architecture.model import Architecture
from service.core.architecture.summary import parameter_table
from service.core.catalogued import Model
from service.core.remarks import remarks_of
from service.core.sizing import Sizing
from service.core.units import gib
from service.i18n.marking import mark, mark_plural
from service.i18n.voice import Voice
from service.render import amounts, layer_groups

_SMALLEST_GIB = 0.1
_CACHE_BITS, _STATE_BITS = 16, 32
_RULE = mark(
    "A cache entry is counted at %(bits)s bit, recurrent state at %(state_bits)s bit, before an engine "
    "rounds or converts it."
)
_GROWS = mark_plural(
    "One of %(total)s layers keeps a cache entry for every token, %(bytes)s bytes in all.",
    "%(n)s of %(total)s layers keep a cache entry for every token, %(bytes)s bytes in all.",
)
_ALL_GROW = mark("All %(total)s layers keep a cache entry for every token, %(bytes)s bytes in all.")
_INDEX = mark("Of these, %(bytes)s bytes are keys of the attention indexer.")
_NONE_GROWS = mark("No layer keeps a cache entry for every token.")
_WINDOW = mark_plural(
    "One layer keeps a window of recent tokens, at most %(amount)s for each sequence.",
    "%(n)s layers keep a window of recent tokens, at most %(amount)s for each sequence.",
)
_STATE = mark_plural(
    "One layer keeps a state of constant size: %(amount)s for each sequence.",
    "%(n)s layers keep a state of constant size: %(amount)s for each sequence.",
)
_UNLIKE = mark(
    "The usual formula, 2 × layers × KV heads × head dimension, does not hold for this model: it would "
    "give %(usual)s bytes for each token."
)


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """The architecture of the scenario's model, whatever its GPU."""
    return data_of_model(sizing.scenario.model, catalog)


def data_of_model(model: Model, _catalog: object) -> dict[str, Any]:
    """Facts by name, layer groups, sums over them, and parameters by class of tensor."""
    architecture = model.architecture
    groups = layer_groups.groups(architecture)
    return {
        "model": {"id": model.id, "name": model.name},
        "facts": [{"name": name, "value": value} for name, value in _facts(architecture).items()],
        "layers": len(architecture.layers),
        "layer_groups": groups,
        "cache_bits": _CACHE_BITS,
        "state_bits": _STATE_BITS,
        "totals": layer_groups.totals(groups),
        "usual_formula_bytes_per_token": _usual(architecture),
        "parameters": _parameters(architecture),
        "warnings": amounts.notes(remarks_of(model)),
        "sources": list(model.sources),
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """What grows with the context, what has a window, what is constant."""
    totals, usual = data["totals"], data["usual_formula_bytes_per_token"]
    grown, index = totals["bytes_per_token"], totals["index_bytes_per_token"]
    said = [voice.text(_NONE_GROWS)]
    if grown:
        layers = totals["layers_with_cache"]
        written = {"total": voice.integer(data["layers"]), "bytes": voice.integer(grown)}
        every = layers == data["layers"]
        said = [voice.text(_ALL_GROW, **written) if every else voice.plural(*_GROWS, layers, **written)]
    if index:
        said.append(voice.text(_INDEX, bytes=voice.integer(index)))
    for message, kept in ((_WINDOW, "window"), (_STATE, "state")):
        if amount := totals[f"{kept}_bytes_per_sequence"]:
            written_amount = _written_bytes(voice, amount)
            said.append(voice.plural(*message, totals[f"layers_with_{kept}"], amount=written_amount))
    if usual != grown:
        said.append(voice.text(_UNLIKE, usual=voice.integer(usual)))
    bits = {"bits": voice.integer(data["cache_bits"]), "state_bits": voice.integer(data["state_bits"])}
    return [*said, voice.text(_RULE, **bits)]


def _written_bytes(voice: Voice, amount: int) -> str:
    """GiB, or bytes where two decimal places of a GiB would hide them."""
    return voice.gib(amount) if gib(amount) >= _SMALLEST_GIB else voice.byte_count(amount)


def _usual(architecture: Architecture) -> int:
    """Bytes of keys and values if every layer had those of plain attention, at 16 bit."""
    return 2 * len(architecture.layers) * architecture.kv_heads * architecture.head_dim * 2


def _facts(architecture: Architecture) -> dict[str, Any]:
    found: dict[str, Any] = {
        "engine_class": architecture.engine_class or None,
        "gguf_architecture": architecture.gguf_architecture,
        "layers": len(architecture.layers),
        "hidden_size": architecture.hidden_size,
        "vocabulary": architecture.vocabulary,
        "max_context_tokens": architecture.max_context_tokens,
        "attention_heads": architecture.attention_heads,
        "kv_heads": architecture.kv_heads,
        "head_dim": architecture.head_dim,
        "dense_width": architecture.dense_width,
        "tied_embeddings": architecture.tied,
    }
    if experts := architecture.experts:
        found |= {
            "moe_layers": layer_groups.moe_layers(architecture),
            "experts_count": experts.count,
            "experts_per_token": experts.per_token,
            "expert_width": experts.width,
            "shared_experts": experts.shared_count,
        }
    return found


def _parameters(architecture: Architecture) -> list[dict[str, Any]]:
    """Parameters of the published checkpoint by class, most first."""
    table = parameter_table(architecture)
    total = sum(table.values())
    return [
        {"class": str(part), "count": count, "share": round(count / total, 4)}
        for part, count in sorted(table.items(), key=lambda entry: -entry[1])
    ]
