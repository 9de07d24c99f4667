"""Cells, streams and rows of the cache on architectures that are built by hand."""

from dataclasses import replace
from typing import Any

import pytest

from service.core.architecture.caches import (
    Cache,
    CompressedCache,
    IndexCache,
    IndexScheme,
    KeyValueCache,
    LatentCache,
    Reach,
    RecurrentState,
    StateKind,
)
from service.core.architecture.model import Architecture, FeedForward, Layer, LayerKind
from service.core.architecture.tensors import Tensor, TensorClass
from service.core.engines.llama_cpp.cache import (
    cache_bytes,
    kv_bytes_per_token,
    window_bytes_per_sequence,
)
from service.core.engines.llama_cpp.kv_types import KV_TYPES, fits_blocks, row_bytes
from service.core.engines.llama_cpp.pool import pool
from service.core.engines.llama_cpp.state import state_bytes
from tests.unit.factories import make_architecture

MIB = 2**20
ROUTER = Tensor("ffn_gate_inp.weight", (64, 512), TensorClass.ROUTER)


def layer(cache: Cache | None, **changes: Any) -> Layer:
    return replace(Layer(LayerKind.FULL, FeedForward.DENSE, (), cache), **changes)


def model(*groups: tuple[int, Layer]) -> Architecture:
    return make_architecture(layers=tuple(one for count, one in groups for _ in range(count)))


LLAMA_8B = model((32, layer(KeyValueCache(8, 128, 128))))
GEMMA_3_27B = model(
    (10, layer(KeyValueCache(16, 128, 128))),
    (52, layer(KeyValueCache(16, 128, 128, Reach.SLIDING, 1024))),
)


@pytest.mark.parametrize(("context", "gib"), [(8192, 1), (32_768, 4), (131_072, 16)])
def test_llama_8b_keeps_an_eighth_of_a_mib_a_token(context: int, gib: int) -> None:
    """32 layers x 2 x 8 x 128 x 2 bytes = 131,072 a token."""
    assert cache_bytes(LLAMA_8B, context_total=context) == gib * 2**30
    assert kv_bytes_per_token(LLAMA_8B) == 131_072


def test_quantized_types_cost_their_blocks() -> None:
    """q8_0: 34 bytes for 32 values; q4_0: 18; K and V apart."""
    assert kv_bytes_per_token(LLAMA_8B, "q8_0", "q8_0") == 131_072 // 2 // 32 * 34 == 69_632
    assert kv_bytes_per_token(LLAMA_8B, "q4_0", "q8_0") == 32 * 1024 // 32 * (18 + 34)


def test_every_type_has_the_bits_of_its_block() -> None:
    """Bytes of 32 values, from the block structs of ggml."""
    expected = {"f32": 128, "fp16": 64, "bf16": 64, "q8_0": 34, "q5_1": 24, "q5_0": 22, "q4_1": 20}
    expected |= {"q4_0": 18, "iq4_nl": 18}
    assert {name: row_bytes(name, 32) for name in KV_TYPES} == expected


def test_a_block_must_divide_the_head() -> None:
    """Heads of 80 take 16-bit types and not q8_0."""
    assert fits_blocks("fp16", 80)
    assert not fits_blocks("q8_0", 80)
    assert fits_blocks("q8_0", 576)


def test_gemma_3_reserves_window_and_micro_batch_for_each_stream() -> None:
    """10 full layers and 52 of pad(1024 + 512, 256) = 1,536 cells, 8,192 bytes a cell."""
    full, sliding = 10 * 32_768 * 8192, 52 * 1536 * 8192
    assert full == 2560 * MIB
    assert sliding == 624 * MIB
    assert cache_bytes(GEMMA_3_27B, context_total=32_768) == full + sliding
    assert cache_bytes(GEMMA_3_27B, context_total=32_768, sequences=4) == full + 4 * sliding
    assert cache_bytes(GEMMA_3_27B, context_total=32_768, swa_full=True) == 62 * 32_768 * 8192


def test_a_unified_pool_shares_one_wider_window() -> None:
    """Four sequences in one stream: pad(4 x 1024 + 512, 256) = 4,608 cells."""
    unified = cache_bytes(GEMMA_3_27B, context_total=32_768, sequences=4, unified=True)
    assert unified == 10 * 32_768 * 8192 + 52 * 4608 * 8192


def test_a_window_never_exceeds_the_context() -> None:
    """1,000 tokens are padded to 1,024 cells, fewer than window and micro-batch."""
    assert cache_bytes(GEMMA_3_27B, context_total=1000) == 62 * 1024 * 8192


def test_the_window_part_is_one_sequences() -> None:
    """The same bytes a sequence whether one or four are served."""
    for sequences in (1, 4):
        cells = pool(32_768 * sequences, sequences=sequences)
        assert window_bytes_per_sequence(GEMMA_3_27B, cells) == 52 * 1536 * 8192


