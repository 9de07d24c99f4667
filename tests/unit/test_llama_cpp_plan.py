"""Where llama.cpp puts weights, cache and buffers, and what fits: small models with round weights."""

from dataclasses import replace
from typing import Any

import pytest

from service.core.architecture.caches import KeyValueCache, LatentCache
from service.core.architecture.model import Architecture, FeedForward, Layer, LayerKind, NativeFormat
from service.core.architecture.parse import parse
from service.core.architecture.tensors import Tensor, TensorClass
from service.core.engines.base import Engine
from service.core.engines.llama_cpp import ENGINE
from service.core.engines.llama_cpp.plan import plan_with
from service.core.engines.llama_cpp.shares import shares
from service.core.engines.llama_cpp.split import devices, offload
from service.core.engines.platforms import Allowance
from service.core.evidence import Evidence
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Sourced
from service.core.weights.formats import Family
from service.core.weights.table import Weighed, WeightTable
from service.core.weights.weigh import weigh_architecture
from tests.published import llamacpp_figures, models
from tests.unit.factories import make_architecture, make_gpu, make_model, make_scenario

MIB, GIB = 2**20, 2**30
OVERHEAD = 457 * MIB


def weighed(role: str, kind: TensorClass, size: int, layer: int | None = None) -> Weighed:
    return Weighed(Tensor(role, (1, 1), kind), () if layer is None else (layer,), size, "q4_k")


def table(layers: int, *, experts: int = 0, tied: bool = False, scale: int = 1, **outer: int) -> WeightTable:
    """Layers of 100 MiB (and `experts` MiB of experts), 50 MiB each of embedding and output."""
    tensors = [weighed("token_embd.weight", TensorClass.EMBEDDING, 50 * MIB)]
    if not tied:
        tensors.append(weighed("output.weight", TensorClass.OUTPUT, 50 * MIB))
    tensors.extend(weighed(role, TensorClass(role), size * MIB) for role, size in outer.items())
    for index in range(layers):
        tensors.append(weighed("attn_q.weight", TensorClass.ATTENTION, 100 * MIB, index))
        if experts:
            role = "ffn_up_exps.weight"
            tensors.append(weighed(role, TensorClass.ROUTED_EXPERTS, experts * MIB, index))
    total = sum(item.bytes for item in tensors)
    return WeightTable("q4_k_m", tuple(tensors), total * scale, Evidence.RECIPE, "recipe")


def shape(layers: int = 7, **changes: Any) -> Architecture:
    """Layers of 8 KV heads of 128, so 4,096 bytes a token each in f16, and 128k of context."""
    one = Layer(LayerKind.FULL, FeedForward.DENSE, (), KeyValueCache(8, 128, 128))
    return make_architecture(layers=(one,) * layers, max_context_tokens=131_072, **changes)


def scenario(layers: int = 7, **changes: Any) -> Scenario:
    return make_scenario(model=make_model(architecture=shape(layers)), **changes)


def allowed(usable: int | None) -> Allowance:
    """What each GPU allows, by a limit of this test's."""
    return Allowance(usable, Sourced(Evidence.ESTIMATE, "a limit"))


def planned(
    weights: WeightTable, usable: int | None = 23 * GIB, layers: int = 7, **changes: Any
) -> EnginePlan:
    return plan_with(scenario(layers, **changes), weights, allowed(usable))


def test_the_token_embedding_stays_on_the_host() -> None:
    """Input tensors are never on a device: 7 x 100 + 50 MiB on the GPU, 50 on the host."""
    plan = planned(table(7))
    assert plan.total.weights == 750 * MIB
    assert plan.host_bytes == 50 * MIB


def test_a_tied_output_is_loaded_a_second_time() -> None:
    """Without an output matrix the embedding is on the host and, as output, on the GPU."""
    plan = planned(table(7, tied=True))
    assert plan.total.weights == 750 * MIB
    assert plan.host_bytes == 50 * MIB


