"""The memory for what follows from deep immutable objects."""

from service.core.identity import ByIdentity


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
