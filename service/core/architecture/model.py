"""The architecture of a model: layers with their tensors and caches, and what stands outside the layers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from service.core.architecture.caches import Cache, IndexCache, RecurrentState
from service.core.architecture.tensors import Tensor, TensorClass
from service.core.notes import Note


class LayerKind(StrEnum):
    """What a layer mixes tokens with; groups of layers are counted by kind."""

    FULL = "full_attention"
    SLIDING = "sliding_window_attention"
    CHUNKED = "chunked_attention"
    LATENT = "latent_attention"  # MLA
    LATENT_INDEXED = "latent_attention_indexed"  # MLA + lightning indexer
    SPARSE = "sparse_attention"  # own K/V beside an index
    COMPRESSED = "compressed_attention"  # DeepSeek V4
    GATED_DELTA_NET = "gated_delta_net"
    KIMI_DELTA = "kimi_delta_attention"
    MAMBA2 = "mamba2"
    SHORT_CONV = "short_conv"
    SHARED_KV = "shared_kv_attention"  # reads an earlier layer's cache
    FEED_FORWARD = "feed_forward"  # no mixer: a layer that is only an MLP or MoE (Nemotron-H)


class FeedForward(StrEnum):
    """What follows the mixer in a layer."""

    NONE = "none"
    DENSE = "dense"
    MOE = "moe"
    LATENT_MOE = "latent_moe"


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer; layers that are alike share the same `tensors` tuple."""

    kind: LayerKind
    feed_forward: FeedForward
    tensors: tuple[Tensor, ...]
    cache: Cache | None = None
    index: IndexCache | None = None
    states: tuple[RecurrentState, ...] = ()


@dataclass(frozen=True, slots=True)
class Experts:
    """Routed experts of a MoE model: count, chosen per token, width, shared experts and their width."""

    count: int
    per_token: int
    width: int
    shared_count: int = 0
    shared_width: int = 0
    latent_dim: int | None = None


@dataclass(frozen=True, slots=True)
class ParallelDimension:
    """A size that tensor parallelism must divide.

    replicable: KV heads may also be copied, so a degree that is a multiple is valid too.
    """

    name: str
    size: int
    replicable: bool = False


@dataclass(frozen=True, slots=True)
class NativeFormat:
    """How the published checkpoint is quantized, read from its quantization_config.

    name: `bf16`, `fp8`, `mxfp4`, `nvfp4`, ... ; encodings: class of tensors -> encoding id
    (`fp8_block_128`, `fp8_block_32`, `mxfp4`, `mxfp8`, `nvfp4`, ...); a class not named stays 16-bit.
    assumed: true when no published tensor list confirms which classes are quantized.
    """

    name: str
    encodings: Mapping[TensorClass, str] = field(default_factory=dict)
    assumed: bool = False


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Architecture:
    """Everything that sizing needs to know of a model; it follows from config.json alone.

    outer: tensors outside the layers (embedding, output, final norm, per-layer embeddings, lookup tables).
    mtp: multi-token-prediction layers, not loaded unless speculation asks for them.
    vision: the vision (and audio) tower with its projector, in llama.cpp a file of its own.
    tied: the output matrix is the input embedding, stored once.
    gguf_architecture: llama.cpp's `general.architecture`, None when llama.cpp has none.
    generic: not read by a parser of its own class. remarks: what of the config was not understood, and in
      which direction that errs.
    """

    engine_class: str  # config.json architectures[0], as engines register it
    model_type: str
    gguf_architecture: str | None
    hidden_size: int
    vocabulary: int
    max_context_tokens: int
    attention_heads: int
    kv_heads: int
    head_dim: int
    dense_width: int
    tied: bool
    outer: tuple[Tensor, ...]
    layers: tuple[Layer, ...]
    mtp: tuple[Layer, ...] = ()
    vision: tuple[Tensor, ...] = ()
    experts: Experts | None = None
    native: NativeFormat = NativeFormat("bf16")
    parallel_dimensions: tuple[ParallelDimension, ...] = ()
    state_dtype: str | None = None  # mamba_ssm_dtype of the config, None = engine's own default
    generic: bool = False
    remarks: tuple[Note, ...] = ()
    # num_hidden_layers and hidden_size of the published vision_config, None where it has no such field
    vision_config: tuple[int | None, int | None] | None = None
    kv_cache_dtype: str | None = None  # that the checkpoint's quantization declares: `fp8`

    def text_tensors(self) -> Iterator[Tensor]:
        """Every tensor of the text model, layers repeated as often as they occur; no MTP, no vision."""
        yield from self.outer
        for layer in self.layers:
            yield from layer.tensors

    def checkpoint_tensors(self) -> Iterator[Tensor]:
        """Every tensor that the published checkpoint holds."""
        for tensor in (
            *self.text_tensors(),
            *(t for m in self.mtp for t in m.tensors),
            *self.vision,
        ):
            if tensor.in_checkpoint:
                yield tensor
