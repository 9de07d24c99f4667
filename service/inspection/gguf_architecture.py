"""From the header of a GGUF file to an Architecture, or to the config that its metadata came from."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from service.core.architecture.model import Architecture, Experts, Layer, ParallelDimension
from service.core.architecture.tensors import Tensor, TensorClass
from service.core.architecture.unread import Direction
from service.core.notes import Note
from service.errors import UnsupportedArchitecture
from service.inspection.gguf_header import GgufArray, GgufHeader, metadata_number
from service.inspection.gguf_layers import LayerSizes, layer_of, tensor_of

_BLOCK = re.compile(r"blk\.(\d{1,4})\.(.+)")
_MOST_LAYERS = 192  # as of a config
_MOST_DIFFERENT = 2048  # tensors of layers that differ: each is weighed in every format

# Name in a Hugging Face config -> key of the metadata.
_CONFIG_KEYS: Mapping[str, str] = {
    "hidden_size": "embedding_length",
    "num_hidden_layers": "block_count",
    "intermediate_size": "feed_forward_length",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "v_head_dim": "attention.value_length",
    "max_position_embeddings": "context_length",
    "vocab_size": "vocab_size",
    "sliding_window": "attention.sliding_window",
    "num_experts": "expert_count",
    "num_experts_per_tok": "expert_used_count",
    "moe_intermediate_size": "expert_feed_forward_length",
    "n_shared_experts": "expert_shared_count",
    "first_k_dense_replace": "leading_dense_block_count",
    "q_lora_rank": "attention.q_lora_rank",
    "kv_lora_rank": "attention.kv_lora_rank",
    "state_size": "ssm.state_size",
    "index_topk": "attention.indexer.top_k",
}


def config_of(metadata: Mapping[str, object]) -> dict[str, Any]:
    """The sizes of the metadata under the usual names of config.json; of lists, one a layer, the largest."""
    name = _name(metadata)
    config: dict[str, Any] = {"model_type": name}
    for field, key in _CONFIG_KEYS.items():
        value = metadata_number(metadata, f"{name}.{key}")
        if value is not None:
            config[field] = value
    config.setdefault("vocab_size", _vocabulary(metadata))
    if config.get("kv_lora_rank"):
        config |= _latent_dims(metadata, name)
    return config


def _latent_dims(metadata: Mapping[str, object], name: str) -> dict[str, int | None]:
    """Head sizes of MLA: key_length_mla holds both parts of a key, the rotated one is the rope's."""
    rope = metadata_number(metadata, f"{name}.rope.dimension_count")
    key = metadata_number(metadata, f"{name}.attention.key_length_mla")
    value = metadata_number(metadata, f"{name}.attention.value_length_mla")
    nope = None if key is None or rope is None else key - rope
    return {"qk_rope_head_dim": rope, "qk_nope_head_dim": nope, "v_head_dim": value, "head_dim": None}


def architecture_of(header: GgufHeader) -> Architecture:
    """The architecture of a complete header: tensors as they are listed, caches by layer.

    Raises UnsupportedArchitecture that names missing keys, or what there is too much of.
    """
    metadata, name = header.metadata, _name(header.metadata)
    outer, blocks = _placed(header)
    needed = ("embedding_length", "block_count", "attention.head_count", "context_length")
    missing = [f"{name}.{key}" for key in needed if not metadata_number(metadata, f"{name}.{key}")]
    missing += [part for part, found in (("blk.0", blocks), ("token_embd", outer)) if not found]
    if missing:
        raise UnsupportedArchitecture(name, missing)
    config = config_of(metadata)
    heads, hidden = config["num_attention_heads"], config["hidden_size"]
    head_dim = config.get("head_dim") or hidden // heads
    layers, drafts = _layers(metadata, blocks, head_dim)
    _check_variety(name, outer, (*layers, *drafts))
    roles = {tensor.role for tensor in outer}
    table = next((t for t in outer if t.tensor_class is TensorClass.EMBEDDING), None)
    architecture = Architecture(
        engine_class=name,
        model_type=name,
        gguf_architecture=name,
        hidden_size=hidden,
        vocabulary=table.shape[0] if table else config["vocab_size"] or 0,
        max_context_tokens=config["max_position_embeddings"],
        attention_heads=heads,
        kv_heads=config.get("num_key_value_heads") or heads,
        head_dim=head_dim,
        dense_width=config.get("intermediate_size") or 0,
        tied="output.weight" not in roles,
        outer=outer,
        layers=layers,
        mtp=drafts,
        experts=_experts(config),
        parallel_dimensions=(
            ParallelDimension("attention_heads", heads),
            ParallelDimension("kv_heads", config.get("num_key_value_heads") or heads, replicable=True),
        ),
    )
    return replace(architecture, remarks=_remarks(metadata, name, blocks))