def test_lookup_tables_stay_on_the_host() -> None:
    """Per-layer embeddings and n-gram tables are input tensors too."""
    plan = planned(table(7, lookup_table=300))
    assert plan.host_bytes == 350 * MIB
    assert plan.total.weights == 750 * MIB


def test_llama_8b_loads_what_llama_cpp_logs() -> None:
    """Q4_K_M: 4,685.30 MiB of tensors, 281.81 of them the embedding, CUDA model buffer 4,403.49 MiB."""
    architecture = parse(models()["llama-3.1-8b-instruct"]["config"])
    found = shares(weigh_architecture(architecture, "q4_k_m", family=Family.GGUF))
    assert found.total == llamacpp_figures()["llama-3.1-8b-instruct"]["sizes_bytes"]["q4_k_m"]
    assert round((found.total - found.tables) / MIB, 2) == 4403.49


def test_layers_are_cut_into_equal_parts_with_the_output_last() -> None:
    """7 layers and the output on 4 devices: two each, the last with one layer and the output."""
    found = devices(shares(table(7)), 4, offload(shares(table(7)), 0))
    assert [list(device.layers) for device in found] == [[0, 1], [2, 3], [4, 5], [6]]
    assert [device.weights // MIB for device in found] == [200, 200, 200, 150]


def test_more_devices_than_layers_leave_some_empty() -> None:
    """Nothing is lost and nothing is held twice on 16 devices."""
    found = devices(shares(table(7)), 16, offload(shares(table(7)), 0))
    assert sorted(index for device in found for index in device.layers) == list(range(7))
    assert sum(device.weights for device in found) == 750 * MIB


def test_cache_lives_with_its_layer_and_every_device_has_its_context() -> None:
    """Two devices: 4 and 3 of 7 layers of 32 MiB of cache at 8k; the fuller one decides."""
    plan = planned(table(7), gpu_count=2)
    assert [rank.memory.kv_cache // MIB for rank in plan.ranks] == [128, 96]
    assert plan.total.kv_cache == 7 * 32 * MIB
    assert plan.total.runtime_overhead == 2 * OVERHEAD
    assert plan.fullest.weights == 400 * MIB


def test_a_pipeline_keeps_its_inputs_four_times() -> None:
    """Mask of 512 x 8,192 x 2 bytes: three more copies, and four of the hidden rows, on each device."""
    one, two = planned(table(7)), planned(table(7), gpu_count=2)
    more = 3 * 512 * 8192 * 2 + 4 * 512 * 512 * 4
    assert two.ranks[0].memory.compute_buffers - one.ranks[0].memory.compute_buffers == more


def test_experts_move_before_layers() -> None:
    """Half of 7 x (100 + 900) + 100 MiB: experts of the first four layers, with all cache on the GPU."""
    plan = planned(table(7, experts=900), cpu_offload_percent=50)
    assert plan.host_bytes == (4 * 900 + 50) * MIB
    assert plan.total.weights == (7 * 100 + 3 * 900 + 50) * MIB
    assert plan.total.kv_cache == 7 * 32 * MIB


def test_whole_layers_take_their_cache_along() -> None:
    """A dense model at 50 %: 400 of 800 MiB are four layers, whose 4 x 32 MiB of cache move too."""
    plan = planned(table(7), cpu_offload_percent=50)
    assert plan.host_bytes == (50 + 400 + 4 * 32) * MIB
    assert plan.total.weights == 350 * MIB
    assert plan.total.kv_cache == 3 * 32 * MIB


def test_a_device_keeps_room_for_the_largest_tensor_on_the_host() -> None:
    """Long batches copy an expert tensor in: 900 MiB more of compute buffer."""
    moved, whole = planned(table(7, experts=900), cpu_offload_percent=10), planned(table(7, experts=900))
    assert moved.fullest.compute_buffers - whole.fullest.compute_buffers == 900 * MIB


def test_everything_can_move() -> None:
    """At 100 % no weights and no cache are left on the GPU, and a tied embedding is held once."""
    plan = planned(table(7, tied=True), cpu_offload_percent=100)
    assert plan.total.weights == plan.total.kv_cache == 0
    assert plan.host_bytes == (50 + 700 + 7 * 32) * MIB


def test_offload_never_moves_less_than_asked() -> None:
    """More percent, more on the host, and the pieces add up to everything that was loaded."""
    parts = shares(table(7, experts=37))
    moved = [offload(parts, percent).bytes for percent in range(0, 101, 5)]
    assert moved == sorted(moved)
    for percent, size in zip(range(0, 101, 5), moved, strict=True):
        assert size >= (parts.total - parts.tables) * percent / 100
    assert moved[-1] == parts.total - parts.tables


def test_what_is_on_the_host_anyway_is_no_part_of_the_percentage() -> None:
    """Tables of 50 + 950 MiB stay on the host; a quarter of the other 7 x 100 + 50 MiB are two layers."""
    plan = planned(table(7, lookup_table=950), cpu_offload_percent=25)
    assert plan.total.weights == (5 * 100 + 50) * MIB
    assert plan.host_bytes == (50 + 950 + 2 * 100 + 2 * 32) * MIB


def test_an_architecture_without_a_rule_is_an_estimate() -> None:
    """The generic rules of its layer kinds stand in, and every term of the engine says so."""
    model = make_model(architecture=shape(gguf_architecture=None))
    evidence = plan_with(make_scenario(model=model), table(7), allowed(None)).evidence
    assert {name for name, term in evidence.items() if term.evidence is not Evidence.ESTIMATE} == {"weights"}
    known = planned(table(7)).evidence
    assert known["kv_cache"].evidence is Evidence.CONFIG
    assert known["compute_buffers"].evidence is Evidence.CALIBRATED


def test_the_projector_is_on_the_first_device() -> None:
    """Vision weights do not spread over the devices."""
    plan = planned(table(7, vision=40), gpu_count=4)
    assert plan.ranks[0].memory.weights == 240 * MIB


def test_a_published_size_scales_every_share() -> None:
    """Where a file is twice the tensors, every place holds twice as much."""
    plan = planned(table(7, scale=2))
    assert plan.total.weights == 1500 * MIB
    assert plan.host_bytes == 100 * MIB


@pytest.mark.parametrize("sequences", [1, 3, 8])
@pytest.mark.parametrize("usable", [2 * GIB, 3 * GIB, 4 * GIB])
def test_the_largest_context_fits_and_the_next_does_not(usable: int, sequences: int) -> None:
    """The limit is a multiple of 256 tokens a sequence at which the plan still fits."""
    asked = scenario(concurrent_sequences=sequences)
    limit = plan_with(asked, table(7), allowed(usable)).max_context_tokens
    assert limit is not None
    assert 0 < limit < 131_072
    assert limit % 256 == 0

    def needed(context: int) -> int:
        return plan_with(replace(asked, context_tokens=context), table(7), allowed(None)).fullest.total

    assert needed(limit) <= usable < needed(limit + 256)


def test_the_most_sequences_fit_and_one_more_does_not() -> None:
    """Eight thousand tokens for as many as fit."""
    usable = 3 * GIB
    most = planned(table(7), usable).max_concurrent_sequences
    assert most is not None
    assert planned(table(7), None, concurrent_sequences=most).fullest.total <= usable
    assert planned(table(7), None, concurrent_sequences=most + 1).fullest.total > usable


def test_limits_end_where_the_model_and_the_engine_end() -> None:
    """The model's own context, and 256 sequences (LLAMA_MAX_SEQ), however much memory there is."""
    plan = planned(table(7), 4096 * GIB)
    assert plan.max_context_tokens == 131_072
    assert plan.max_concurrent_sequences == 256


def test_nothing_fits_beside_weights_that_do_not() -> None:
    """Limits are 0 when not even the first cells fit, unknown when the memory is unknown."""
    assert planned(table(7), 500 * MIB).max_context_tokens == 0
    assert planned(table(7), 500 * MIB).max_concurrent_sequences == 0
    assert planned(table(7), None).max_context_tokens is None


def test_the_pool_holds_context_times_sequences() -> None:
    """n_ctx as the engine prints it: 3 slots of 1,000 tokens, padded to 1,024 each."""
    assert planned(table(7), context_tokens=1000, concurrent_sequences=3).kv_cache_capacity_tokens == 3072


def test_speculation_adds_the_prediction_layer_and_its_cache() -> None:
    """The eighth layer of the file is the model's MTP layer: 100 MiB of weights, 32 MiB of cache."""
    one = Layer(LayerKind.FULL, FeedForward.DENSE, (), KeyValueCache(8, 128, 128))
    model = make_model(architecture=shape(mtp=(one,)))
    asked = make_scenario(model=model, speculative_tokens=1)
    plan = plan_with(asked, table(8), allowed(23 * GIB))
    assert plan.total.weights == 850 * MIB
    assert plan.total.kv_cache == 8 * 32 * MIB
    assert plan.evidence["compute_buffers"].evidence is Evidence.ESTIMATE


def test_latent_caches_take_one_type_only() -> None:
    """llama.cpp refuses different types of K and V where there is no V."""
    one = Layer(LayerKind.LATENT, FeedForward.DENSE, (), LatentCache(512, 64))
    model = make_model(architecture=make_architecture(layers=(one,)))
    asked = make_scenario(model=model, kv_cache_dtype="q8_0")
    codes = [note.code for note in plan_with(asked, table(1), allowed(None)).refusals]
    assert codes == ["kv_types_must_match"]


def test_narrow_heads_take_no_block_types() -> None:
    """A head of 80 values does not divide into blocks of 32."""
    one = Layer(LayerKind.FULL, FeedForward.DENSE, (), KeyValueCache(8, 80, 80))
    model = make_model(architecture=make_architecture(layers=(one,)))
    asked = make_scenario(model=model, kv_cache_dtype="q8_0", kv_cache_dtype_v="q8_0")
    codes = [note.code for note in plan_with(asked, table(1), allowed(None)).refusals]
    assert codes == ["kv_type_needs_wider_heads"]


def test_native_is_what_gguf_keeps_unchanged() -> None:
    """16-bit checkpoints, and gpt-oss whose MXFP4 experts are repacked; not FP8."""
    mxfp4 = NativeFormat("mxfp4", {TensorClass.ROUTED_EXPERTS: "mxfp4"})
    assert ENGINE.loads_native(make_architecture())
    assert ENGINE.loads_native(make_architecture(native=mxfp4, gguf_architecture="gpt-oss"))
    assert not ENGINE.loads_native(make_architecture(native=mxfp4))
    assert not ENGINE.loads_native(make_architecture(native=NativeFormat("fp8")))


def test_it_is_an_engine() -> None:
    """The module keeps the shape of every engine, and its default format is one it loads."""
    engine: Engine = ENGINE
    assert engine.default_format in engine.formats
    defaults = engine.defaults(make_architecture(), make_gpu(), 1, 8192)
    assert defaults.kv_cache_dtype in engine.kv_dtypes
    assert (defaults.max_batched_tokens, defaults.vision) == (512, False)


def test_the_plan_of_a_catalog_model_weighs_its_file() -> None:
    """ENGINE.plan takes the GGUF form of 16-bit weights and leaves the embedding on the host."""
    architecture = parse(models()["llama-3.1-8b-instruct"]["config"])
    asked = make_scenario(model=make_model(architecture=architecture), quantization="bf16")
    plan = ENGINE.plan(asked)
    unquantized = llamacpp_figures()["llama-3.1-8b-instruct"]["unquantised_bytes"]
    assert plan.host_bytes == 128_256 * 4096 * 2
    assert plan.total.weights == unquantized - plan.host_bytes
    assert plan.total.kv_cache == GIB
