"""What a matrix keeps for the next question: never a wrong figure, and nothing of facts that are gone."""

import gc
from dataclasses import replace
from weakref import ref

import pytest

from service.catalog import Catalog, load_catalog
from service.core.catalogued import Model
from service.core.engines import ENGINES
from service.core.hardware import Gpu
from service.core.identity import Same
from service.core.matrix.blocks import forget_questions
from service.core.matrix.cells import Facts
from service.core.matrix.compute import compute
from service.core.matrix.fleets import Fleet, Group
from service.core.matrix.question import Question
from service.core.speed.constants import Interval
from service.core.weights.weigh import forget_catalogued
from service.errors import InvalidParameters
from service.settings import Settings
from tests.unit.matrix_cells import OF_ENGINES, VALUES, check

MODELS = ("llama-3.1-8b-instruct", "gpt-oss-120b", "qwen3.5-35b-a3b")
GPUS = ("rtx-4090", "h100-80gb-sxm", "mac-studio-m4-ultra-256gb", "instinct-mi300x-192gb")
# One at a time, each to be told from the others; the last model has a tower, drafting layers and states.
ONE_BY_ONE = (
    {"vision": True},
    {"vision": False},
    {"speculative_tokens": 3},
    {"prefix_caching": False},
    {"cpu_offload_percent": 20},
    {"kv_cache_dtype": "q8_0", "kv_cache_dtype_v": "q8_0"},
    {"kv_cache_dtype": "q8_0", "kv_cache_dtype_v": "fp16"},
    {"kv_cache_dtype": "fp16", "kv_cache_dtype_v": "q8_0"},
    {"max_batched_tokens": 512},
)


@pytest.fixture(scope="module")
def facts(catalog: Catalog) -> Facts:
    return Facts(catalog.speed, catalog.costs.offers)


def some(catalog: Catalog) -> tuple[tuple[Model, ...], tuple[Gpu, ...]]:
    """A dense model and some with experts and states; a card, server GPUs and a Mac."""
    return tuple(catalog.models[name] for name in MODELS), tuple(catalog.gpus[name] for name in GPUS)


def test_contexts_that_are_no_whole_step_are_those_of_the_scalar_path(catalog: Catalog, facts: Facts):
    """llama.cpp's tables have a figure every 256 tokens: contexts between, at both ends, and beyond them."""
    models, gpus = some(catalog)
    for model in models:
        longest = model.architecture.max_context_tokens
        contexts = (1, 255, 256, 257, 511, 4097, longest - 1, longest, longest + 1, 3 * longest)
        for values in (
            {},
            {"concurrent_sequences": 3},
            {"concurrent_sequences": 7, "kv_cache_dtype": "q8_0"},
        ):
            question = Question(
                (model,), gpus[:1], contexts=contexts, values={"engine": "llama.cpp", **values}
            )
            assert check(facts, question) == len(contexts)
        # The table reaches as far as the model was made for; here every context is found in it.
        assert check(facts, Question((model,), gpus, contexts=contexts[:8])) == 8 * len(gpus)


def test_a_question_is_answered_alike_whatever_was_asked_before(catalog: Catalog, facts: Facts):
    """Formats, contexts and settings one after the other, each on what the others left."""
    models, gpus = some(catalog)
    formats = ("native", "q4_k_m", "q8_0", "mxfp4", None)
    for first, context in enumerate((4096, 300, 70_000, 4096)):
        for values in ({}, {"gpu_count": 2}, {"reserved_memory_bytes": 2**33}, {"concurrent_sequences": 9}):
            question = Question(models, gpus, formats[first:] + formats[:first], (context,), values)
            assert check(facts, question) > 0


@pytest.mark.parametrize("engine", ENGINES)
def test_no_setting_is_taken_for_another(catalog: Catalog, facts: Facts, engine: str):
    """Models on the same accelerators in the same formats, with every setting after every other, twice."""
    models, gpus = some(catalog)
    formats = (None, min(ENGINES[engine].formats - {ENGINES[engine].default_format}))
    settings = (*VALUES, *OF_ENGINES[engine], *ONE_BY_ONE)
    scenarios = 0
    for model, asked in ((models[0], settings), (models[-1], ONE_BY_ONE)):
        for values in (*asked, *reversed(asked)):
            question = Question((model,), gpus, formats, (16_384,), {"engine": engine, **values})
            scenarios += check(facts, question)
    assert scenarios > 100


