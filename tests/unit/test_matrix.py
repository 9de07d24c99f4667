"""The matrix: every cell is what the scalar path says of the same scenario."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.catalog import Catalog
from service.core.arrays import chosen, floor, larger, saturated, smaller
from service.core.engines import ENGINES
from service.core.engines.llama_cpp.limits import ladder
from service.core.hardware import GpuKind
from service.core.matrix.cells import Facts
from service.core.matrix.compute import compute
from service.core.matrix.question import AXES, MOST_CELLS, Question, check_size
from service.core.matrix.result import measure, significant
from service.core.request import Request
from service.core.resolve import resolve
from service.errors import InvalidParameters
from tests.unit.matrix_cells import OF_ENGINES, VALUES, check, short


@pytest.fixture(scope="module")
def facts(catalog: Catalog) -> Facts:
    return Facts(catalog.speed, catalog.costs.offers)


@pytest.mark.parametrize("engine", ENGINES)
def test_matrix_is_scalar_on_random_cells(catalog: Catalog, facts: Facts, engine: str):
    """For every engine: random models, accelerators, formats, contexts and settings; every measure."""
    chance = random.Random(f"matrix {engine}")
    scenarios = 0
    for values in (*VALUES, *OF_ENGINES[engine]):
        formats = sorted(ENGINES[engine].formats)
        question = Question(
            models=tuple(chance.sample(sorted(catalog.models.values(), key=lambda m: m.id), 2)),
            gpus=tuple(chance.sample(sorted(catalog.gpus.values(), key=lambda g: g.id), 5)),
            quantizations=(None, *chance.sample(formats, 1)),
            contexts=(chance.choice([512, 4096, 10_000]), chance.choice([32_768, 131_072, 1_048_576])),
            values={"engine": engine, **values},
        )
        scenarios += check(facts, question)
    assert scenarios > 100


def test_a_memory_that_no_one_knows_has_a_context_only_with_a_fixed_pool(catalog: Catalog, facts: Facts):
    """`usable` stays unknown; a pool of the caller's own has a longest context all the same."""
    unknown = [gpu for gpu in catalog.gpus.values() if gpu.memory_bytes is None or not gpu.exists]
    assert unknown
    for values in ({}, {"kv_cache_memory_bytes": 2**33}):
        question = Question(
            models=(catalog.models["qwen3-8b"],),
            gpus=(*unknown, catalog.gpus["rtx-4090"]),
            quantizations=("native", "fp8"),
            contexts=(512, 8192),
            values={"engine": "vllm", **values},
        )
        assert check(facts, question) == (len(unknown) + 1) * 4


def test_questions_that_might_pass_64_bits_are_exact_too(catalog: Catalog, facts: Facts):
    """2**24 tokens x 65,536 sequences, on up to 1,024 GPUs: beyond what the matrix trusts 64 bits with."""
    for engine, asked in (("llama.cpp", {}), ("vllm", {"gpu_count": 1024, "data_parallel": 1024})):
        question = Question(
            models=(catalog.models["llama-3.1-8b-instruct"], catalog.models["kimi-k3.1-pro"]),
            gpus=(catalog.gpus["rtx-4090"], catalog.gpus["h100-80gb-sxm"]),
            quantizations=("native",),
            contexts=(4096, 2**24),
            values={"engine": engine, "concurrent_sequences": 65_536, **asked},
        )
        check(facts, question)


def test_absurd_numbers_are_cut_to_64_bits():
    """2**63 - 1 is the most that an array of whole numbers holds; what is below is exact."""
    assert saturated(np.array([2**70, 2**63, 2**62 + 1, -1], object)).tolist() == [
        2**63 - 1,
        2**63 - 1,
        2**62 + 1,
        -1,
    ]


def test_no_model_keeps_so_much_that_64_bits_would_overflow(catalog: Catalog):
    """The matrix counts in 64 bits up to 2**36 tokens; so a token stays below 2**24 bytes."""
    for model in catalog.models.values():
        asked = Request(model=model, gpu=catalog.gpus["rtx-4090"], engine="llama.cpp", kv_cache_dtype="f32")
        assert ENGINES["llama.cpp"].plan(resolve(asked), limits=False).kv_bytes_per_token < 2**24


def test_matrix_is_scalar_where_the_format_chooses_the_engine(catalog: Catalog, facts: Facts):
    """Without an engine it follows from the format, the model and the accelerator, cell by cell."""
    chance = random.Random("matrix without engine")
    gpus = sorted(catalog.gpus.values(), key=lambda gpu: gpu.id)
    kinds = [chance.choice([gpu for gpu in gpus if gpu.kind is kind]) for kind in GpuKind]
    question = Question(
        models=tuple(chance.sample(sorted(catalog.models.values(), key=lambda m: m.id), 6)),
        gpus=(*kinds, *chance.sample([gpu for gpu in gpus if gpu not in kinds], 6)),
        quantizations=(None, "native", "q4_k_m", "mxfp4", "mlx-4bit", "bf16"),
        contexts=(8192,),
    )
    assert check(facts, question) > 200


def test_every_accelerator_of_a_group_has_its_own_memory(catalog: Catalog, facts: Facts):
    """All accelerators at once, where the groups are largest, for the engines that share their plans."""
    for engine in ("llama.cpp", "vllm", "tensorrt-llm", "mlx"):
        question = Question(
            models=(catalog.models["llama-3.1-8b-instruct"],),
            gpus=tuple(catalog.gpus.values()),
            values={"engine": engine},
        )
        assert check(facts, question) == len(catalog.gpus)


