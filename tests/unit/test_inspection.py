"""Published files that a caller sends: GGUF headers and safetensors indexes."""

from math import prod
from pathlib import Path
from struct import pack
from typing import Any

import pytest

from service.catalog import Catalog
from service.core.architecture.caches import KeyValueCache
from service.core.architecture.summary import kv_bytes_per_token_16bit, state_bytes_per_sequence
from service.core.recognition import Known
from service.core.weights.weigh import weigh
from service.errors import UnsupportedArchitecture
from service.inspection import NotGguf, inspect_gguf, read_header, total_size
from service.inspection.gguf_types import TENSOR_TYPES
from tests.published import expectations, llamacpp_figures

# Written by gguf-py 0.19.0, without tensor data; tests/data/README.md says what it holds.
TINY = (Path(__file__).parents[1] / "data" / "tiny-llama.gguf-header").read_bytes()
NOTHING = Known((), {})


def text(value: str) -> bytes:
    return pack("<Q", len(value.encode())) + value.encode()


def entry(key: str, value: Any) -> bytes:
    """One key of the metadata, by the format's description (ggml docs/gguf.md)."""
    if isinstance(value, str):
        return text(key) + pack("<I", 8) + text(value)
    if isinstance(value, list):
        return text(key) + pack("<IIQ", 9, 4, len(value)) + b"".join(pack("<I", item) for item in value)
    return text(key) + pack("<II", 4, value)


def gguf(metadata: dict[str, Any], tensors: list[tuple[str, tuple[int, ...], int]]) -> bytes:
    """A header; shapes have their row length last, the file has it first."""
    parts = [b"GGUF", pack("<IQQ", 3, len(tensors), len(metadata))]
    parts += [entry(key, value) for key, value in metadata.items()]
    for name, shape, kind in tensors:
        parts.append(text(name) + pack("<I", len(shape)))
        parts.append(b"".join(pack("<Q", size) for size in reversed(shape)) + pack("<IQ", kind, 0))
    return b"".join(parts)


def test_a_header_of_the_reference_writer_is_read_in_full():
    """Keys, tensors, shapes and types of a file written by gguf-py."""
    header = read_header(TINY)
    assert header.complete
    assert header.metadata["general.name"] == "Tiny Llama"
    assert header.metadata["llama.attention.head_count_kv"] == 2
    assert [tensor.name for tensor in header.tensors][:2] == ["token_embd.weight", "output_norm.weight"]
    assert header.tensors[0].shape == (100, 256)
    assert len(header.tensors) == header.tensor_count == 2 + 2 * 9


def test_every_tensor_counts_with_its_own_type():
    """Q6_K: 210 bytes for 256 values; Q4_K: 144; norms in f32. Two layers, 100 tokens of 256."""
    found = inspect_gguf(read_header(TINY), NOTHING)
    q6_k = (100 * 256 + 2 * (128 * 256 + 256 * 512)) // 256 * 210
    q4_k = 2 * (2 * 256 * 256 + 128 * 256 + 2 * 512 * 256) // 256 * 144
    f32 = (256 + 2 * 2 * 256) * 4
    assert found.file.bytes_by_type == {"q6_k": q6_k, "q4_k": q4_k, "f32": f32}
    assert found.file.tensor_bytes == q6_k + q4_k + f32
    assert found.file.quantization == "q4_k_m"
    layer = 2 * 256 * 256 + 2 * 128 * 256 + 3 * 512 * 256 + 2 * 256
    assert found.model.parameters_total == 100 * 256 + 256 + 2 * layer
    assert found.model.architecture.tied
    assert {layer.cache for layer in found.model.architecture.layers} == {KeyValueCache(2, 64, 64)}


@pytest.mark.parametrize("size", [*range(24, len(TINY), 97), len(TINY) - 1])
def test_a_header_that_was_cut_off_is_read_as_far_as_it_reaches(size: int):
    """Any prefix gives what it holds: never an error of the service, never bytes that were guessed."""
    header = read_header(TINY[:size])
    assert not header.complete
    if not {"llama.attention.head_count", "tokenizer.ggml.tokens"} <= set(header.metadata):
        with pytest.raises(UnsupportedArchitecture) as refused:
            inspect_gguf(header, NOTHING)
        assert refused.value.missing or not header.metadata
        return
    found = inspect_gguf(header, NOTHING)
    assert found.file.tensor_bytes is None
    assert kv_bytes_per_token_16bit(found.model.architecture) == 2 * 2 * (64 + 64) * 2
    assert found.model.remarks[0].code == "gguf_without_tensors"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GGUF",
        b"GGML" + TINY[4:],
        b"GGUF" + pack("<IQQ", 1, 0, 0),
        b"GGUF" + pack("<IQQ", 0x03000000, 0, 0),
        b"GGUF" + pack("<IQQ", 3, 0, 2**60),
        b"GGUF" + pack("<IQQ", 3, 1, 1) + text("key") + pack("<I", 99),
        gguf({"general.architecture": "llama"}, [("x", (1,) * 5, 0)]),
    ],
    ids=["empty", "magic alone", "other magic", "version 1", "big endian", "keys", "type", "dimensions"],
)
def test_what_is_not_gguf_is_refused(content: bytes):
    """Other formats, versions and structures are told from a file that is only cut off."""
    with pytest.raises(NotGguf):
        read_header(content)


