"""The memory for what follows from deep immutable objects."""

import gc
from weakref import ref

import pytest
import yaml

from service.core.architecture.parse import parse
from service.core.engines import ENGINES
from service.core.identity import ByIdentity
from service.core.request import Request
from service.core.resolve import resolve
from service.core.size import size
from service.core.weights.weigh import weigh
from tests.published import ROOT
from tests.unit.factories import make_gpu, make_model


def test_equal_objects_are_told_apart_and_each_is_derived_once():
    calls: list[tuple[int, ...]] = []

    def total(source: tuple[int, ...]) -> int:
        calls.append(source)
        return sum(source)

    remembered = ByIdentity(total)
    one, other = tuple(range(3)), tuple(range(3))
    assert (remembered(one), remembered(other), remembered(one)) == (3, 3, 3)
    assert len(calls) == 2


def test_the_oldest_is_forgotten_beyond_the_capacity():
    calls: list[str] = []
    remembered = ByIdentity[str, None](calls.append, capacity=2)
    for source in ("a", "b", "c", "a"):
        remembered(source)
    assert calls == ["a", "b", "c", "a"]


class Source:
    """Something that can be referred to weakly, as architectures and weight tables can."""


def test_results_are_told_apart_by_what_else_they_depend_on():
    calls: list[int] = []

    def times(source: int, factor: int) -> int:
        calls.append(factor)
        return source * factor

    remembered = ByIdentity(times, each=2)
    number = 1000
    assert [remembered(number, factor) for factor in (2, 3, 2, 3)] == [2000, 3000, 2000, 3000]
    assert calls == [2, 3]
    remembered(number, 4)  # one more than `each`: all are forgotten
    assert (remembered(number, 2), calls) == (2000, [2, 3, 4, 2])


def test_a_source_is_not_kept_alive_by_its_results():
    remembered = ByIdentity(lambda source: type(source).__name__)
    source = Source()
    assert remembered(source) == "Source"
    alive = ref(source)
    del source
    assert alive() is None


@pytest.mark.parametrize("engine", ENGINES)
def test_a_posted_architecture_is_forgotten_with_its_request(engine: str):
    """No engine's memory outlives what it was asked about: configs come without end."""
    config = yaml.safe_load((ROOT / "config/models/qwen3-8b.yaml").read_text())["config"]
    described = make_model(architecture=parse(config), catalogued=False)
    size(resolve(Request(model=described, gpu=make_gpu(), engine=engine)))
    alive = ref(described.architecture)
    del described
    for _ in range(16):  # as many described models as weight tables are kept for
        weigh(make_model(architecture=parse(config), catalogued=False), "native")
    gc.collect()
    assert alive() is None
