"""The n-gram lookup of Qwen4-exp: hashed tables of prime sizes, and a dilated convolution behind them.

Source: transformers 5.24.0 models/qwen4_exp, NGramEmbedding and PLELayer.
"""

from collections.abc import Iterator
from dataclasses import replace

from service.core.architecture.blocks.primitives import linear, norm
from service.core.architecture.caches import RecurrentState, StateKind
from service.core.architecture.common import positive
from service.core.architecture.config import Config
from service.core.architecture.model import Layer
from service.core.architecture.tensors import Split, Tensor, TensorClass
from service.core.units import pad
from service.errors import UnsupportedArchitecture

# Above this a prime search would take long; the published base is 2e7.
_LARGEST_BASE = 10**9


def add_lookups(
    config: Config, hidden: int, layers: tuple[Layer, ...]
) -> tuple[tuple[Layer, ...], tuple[Tensor, ...]]:
    """The layers, of which those in ple_layer_ids have the lookup added, and one table for each."""
    chosen = [index - 1 for index in config.integers("ple_layer_ids") or ()]
    if not chosen:
        return layers, ()
    if len(chosen) > len(layers) or not all(0 <= index < len(layers) for index in chosen):
        raise UnsupportedArchitecture(config.engine_class, ("ple_layer_ids",))
    width = positive(config, "hc_count") * hidden
    extra, state = tuple(_tensors(config, hidden, width)), _state(config, width)
    with_lookup = tuple(
        replace(layer, tensors=(*layer.tensors, *extra), states=(*layer.states, state))
        if index in chosen
        else layer
        for index, layer in enumerate(layers)
    )
    return with_lookup, _tables(config, len(chosen))


def _tensors(config: Config, hidden: int, width: int) -> Iterator[Tensor]:
    """A key for every residual stream, one value, three norms, and the convolution."""
    embedding, part = positive(config, "ple_embed_dim"), TensorClass.OTHER
    yield linear("ple_key", width, embedding, part, Split.REPLICATED)
    yield linear("ple_value", hidden, embedding, part, Split.REPLICATED)
    for role in ("ple_norm_key", "ple_norm_query", "ple_norm_conv"):
        yield norm(role, width)
    yield Tensor("ple_conv1d.weight", (width, positive(config, "ple_conv_kernel_size")), part)


def _state(config: Config, width: int) -> RecurrentState:
    """The convolution is dilated by ngram_size; hashing needs the ngram_size - 1 tokens before."""
    order = positive(config, "ngram_size")
    rows = (positive(config, "ple_conv_kernel_size") - 1) * order
    return RecurrentState(StateKind.LOOKUP_CONV, width, rows, split=False, token_history=order - 1)


def _tables(config: Config, count: int) -> tuple[Tensor, ...]:
    """Each head of each n-gram order hashes into a prime number of rows; primes go on over the tables."""
    heads = (positive(config, "ngram_size") - 1) * positive(config, "heads_per_ngram")
    base, divisor = (
        positive(config, "ngram_vocab_size_base"),
        positive(config, "make_ngram_vocab_size_divisible_by"),
    )
    if base > _LARGEST_BASE or heads * count > 1024:
        raise UnsupportedArchitecture(config.engine_class, ("ngram_vocab_size_base",))
    primes = _primes_from(base)
    row = positive(config, "ple_embed_dim") // heads
    return tuple(
        Tensor(
            "per_layer_token_embd.weight",
            (pad(sum(next(primes) for _ in range(heads)), divisor), row),
            TensorClass.LOOKUP_TABLE,
            Split.VOCABULARY,
            active=False,
        )
        for _ in range(count)
    )


def _primes_from(start: int) -> Iterator[int]:
    """Primes from `start` on, in order."""
    candidate = max(start, 2)
    while True:
        if all(candidate % divisor for divisor in range(2, int(candidate**0.5) + 1)):
            yield candidate
        candidate += 1
