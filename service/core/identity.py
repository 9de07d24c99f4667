"""Memory for what follows from immutable objects that are too deep to hash on every call."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar, TypeVarTuple
from weakref import ref

Source = TypeVar("Source")
About = TypeVarTuple("About")
Derived = TypeVar("Derived")


class ByIdentity(Generic[Source, *About, Derived]):
    """A bounded memory of `derive(source, *about)`, keyed by the identity of the source.

    about: hashable values on which the result depends too. capacity: sources, the oldest forgotten first;
    each: results of one source, forgotten together when there would be more.
    A source that allows weak references is forgotten when nothing else holds it, so that the architecture of
    a posted config does not outlive its request; no result may hold its source. Any other source is kept
    alive beside its results. So an identity is never reused while it is remembered.
    """

    def __init__(
        self, derive: Callable[[Source, *About], Derived], capacity: int = 1024, each: int = 64
    ) -> None:
        self._derive = derive
        self._capacity, self._each = capacity, each
        self._known: OrderedDict[int, tuple[object, dict[Hashable, Derived]]] = OrderedDict()

    def __call__(self, source: Source, *about: *About) -> Derived:
        """The derived value, computed once while the source is remembered."""
        known = self._known.get(id(source))
        results = self._results_of(source) if known is None else known[1]
        try:
            return results[about]
        except KeyError:
            derived = self._derive(source, *about)
        if len(results) >= self._each:
            results.clear()
        results[about] = derived
        return derived

    def _results_of(self, source: Source) -> dict[Hashable, Derived]:
        """A place for the results of a source that was not known."""
        key, results = id(source), dict[Hashable, Derived]()
        try:
            held: object = ref(source, lambda _: self._known.pop(key, None))
        except TypeError:
            held = source
        self._known[key] = (held, results)
        if len(self._known) > self._capacity:
            self._known.popitem(last=False)
        return results


class Same:
    """Objects as a key: equal only to the same objects in the same order, which it keeps alive."""

    __slots__ = ("_hash", "objects")

    def __init__(self, *objects: object) -> None:
        self.objects = objects
        self._hash = hash(tuple(map(id, objects)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and list(map(id, self.objects)) == list(map(id, other.objects))

    def __hash__(self) -> int:
        return self._hash