def _placed(header: GgufHeader) -> tuple[tuple[Tensor, ...], dict[int, list[Tensor]]]:
    """Tensors outside the layers, and those of each layer. Raises UnsupportedArchitecture."""
    outer: list[Tensor] = []
    blocks: dict[int, list[Tensor]] = {}
    for entry in header.tensors:
        match = _BLOCK.fullmatch(entry.name)
        if match is None:
            outer.append(tensor_of(entry, entry.name))
        else:
            blocks.setdefault(int(match[1]), []).append(tensor_of(entry, match[2]))
    if len(blocks) > _MOST_LAYERS:
        name = _name(header.metadata)
        raise UnsupportedArchitecture(name, excessive={f"{name}.block_count": _MOST_LAYERS})
    return tuple(outer), blocks


def _check_variety(name: str, outer: tuple[Tensor, ...], layers: tuple[Layer, ...]) -> None:
    """Refuse tensors that differ from layer to layer as in no model. Raises UnsupportedArchitecture."""
    kinds = {id(layer): layer for layer in layers}.values()
    if len(outer) + sum(len(layer.tensors) for layer in kinds) > _MOST_DIFFERENT:
        raise UnsupportedArchitecture(name, excessive={"tensors": _MOST_DIFFERENT})


def _layers(
    metadata: Mapping[str, object], blocks: Mapping[int, list[Tensor]], head_dim: int
) -> tuple[tuple[Layer, ...], tuple[Layer, ...]]:
    """Decoder layers, and draft layers, which have a `nextn` projection; like ones are one object."""
    known: dict[tuple[object, ...], Layer] = {}
    layers: list[Layer] = []
    drafts: list[Layer] = []
    for index in sorted(blocks):
        tensors = tuple(blocks[index])
        sizes = _sizes(metadata, index, head_dim)
        layer = known.get((tensors, sizes))
        if layer is None:
            layer = known[tensors, sizes] = layer_of(tensors, sizes)
        draft = any(tensor.role.startswith("nextn.") for tensor in tensors)
        (drafts if draft else layers).append(layer)
    return tuple(layers), tuple(drafts)


def _sizes(metadata: Mapping[str, object], layer: int, head_dim: int) -> LayerSizes:
    name = _name(metadata)

    def number(key: str, default: int = 0) -> int:
        value = metadata.get(f"{name}.{key}")
        if isinstance(value, list):
            value = value[layer] if layer < len(value) else default
        return int(value) if isinstance(value, int) and value >= 0 else default

    heads = number("attention.head_count")
    sliding = number("attention.sliding_window_pattern") == 1
    key_dim, value_dim = number("attention.key_length", head_dim), number("attention.value_length", head_dim)
    if sliding:
        key_dim = number("attention.key_length_swa", key_dim)
        value_dim = number("attention.value_length_swa", value_dim)
    return LayerSizes(
        kv_heads=number("attention.head_count_kv", heads),
        key_dim=key_dim,
        value_dim=value_dim,
        window=number("attention.sliding_window") or None if sliding else None,
        latent_dim=number("attention.kv_lora_rank"),
        rope_dim=number("rope.dimension_count"),
        state_width=number("ssm.state_size"),
        inner_width=number("ssm.inner_size"),
        state_heads=number("ssm.time_step_rank") or heads,
    )


def _remarks(
    metadata: Mapping[str, object], name: str, blocks: Mapping[int, list[Tensor]]
) -> tuple[Note, ...]:
    """What the tensors and keys have that the caches leave out."""
    found = []
    window = f"{name}.attention.sliding_window"
    pattern = metadata.get(f"{window}_pattern")
    if metadata_number(metadata, window) and not isinstance(pattern, list):
        found.append(Note(Direction.CACHE_TOO_LARGE.value, {"fields": [window]}))
    roles = {tensor.role for tensors in blocks.values() for tensor in tensors}
    index = sorted(
        {"indexer", "attn_compressor"} & {role.partition(".")[0].partition("_kv")[0] for role in roles}
    )
    if index:
        found.append(Note(Direction.TOO_SMALL.value, {"fields": index}))
    return tuple(found)


def _experts(config: Mapping[str, Any]) -> Experts | None:
    count, chosen = config.get("num_experts") or 0, config.get("num_experts_per_tok") or 0
    if count <= 1:
        return None
    width = config.get("moe_intermediate_size") or config.get("intermediate_size") or 0
    shared = config.get("n_shared_experts") or 0
    return Experts(count, chosen, width, shared, width if shared else 0)


def _vocabulary(metadata: Mapping[str, object]) -> int | None:
    tokens = metadata.get("tokenizer.ggml.tokens")
    return tokens.length if isinstance(tokens, GgufArray) else None


def _name(metadata: Mapping[str, object]) -> str:
    value = metadata.get("general.architecture")
    return value[:100] if isinstance(value, str) else ""
