"""Routed experts by the usual config fields, and which layers have them."""

from service.core.architecture.common import natural, positive
from service.core.architecture.config import Config
from service.core.architecture.model import Experts
from service.errors import UnsupportedArchitecture


def read_experts(config: Config) -> Experts | None:
    """Routed and shared experts, None for a dense model; the config has its usual names.

    Raises UnsupportedArchitecture when more experts are chosen than there are.
    """
    if natural(config, "num_experts", default=0) <= 1:
        return None
    width = positive(config, "moe_intermediate_size", "intermediate_size")
    shared_width = natural(config, "shared_expert_intermediate_size", default=0)
    shared = 1 if shared_width else natural(config, "n_shared_experts", default=0)
    experts = Experts(
        count=positive(config, "num_experts"),
        per_token=positive(config, "num_experts_per_tok"),
        width=width,
        shared_count=shared,
        shared_width=(shared_width or width) if shared else 0,
    )
    if experts.per_token > experts.count:
        raise UnsupportedArchitecture(config.engine_class or config.model_type, ("num_experts_per_tok",))
    return experts


def sparse_layers(config: Config, layers: int) -> tuple[bool, ...]:
    """Whether each layer routes: dense layers first, named ones, and every so many in between.

    Fields of DeepSeek (first_k_dense_replace, moe_layer_freq, a number or a list), Qwen (mlp_only_layers,
    decoder_sparse_step), Llama 4 (interleave_moe_layer_step) and transformers 5 (mlp_layer_types).
    """
    kinds = config.strings("mlp_layer_types")
    if kinds is not None and len(kinds) == layers:
        return tuple(kind in ("sparse", "moe") for kind in kinds)
    if isinstance(config.get("moe_layer_freq"), list):
        return tuple(bool(flag) for flag in _of_every_layer(config, "moe_layer_freq", layers))
    first = natural(config, "first_k_dense_replace", default=0)
    frequency = positive(config, "moe_layer_freq", default=1)
    step = positive(config, "decoder_sparse_step", "interleave_moe_layer_step", default=1)
    dense = set(config.integers("mlp_only_layers") or ())
    return tuple(
        index >= first and index % frequency == 0 and (index + 1) % step == 0 and index not in dense
        for index in range(layers)
    )


def _of_every_layer(config: Config, name: str, layers: int) -> tuple[int, ...]:
    values = tuple(config.integers(name) or ())
    if len(values) != layers:
        raise UnsupportedArchitecture(config.engine_class or config.model_type, (name,))
    return values