def test_cells_that_do_not_exist_have_no_figures(catalog: Catalog, facts: Facts):
    """A format that the engine does not load is `unsupported` with nothing beside it."""
    matrix = compute(
        Question(
            models=(catalog.models["qwen3-8b"],),
            gpus=(catalog.gpus["rtx-4090"],),
            quantizations=("awq-int4", "q4_k_m"),
            values={"engine": "llama.cpp"},
        ),
        facts,
    )
    assert matrix.measures["verdict"].listed() == ["unsupported", "fits"]
    assert matrix.measures["total_bytes"].listed()[0] is None
    assert matrix.measures["total_bytes"].listed()[1] > 0


def test_a_fault_of_the_whole_question_is_an_error(catalog: Catalog, facts: Facts):
    """An engine that does not exist, and a KV type that the engine does not have."""
    one = {"models": (catalog.models["qwen3-8b"],), "gpus": (catalog.gpus["rtx-4090"],)}
    for values in ({"engine": "vlm"}, {"engine": "vllm", "kv_cache_dtype": "q8_0"}, {"backend": "glide"}):
        with pytest.raises(InvalidParameters):
            compute(Question(**one, values=values), facts)


def test_too_many_cells_say_how_to_page(catalog: Catalog, facts: Facts):
    """500,000 cells at most: 79 of 80 models with 57 GPUs x 110 contexts; 12 GPUs of one with 40,000.

    Eight formats at six contexts of everything in the catalog fit into one answer.
    """
    models, gpus = tuple(catalog.models.values()), tuple(catalog.gpus.values())
    check_size(Question(models, gpus, quantizations=("native",) * 8, contexts=(8192,) * 6))
    contexts = tuple(range(1, 1 + MOST_CELLS // (len(models) * len(gpus)) + 1))
    with pytest.raises(InvalidParameters) as caught:
        compute(Question(models, gpus, contexts=contexts), facts)
    (error,) = caught.value.errors
    assert error.code == "matrix_too_large"
    assert error.values["cells"] == len(models) * len(gpus) * len(contexts)
    assert error.values["at_once"] == MOST_CELLS // (len(gpus) * len(contexts)) < len(models)
    with pytest.raises(InvalidParameters) as caught:
        compute(Question(models, gpus, contexts=tuple(range(1, 40_001))), facts)
    assert (caught.value.errors[0].parameter, caught.value.errors[0].values["at_once"]) == ("gpus", 12)


def test_a_measure_names_the_axes_along_which_it_varies():
    """Constant axes are left out, the others keep their order; headline figures keep all."""
    values = np.arange(6, dtype=np.int64).reshape(2, 1, 3, 1) * np.ones((2, 4, 3, 5), np.int64)
    found = measure("weights_bytes", values)
    assert found.axes == ("models", "quantizations")
    assert found.listed() == [0, 1, 2, 3, 4, 5]
    assert measure("total_bytes", values).axes == AXES
    rates = np.where(values == 0, np.nan, 1.5)
    assert measure("usd_per_hour", rates).listed() == [None, 1.5, 1.5, 1.5, 1.5, 1.5]


def test_rates_have_four_significant_digits():
    """As printed with %.4g, for numbers of every size; zero stays."""
    chance = random.Random(4)
    values = [chance.uniform(1, 10) * 10 ** chance.randint(-9, 12) for _ in range(2000)]
    assert significant(np.array([0.0, *values])).tolist() == [0.0, *(short(value) for value in values)]


@given(
    needed=st.lists(st.integers(0, 50), min_size=1, max_size=40),
    room=st.lists(st.integers(-5, 60), min_size=1, max_size=10),
    ordered=st.booleans(),
)
def test_contexts_by_table_are_those_of_the_search(needed: list[int], room: list[int], ordered: bool):
    """A table of every step answers what the search of one scenario answers, monotone or not."""
    steps = sorted(needed) if ordered else needed

    def searched(amount: int) -> int:
        low, high = 0, len(steps)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if steps[middle - 1] <= amount else (low, middle - 1)
        return min(256 * low, 9000)

    found = ladder(np.array(steps), 9000).contexts_within(np.array(room))
    assert found.tolist() == [searched(amount) for amount in room]


def test_formulas_take_numbers_and_arrays_alike():
    """Whole numbers, int64 and arrays of Python numbers give the same; numbers stay Python's."""
    values, others = [0, 3, 2**40 + 1, 7], [1, 3, 2**40, 9]
    for dtype in (np.int64, object):
        one, other = np.array(values, dtype), np.array(others, dtype)
        for formula in (smaller, larger):
            expected = [formula(a, b) for a, b in zip(values, others, strict=True)]
            assert formula(one, other).tolist() == expected
            assert formula(one, 3).tolist() == [formula(a, 3) for a in values]
        assert floor(one / 2).tolist() == [floor(a / 2) for a in values] == [a // 2 for a in values]
        assert chosen(one > other, one, other).tolist() == [
            max(a, b) for a, b in zip(values, others, strict=True)
        ]
    assert (smaller(2**80, 2**81), larger(2**80, 2**81), floor(2.9)) == (2**80, 2**81, 2)
    assert type(floor(2.9)) is int