@pytest.mark.parametrize(("sequences", "cells", "mib"), [(3, 1536, 27), (4, 1024, 18)])
def test_slots_are_padded_one_by_one(sequences: int, cells: int, mib: int) -> None:
    """1,024 tokens in 3 slots take more than in 4, as gemma-3-270m printed (unsloth PR 7530)."""
    gemma = model((18, layer(KeyValueCache(1, 256, 256))))
    assert pool(1024, sequences=sequences).cells == cells
    assert cache_bytes(gemma, context_total=1024, sequences=sequences) == mib * MIB


def test_deepseek_v4_printed_its_window_cells() -> None:
    """43 layers of 4,352 cells of 512 values in 16 bit are 182.75 MiB (llama.cpp issue 27680)."""
    window = model((43, layer(CompressedCache(448, 64, ratio=0, window=128))))
    assert cache_bytes(window, context_total=64_000, micro_batch=4096) == int(182.75 * MIB)


def test_compressed_layers_keep_a_stream_for_each_sequence() -> None:
    """A unified pool costs as much for each sequence as it has cells in all."""
    compressed = model((1, layer(CompressedCache(448, 64, ratio=4, window=128))))
    one = cache_bytes(compressed, context_total=32_768)
    assert one == (768 + 32_768 // 4) * 512 * 2
    assert cache_bytes(compressed, context_total=32_768, sequences=4, unified=True) == 4 * one


def test_a_reader_of_another_layers_entries_keeps_its_window_only() -> None:
    """V4.1: only owners keep compressed entries."""
    reader = model((1, layer(CompressedCache(448, 64, ratio=4, window=128, owner=False))))
    assert cache_bytes(reader, context_total=32_768) == 768 * 512 * 2
    assert kv_bytes_per_token(reader) == 0


def test_latent_attention_keeps_no_values() -> None:
    """DeepSeek V3: 61 layers x 576 values in 16 bit, whatever the type of V."""
    latent = model((61, layer(LatentCache(512, 64))))
    assert kv_bytes_per_token(latent, "fp16", "q4_0") == 70_272


@pytest.mark.parametrize(
    ("scheme", "tokens_per_key", "expected"),
    [
        (IndexScheme.DSA, 1, 256),
        (IndexScheme.POOLED, 4, 768),  # key, gate and pooled key of each token
        (IndexScheme.QSA, 4, 256),  # raw keys
        (IndexScheme.MINIMAX, 1, 512),  # key and value
        (IndexScheme.SUMMARY, 8, 32),
    ],
)
def test_each_index_scheme_has_its_own_row(scheme: IndexScheme, tokens_per_key: int, expected: int) -> None:
    """Bytes a token of one layer with 128-wide keys in f16."""
    index = IndexCache(scheme, 128, tokens_per_key)
    bare = KeyValueCache(4, 128, 128)
    indexed = model((1, layer(bare, index=index, tensors=(ROUTER,))))
    plain = model((1, layer(bare)))
    assert kv_bytes_per_token(indexed) - kv_bytes_per_token(plain) == expected
    grown = cache_bytes(indexed, context_total=32_768) - cache_bytes(plain, context_total=32_768)
    assert grown == 32_768 * expected


def test_minimax_indexes_layers_with_experts_only() -> None:
    """llama.cpp's minimax-m3 allocates nothing for the dense layers at the start."""
    index = IndexCache(IndexScheme.MINIMAX, 128)
    dense = model((3, layer(KeyValueCache(4, 128, 128), index=index)))
    assert kv_bytes_per_token(dense) == 3 * 2048


def test_v_is_as_wide_as_the_widest_without_flash_attention() -> None:
    """A transposed V cache gives every layer the widest layer's values (Gemma 4)."""
    mixed = model((1, layer(KeyValueCache(2, 512, 512))), (1, layer(KeyValueCache(8, 256, 256))))
    assert cache_bytes(mixed, context_total=1024) == 1024 * (1024 + 1024 + 2048 + 2048) * 2
    widened = cache_bytes(mixed, context_total=1024, flash_attention=False)
    assert widened == 1024 * (1024 + 2048 + 2048 + 2048) * 2


def test_state_is_f32_for_every_sequence_and_every_rollback() -> None:
    """Qwen3.5 27B: 48 layers, 149.625 MiB a sequence, twice that for two (llama.cpp PR 23792)."""
    delta = RecurrentState(StateKind.GATED_DELTA_NET, 10_240, 3, 48, 128, 128)
    qwen = model((48, layer(None, states=(delta,))))
    assert state_bytes(qwen, 2) == int(299.25 * MIB)
    assert state_bytes(qwen, 1, rollback=2) == 3 * state_bytes(qwen)


def test_a_short_convolution_keeps_one_column_fewer_than_its_kernel() -> None:
    """LFM: the reference keeps all 7 columns, llama.cpp 6, in f32."""
    short = RecurrentState(StateKind.SHORT_CONV, 2048, 7)
    assert state_bytes(model((13, layer(None, states=(short,))))) == 13 * 6 * 2048 * 4