@pytest.mark.parametrize("shape", [(0, 256), (2**40, 2**40), (256, 255)])
def test_tensors_that_no_file_holds_are_refused(shape: tuple[int, int]):
    """Empty and endless tensors, and rows that are not whole blocks."""
    with pytest.raises(NotGguf):
        inspect_gguf(read_header(gguf({"general.architecture": "llama"}, [("x.weight", shape, 12)])), NOTHING)


def keys(model: Any) -> dict[str, Any]:
    """The metadata that llama.cpp's converter writes for the caches of a model (llama.cpp conversion/)."""
    arch = model.architecture
    name = arch.gguf_architecture
    found: dict[str, Any] = {
        "general.architecture": name,
        "general.file_type": 15,
        f"{name}.context_length": arch.max_context_tokens,
        f"{name}.embedding_length": arch.hidden_size,
        f"{name}.block_count": len(arch.layers),
        f"{name}.attention.head_count": arch.attention_heads,
        f"{name}.attention.head_count_kv": arch.kv_heads,
        f"{name}.attention.key_length": arch.head_dim,
        f"{name}.attention.value_length": arch.head_dim,
    }
    config = model_configs[model.id]
    if "kv_lora_rank" in config:
        found[f"{name}.attention.kv_lora_rank"] = config["kv_lora_rank"]
        found[f"{name}.rope.dimension_count"] = config["qk_rope_head_dim"]
    if "linear_num_value_heads" in config:
        heads = config["linear_num_value_heads"]
        found[f"{name}.ssm.state_size"] = config["linear_key_head_dim"]
        found[f"{name}.ssm.inner_size"] = heads * config["linear_value_head_dim"]
        found[f"{name}.ssm.time_step_rank"] = heads
    return found


model_configs: dict[str, Any] = {}
IDS = {kind.label: number for number, kind in TENSOR_TYPES.items()}


@pytest.mark.parametrize(
    "name",
    [
        "llama-3.1-8b-instruct",
        "qwen3-30b-a3b-instruct-2507",
        "deepseek-v3-0324-671b",
        "qwen3-coder-next-80b-a3b",
    ],
)
def test_the_header_of_a_converted_model_gives_llamacpps_figures(catalog: Catalog, name: str):
    """Tensor bytes are those that llama-quantize printed; cache and state those worked out by hand."""
    model_configs[name] = catalog.model_files[name]["config"]
    model = catalog.models[name]
    tensors = [
        (
            w.tensor.role if layer is None else f"blk.{layer}.{w.tensor.role}",
            w.tensor.shape,
            IDS[w.encoding],
        )
        for w in weigh(model, "q4_k_m").tensors
        for layer in w.layers or (None,)
    ]
    found = inspect_gguf(read_header(gguf(keys(model), tensors)), NOTHING)
    if name in llamacpp_figures():
        assert found.file.tensor_bytes == llamacpp_figures()[name]["sizes_bytes"]["q4_k_m"]
    assert found.model.parameters_total == sum(prod(shape) for _, shape, _ in tensors)
    wanted, arch = expectations()[name], found.model.architecture
    assert kv_bytes_per_token_16bit(arch) == wanted["kv_bytes_per_token_16bit"]
    assert state_bytes_per_sequence(arch) == wanted["state_bytes_per_sequence"]


def test_a_window_with_a_pattern_is_kept_and_without_one_is_said():
    """A pattern tells which layers slide; without one all are read as full attention."""
    base = {
        "general.architecture": "gemma3", "gemma3.context_length": 8192, "gemma3.embedding_length": 64,
        "gemma3.block_count": 2, "gemma3.attention.head_count": 4, "gemma3.attention.head_count_kv": 2,
        "gemma3.attention.sliding_window": 512,
    }  # fmt: skip
    tensors = [("token_embd.weight", (100, 64), 1)]
    tensors += [(f"blk.{i}.attn_{part}.weight", (64, 64), 1) for i in (0, 1) for part in "qkv"]
    stated = inspect_gguf(
        read_header(gguf({**base, "gemma3.attention.sliding_window_pattern": [1, 0]}, tensors)), NOTHING
    )
    assert [layer.cache.window for layer in stated.model.architecture.layers] == [512, None]
    silent = inspect_gguf(read_header(gguf(base, tensors)), NOTHING).model.architecture
    assert [layer.cache.window for layer in silent.layers] == [None, None]
    assert silent.remarks[0].code == "config_fields_read_cache_too_large"


@pytest.mark.parametrize(
    ("index", "size"),
    [
        ({"metadata": {"total_size": 16_060_522_496}, "weight_map": {}}, 16_060_522_496),
        ({"metadata": {"total_size": 16060522496.0}}, 16_060_522_496),
        ({"metadata": {"total_size": "16060522496"}}, None),
        ({"metadata": {"total_size": -1}}, None),
        ({"metadata": {"total_size": True}}, None),
        ({"metadata": []}, None),
        ({}, None),
    ],
)
def test_an_index_states_the_size_of_all_tensors(index: dict[str, Any], size: int | None):
    """metadata.total_size where it is a number of bytes, else nothing."""
    assert total_size(index) == size
