"""What a rank holds of the weights."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.architecture.model import Architecture, Experts
from service.core.architecture.tensors import Split, Tensor, TensorClass
from service.core.evidence import Evidence
from service.core.parallel import lookup_bytes, stage_layers, stage_weights
from service.core.scenario import Layout
from service.core.weights.table import Weighed, WeightTable
from tests.unit.factories import make_architecture

Q, KV, FFN, EMBEDDING = 512 * 512 * 2, 128 * 512 * 2, 2048 * 512 * 2, 1024 * 512 * 2
LAYER = 2 * Q + 2 * KV + 2 * FFN


def table(architecture: Architecture, *extra: Weighed) -> WeightTable:
    """Every tensor at two bytes an element."""
    outer = [Weighed(tensor, (), 2 * tensor.parameters, "bf16") for tensor in architecture.outer]
    layers = [
        Weighed(tensor, (index,), 2 * tensor.parameters, "bf16")
        for index, layer in enumerate(architecture.layers)
        for tensor in layer.tensors
    ]
    tensors = (*outer, *layers, *extra)
    total = sum(weighed.bytes for weighed in tensors)
    return WeightTable("bf16", tensors, total, Evidence.CONFIG, "arithmetic")


def single(role: str, part: TensorClass, split: Split, *shape: int, layer: int | None = None) -> Weighed:
    tensor = Tensor(role, shape, part, split)
    return Weighed(tensor, () if layer is None else (layer,), 2 * tensor.parameters, "bf16")


def rank(layout: Layout, *extra: Weighed, architecture: Architecture | None = None) -> int:
    chosen = architecture or make_architecture()
    return stage_weights(table(chosen, *extra), chosen, layout)[0]


def test_one_rank_holds_everything():
    assert rank(Layout()) == 2 * LAYER + EMBEDDING


def test_a_published_total_replaces_the_sum():
    """Where only the size of the checkpoint is known, one rank holds exactly that."""
    chosen = make_architecture()
    published = replace(table(chosen), total_bytes=10_000_001)
    assert stage_weights(published, chosen, Layout()) == (10_000_001,)


def test_heads_are_divided_until_one_is_left():
    """Two KV heads: at degree 2 each rank has one, at 4 and 8 it still has one."""
    for degree, ways in ((2, 2), (4, 2), (8, 2)):
        sharded = 2 * (2 * Q + 2 * FFN) // degree
        assert rank(Layout(tensor=degree)) == sharded + 2 * 2 * KV // ways + EMBEDDING // degree


def test_replicated_tensors_are_whole_on_every_rank():
    norm = single("attn_norm.weight", TensorClass.NORM, Split.REPLICATED, 512, layer=0)
    assert rank(Layout(tensor=8), norm) - rank(Layout(tensor=8)) == 1024


def test_vocabulary_is_padded_to_64_rows_a_rank():
    """1,000 rows on 4 ranks are padded to 1,024 = 4 x 256; one rank alone keeps its 1,000."""
    head = single("output.weight", TensorClass.OUTPUT, Split.VOCABULARY, 1000, 512)
    assert rank(Layout(tensor=4), head) - rank(Layout(tensor=4)) == 256 * 512 * 2
    assert rank(Layout(), head) - rank(Layout()) == 1000 * 512 * 2


def experts(count: int = 8) -> tuple[Architecture, Weighed]:
    architecture = make_architecture(experts=Experts(count=count, per_token=2, width=256))
    weighed = single(
        "ffn_up_exps.weight", TensorClass.ROUTED_EXPERTS, Split.EXPERTS, count, 256, 512, layer=0
    )
    return architecture, weighed


@pytest.mark.parametrize(
    ("layout", "share"),
    [
        (Layout(tensor=2), 2),
        (Layout(tensor=2, expert=2), 2),
        (Layout(data=4), 4),  # without expert parallelism, experts are sliced over the replicas too
        (Layout(tensor=2, data=4, expert=8), 8),
    ],
)
def test_experts_are_sliced_or_dealt(layout: Layout, share: int):
    architecture, weighed = experts()
    added = rank(layout, weighed, architecture=architecture) - rank(layout, architecture=architecture)
    assert added == weighed.bytes // share


def test_experts_that_do_not_divide_fill_up_some_ranks():
    """Ten experts on four ranks: the fullest holds three."""
    architecture, weighed = experts(count=10)
    layout = Layout(tensor=4, expert=4)
    added = rank(layout, weighed, architecture=architecture) - rank(layout, architecture=architecture)
    assert added == 3 * 256 * 512 * 2


def test_replicas_copy_what_is_not_an_expert():
    assert rank(Layout(data=4)) == rank(Layout())


def test_pipeline_ends_hold_the_outer_tensors():
    """The embedding is on the first stage, the head on the last; a tied embedding is on both."""
    chosen = make_architecture()
    assert stage_weights(table(chosen), chosen, Layout(pipeline=2)) == (LAYER + EMBEDDING,) * 2
    untied = make_architecture(tied=False)
    head = single("output.weight", TensorClass.OUTPUT, Split.VOCABULARY, 1024, 256)
    stages = stage_weights(table(untied, head), untied, Layout(pipeline=2))
    assert stages == (LAYER + EMBEDDING, LAYER + EMBEDDING // 2)


def test_drafting_layers_are_on_the_last_stage():
    chosen = make_architecture()
    draft = single("attn_q.weight", TensorClass.ATTENTION, Split.SHARDED, 512, 512, layer=2)
    stages = stage_weights(table(chosen, draft), chosen, Layout(pipeline=2))
    assert stages[1] - stages[0] == Q


def test_lookup_tables_may_live_in_host_memory():
    chosen = make_architecture()
    lookup = single("engram_embd.weight", TensorClass.LOOKUP_TABLE, Split.VOCABULARY, 6400, 64, layer=1)
    weights, hosted = table(chosen, lookup), frozenset({"engram_embd.weight"})
    assert lookup_bytes(weights, hosted) == 6400 * 64 * 2
    assert lookup_bytes(weights, frozenset()) == 0
    assert stage_weights(weights, chosen, Layout(), hosted=hosted) == (2 * LAYER + EMBEDDING,)
    assert stage_weights(weights, chosen, Layout()) == (2 * LAYER + EMBEDDING + 6400 * 64 * 2,)


@pytest.mark.parametrize(
    ("layers", "stages", "sizes"),
    [(61, 2, [31, 30]), (10, 4, [2, 3, 3, 2]), (7, 4, [2, 2, 2, 1]), (8, 8, [1] * 8), (2, 3, [1, 1, 0])],
)
def test_layers_are_spread_evenly_and_the_last_stage_is_spared(layers: int, stages: int, sizes: list[int]):
    """vLLM's get_pp_indices gives what does not divide to the stages before the last, from the back."""
    assert [len(part) for part in stage_layers(layers, stages)] == sizes


@given(st.integers(0, 200), st.integers(1, 64))
def test_every_layer_has_one_stage(layers: int, stages: int):
    assert [layer for part in stage_layers(layers, stages) for layer in part] == list(range(layers))


@given(st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 2]))
def test_ranks_together_hold_at_least_everything(tensor: int, pipeline: int):
    chosen = make_architecture()
    weights = table(chosen)
    stages = stage_weights(weights, chosen, Layout(tensor=tensor, pipeline=pipeline))
    assert tensor * sum(stages) >= weights.total_bytes
