"""The fields that nearly every config has, and the Architecture that they begin."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.core.architecture.blocks.primitives import rope_factors
from service.core.architecture.config import Config
from service.core.architecture.model import Architecture, Layer, ParallelDimension
from service.core.architecture.native import native_format
from service.core.architecture.tensors import Tensor
from service.errors import UnsupportedArchitecture

_MOST_LAYERS = 4096


@dataclass(frozen=True, slots=True)
class Common:
    """Sizes under the names that most families share; widths in elements."""

    config: Config
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied: bool

    @property
    def dense_width(self) -> int:
        """Width of a dense MLP, 0 in a model that has none."""
        return natural(self.config, "intermediate_size", default=0)

    def architecture(
        self,
        gguf_architecture: str | None,
        outer: tuple[Tensor, ...],
        layers: tuple[Layer, ...],
        dimensions: tuple[ParallelDimension, ...],
    ) -> Architecture:
        """The Architecture without experts, drafts and vision, which a family adds by `replace`."""
        return Architecture(
            engine_class=self.config.engine_class,
            model_type=self.config.model_type,
            gguf_architecture=gguf_architecture,
            hidden_size=self.hidden,
            vocabulary=self.vocabulary,
            max_context_tokens=positive(self.config, "max_position_embeddings"),
            attention_heads=self.heads,
            kv_heads=self.kv_heads,
            head_dim=self.head_dim,
            dense_width=self.dense_width,
            tied=self.tied,
            outer=outer,
            layers=layers,
            native=native_format(self.config),
            parallel_dimensions=(*self.head_dimensions(), *dimensions),
            state_dtype=_text(self.config, "mamba_ssm_dtype"),
        )

    def head_dimensions(self) -> tuple[ParallelDimension, ...]:
        """Query heads must divide, KV heads may also be copied."""
        return (
            ParallelDimension("attention_heads", self.heads),
            ParallelDimension("kv_heads", self.kv_heads, replicable=True),
        )


def read_common(config: Config, *, tied_by_default: bool = False) -> Common:
    """Read the shared fields; raises UnsupportedArchitecture for a missing or impossible one."""
    hidden = positive(config, "hidden_size")
    heads = positive(config, "num_attention_heads")
    return Common(
        config=config,
        hidden=hidden,
        layers=layer_count(config, "num_hidden_layers"),
        heads=heads,
        kv_heads=positive(config, "num_key_value_heads", default=heads),
        head_dim=positive(config, "head_dim", "attention_head_dim", default=hidden // heads),
        vocabulary=positive(config, "vocab_size"),
        tied=config.flag("tie_word_embeddings", default=tied_by_default),
    )


def layer_count(config: Config, name: str, default: int | None = None) -> int:
    """A number of layers, refused when far above any published model's: every layer becomes an object."""
    layers = natural(config, name, default=default)
    if layers > _MOST_LAYERS:
        raise UnsupportedArchitecture(config.engine_class or config.model_type, (name,))
    return layers


def natural(config: Config, *names: str, default: int | None = None) -> int:
    """A whole number, zero included."""
    value = config.integer(*names, default=default)
    if value < 0:
        raise UnsupportedArchitecture(config.engine_class or config.model_type, names[:1])
    return value


def positive(config: Config, *names: str, default: int | None = None) -> int:
    """A whole number above zero."""
    value = config.integer(*names, default=default)
    if value <= 0:
        raise UnsupportedArchitecture(config.engine_class or config.model_type, names[:1])
    return value


def _text(config: Config, name: str) -> str | None:
    value = config.get(name)
    return value if isinstance(value, str) else None


def width_dimension(name: str, size: int) -> tuple[ParallelDimension, ...]:
    """A feed-forward width that must divide; nothing for a width of 0."""
    return (ParallelDimension(name, size),) if size else ()


def llama3_rope_factors(config: Config, head_dim: int) -> tuple[Tensor, ...]:
    """The factors that llama.cpp's converter writes for rope type `llama3`, one for two channels."""
    scaling: Any = config.get("rope_scaling", "rope_parameters")
    if not isinstance(scaling, Mapping) or scaling.get("rope_type", scaling.get("type")) != "llama3":
        return ()
    return (rope_factors(head_dim // 2),)


def layer_kinds(config: Config, layers: int, pattern: int, special: str, usual: str) -> tuple[str, ...]:
    """Layer types as published in `layer_types`, else every `pattern`-th layer is `special`."""
    published = config.strings("layer_types")
    if published is None:
        return tuple(special if (i + 1) % pattern == 0 else usual for i in range(layers))
    if len(published) != layers:
        raise UnsupportedArchitecture(config.engine_class or config.model_type, ("layer_types",))
    return tuple(published)