def test_other_facts_of_the_same_names_are_looked_up_anew(catalog: Catalog, facts: Facts):
    """A catalog that was read anew: another memory, rate, rent, pace, spread and support of the same ids."""
    models, gpus = some(catalog)
    formats, contexts = ("native", "q4_k_m"), (8192, 32_768)
    before = compute(Question(models, gpus, formats, contexts), facts)
    others = tuple(
        replace(gpu, memory_bytes=3 * (gpu.memory_bytes or 0) // 4, memory_bandwidth_gbs=333.0)
        for gpu in gpus
    )
    without = tuple(replace(model, support={}, published_files={}) for model in models)
    spread = {
        name: Interval(one.low / 2, one.high * 2, one.rows) for name, one in facts.speed.intervals.items()
    }
    slower = {name: replace(one, layer_us=900.0) for name, one in facts.speed.runtimes.items()}
    cheap = tuple(replace(offer, usd_per_hour=offer.usd_per_hour * 3) for offer in facts.offers)
    known = Facts(replace(facts.speed, intervals=spread, runtimes=slower), cheap)
    for question, told in (
        (Question(models, others, formats, contexts), facts),
        (Question(without, gpus, formats, contexts), facts),
        (Question(models, gpus, formats, contexts), known),
        (Question(models, gpus, formats, contexts), facts),
    ):
        assert check(told, question) > 0
    after = compute(Question(models, gpus, formats, contexts), known)
    for name in ("decode_tokens_per_second", "decode_tokens_per_second_low", "usd_per_hour"):
        assert before.measures[name].listed() != after.measures[name].listed()


def test_nothing_is_kept_of_a_catalog_that_is_gone(facts: Facts):
    """What a reload forgets, and the rest that hangs on it: no model and no accelerator lives on."""
    catalog = load_catalog(Settings().config_path)
    models, gpus = some(catalog)
    for engine in ("llama.cpp", "vllm", "mlx", "ollama"):
        compute(Question(models, gpus, ("q4_k_m", "native"), values={"engine": engine}), facts)
    held = [ref(model) for model in models]
    del catalog, models, gpus
    forget_catalogued()
    forget_questions()
    gc.collect()
    assert [one() for one in held] == [None] * len(held)


def test_tokens_beyond_their_range_are_the_fault_of_the_question(catalog: Catalog, facts: Facts):
    """A scenario that is kept says nothing of tokens, so they are checked apart: 1 to 2**24."""
    models, gpus = some(catalog)
    for contexts, values in (
        ((2**24 + 1,), {}),
        ((8192,), {"prompt_tokens": 0}),
        ((8192,), {"prompt_tokens": 8193}),
    ):
        with pytest.raises(InvalidParameters):
            compute(Question(models, gpus, contexts=contexts, values=values), facts)
    half = compute(Question(models, gpus, contexts=(8192, 2**24 + 1)), facts)
    told = half.measures["total_bytes"].listed()
    assert told[1::2] == [None] * (len(told) // 2)
    assert None not in told[::2]


def test_figures_of_a_fleet_are_looked_up_once_and_bounded(catalog: Catalog):
    """By name; objects in a name are themselves, not what they equal."""
    fleet, asked = Fleet((Group("llama.cpp", ()),)), []
    one, equal = [1], [1]

    def figure(name: object) -> list[object]:
        return fleet.kept(name, lambda: asked.append(name) or [name])  # type: ignore[func-returns-value]

    assert figure(("price", Same(one))) is figure(("price", Same(one)))
    assert figure(("price", Same(equal))) is not figure(("price", Same(one)))
    assert len(asked) == 2
    for number in range(2000):
        figure(number)
    assert len(fleet._kept) <= 256
