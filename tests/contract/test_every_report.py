"""Reports of every model and of random scenarios in every language: complete, translated, of one mind."""

import json
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import pytest

from service.catalog import Catalog
from service.core.catalogued import Model
from service.core.request import Request
from service.core.resolve import resolve
from service.core.size import size
from service.core.sizing import Sizing
from service.core.weights.formats import FORMATS
from service.errors import SizingError
from service.i18n import LANGUAGES
from service.render.fragments import render
from service.render.report import sections
from tests.contract import reading

SEED = 20261130
SOME, ALL = 30, 200  # random scenarios: of every run, and of a soak
TAGS = tuple(LANGUAGES)
Kinds = tuple[str, ...]
SHORT = ("application/json", "text/html")
ALL_KINDS = (*SHORT, "text/markdown")
_CHOICES: dict[str, tuple[Any, ...]] = {
    "gpu_count": (None, None, 1, 2, 4, 8, 16),
    "engine": (None, None, "llama.cpp", "vllm", "sglang", "tensorrt-llm", "mlx", "ollama"),
    "quantization": (None, None, "q4_k_m", "native", "q8_0", "fp8", "awq-int4"),
    "context_tokens": (None, 4096, 32768, 100_000, 131_072),
    "concurrent_sequences": (None, 1, 3, 16, 64),
    "hours_per_day": (None, 1.0, 7.5, 24.0),
    "cpu_offload_percent": (None, None, None, 50.0),
}


def random_scenarios(catalog: Catalog, count: int) -> Iterator[Sizing]:
    """Scenarios that the service sizes, the same in every run; models and GPUs of each equally often."""
    draw = Random(SEED)
    models, gpus = sorted(catalog.models), sorted(catalog.gpus)
    found = 0
    while found < count:
        given = {name: draw.choice(values) for name, values in _CHOICES.items()}
        given = {name: value for name, value in given.items() if value is not None}
        model, gpu = catalog.models[draw.choice(models)], catalog.gpus[draw.choice(gpus)]
        try:
            sizing = size(resolve(Request(model=model, gpu=gpu, **given)))
        except SizingError:  # a combination that the service refuses
            continue
        found += 1
        yield sizing


def faults(
    catalog: Catalog, name: str, tag: str, written: dict[str, str], answer: dict[str, Any]
) -> Iterator[str]:
    """What is wrong with one section in one language."""
    texts = reading.pieces(written["text/html"])
    if not (answer["sentences"] or answer.get("rows")):
        yield f"{tag} {name} says nothing"
    known = {*FORMATS, *(dtype for engine in catalog.engines.values() for dtype in engine.kv_cache_dtypes)}
    for fault in (*reading.numbers_not_in(answer, texts, tag), *sorted(reading.codes(texts, known))):
        yield f"{tag} {name}: {fault}"
    for kind, text in written.items():
        yield from (f"{tag} {name}, {kind}: {leak}" for leak in reading.leaks(text, tag))


def check(catalog: Catalog, tag: str, sizing: Sizing | None, alone: Model | None, kinds: Kinds) -> list[str]:
    """Everything that is wrong with a report."""
    found: list[str] = []
    answers = []
    for name in sections(with_gpu=sizing is not None):
        written = {kind: render(name, sizing, catalog, tag, kind, alone).decode() for kind in kinds}
        answers.append(json.loads(written["application/json"]))
        found += faults(catalog, name, tag, written, answers[-1])
    return found + list(reading.disagreements(answers))


def described(sizing: Sizing) -> str:
    scenario = sizing.scenario
    return f"{scenario.gpu_count} x {scenario.gpu.id}, {scenario.model.id}, {scenario.engine}"


def wrong_scenarios(catalog: Catalog, tag: str, sizings: Iterable[Sizing], kinds: Kinds) -> dict[str, Any]:
    found = ((described(sizing), check(catalog, tag, sizing, None, kinds)) for sizing in sizings)
    return {name: faults for name, faults in found if faults}


def wrong_models(catalog: Catalog, tag: str, models: Iterable[Model], kinds: Kinds) -> dict[str, Any]:
    found = ((model.id, check(catalog, tag, None, model, kinds)) for model in models)
    return {name: faults for name, faults in found if faults}


@pytest.mark.parametrize("tag", LANGUAGES)
def test_reports_of_some_scenarios(catalog: Catalog, tag: str):
    """Random models on random GPUs, each in one language."""
    sizings = list(random_scenarios(catalog, SOME))[TAGS.index(tag) :: len(TAGS)]
    assert wrong_scenarios(catalog, tag, sizings, SHORT) == {}


@pytest.mark.parametrize("tag", LANGUAGES)
def test_reports_of_all_models(catalog: Catalog, tag: str):
    """Each model alone, in one language."""
    models = [*catalog.models.values()][TAGS.index(tag) :: len(TAGS)]
    assert wrong_models(catalog, tag, models, SHORT) == {}


@pytest.mark.soak
@pytest.mark.parametrize("tag", LANGUAGES)
def test_reports_of_many_scenarios(catalog: Catalog, tag: str):
    """Two hundred scenarios in each language."""
    assert wrong_scenarios(catalog, tag, random_scenarios(catalog, ALL), ALL_KINDS) == {}


@pytest.mark.soak
@pytest.mark.parametrize("tag", LANGUAGES)
def test_reports_of_all_models_in_every_language(catalog: Catalog, tag: str):
    """Each model alone, in each language."""
    assert wrong_models(catalog, tag, catalog.models.values(), ALL_KINDS) == {}


def test_the_reader_finds_what_is_wrong():
    """A number of another place, a placeholder, an English sentence, a code and two opinions are found."""
    answer = {"total": {"bytes": 1566 * 2**30}, "name": "RTX 4090"}
    assert [*reading.numbers_not_in(answer, ["1.566,00 GiB auf RTX 4090"], "de")] == []
    assert [*reading.numbers_not_in(answer, ["1,566.00 GiB", "1,567.00 GiB"], "en")] == [
        "1,567.00 in '1,567.00 GiB'"
    ]
    assert [*reading.leaks("%(total)s GiB", "en")] == ["%(total)"]
    assert [*reading.leaks("The size of the weights in this format is not known.", "de")] != []
    assert reading.codes(["price_stale", "q4_k_m", "a b_c"], {"q4_k_m"}) == {"price_stale"}
    parts = [{"section": "a", "gpu_count": 1}, {"section": "b", "gpu_count": 2}]
    assert [*reading.disagreements(parts)] == ["gpu_count: a says 1, b says 2"]
