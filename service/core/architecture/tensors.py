"""One tensor of a checkpoint: what it is for, its shape, and how engines treat it."""

from dataclasses import dataclass
from enum import StrEnum
from math import prod


class TensorClass(StrEnum):
    """The part of the model that a tensor belongs to; parameter tables are sums by class."""

    EMBEDDING = "embedding"
    OUTPUT = "output"
    NORM = "norm"
    ATTENTION = "attention"
    INDEXER = "indexer"
    LINEAR_ATTENTION = "linear_attention"
    STATE_SPACE = "state_space"
    SHORT_CONV = "short_conv"
    DENSE_FFN = "dense_ffn"
    ROUTER = "router"
    ROUTED_EXPERTS = "routed_experts"
    SHARED_EXPERTS = "shared_experts"
    LATENT_PROJECTION = "latent_projection"
    HYPER_CONNECTION = "hyper_connection"
    COMPRESSOR = "compressor"
    LOOKUP_TABLE = "lookup_table"
    VISION = "vision"
    OTHER = "other"


class Split(StrEnum):
    """What tensor parallelism does with a tensor."""

    SHARDED = "sharded"  # divided by the degree
    KV_HEADS = "kv_heads"  # divided until every rank has one KV head, then copied
    VOCABULARY = "vocabulary"  # divided, the vocabulary padded first
    EXPERTS = "experts"  # divided by the degree, or by experts under expert parallelism
    REPLICATED = "replicated"  # the same on every rank


class Dtype(StrEnum):
    """How the published checkpoint stores a tensor that its quantization leaves alone."""

    BF16 = "bf16"
    F32 = "f32"
    I64 = "i64"


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor, named and shaped as llama.cpp writes it (rows last-but-one, row length last).

    role: GGUF name without the `blk.N.` prefix, suffix included, such as `attn_q.weight`,
      `ffn_gate_exps.weight`, `ssm_a`. A tensor that GGUF fuses or splits is listed in GGUF's form;
      the elements are the same.
    shape: torch order, so `shape[-1]` is the row length that quantization blocks divide;
      3-D expert tensors are (experts, rows, row length).
    linear: an `nn.Linear` weight, which native, AWQ, GPTQ, FP8 and nf4 quantizers replace.
    in_checkpoint / in_gguf: false for what only the other side has (rope factors, vision, dropped MTP).
    active: false for weights that a decode step never reads in full (lookup tables, unused K/V).
    """

    role: str
    shape: tuple[int, ...]
    tensor_class: TensorClass
    split: Split = Split.REPLICATED
    linear: bool = False
    dtype: Dtype = Dtype.BF16
    in_checkpoint: bool = True
    in_gguf: bool = True
    active: bool = True

    @property
    def parameters(self) -> int:
        """Number of elements."""
        return prod(self.shape)
