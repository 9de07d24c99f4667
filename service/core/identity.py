"""Memory for what follows from immutable objects that are too deep to hash on every call."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Source = TypeVar("Source")
Derived = TypeVar("Derived")


class ByIdentity(Generic[Source, Derived]):
    """A bounded memory of `derive(source)`, keyed by the identity of the source.

    The source is kept alive beside its result, so an identity is never reused while it is remembered.
    """

    def __init__(self, derive: Callable[[Source], Derived], capacity: int = 1024) -> None:
        self._derive = derive
        self._capacity = capacity
        self._known: OrderedDict[int, tuple[Source, Derived]] = OrderedDict()

    def __call__(self, source: Source) -> Derived:
        """The derived value, computed once while the source is remembered."""
        known = self._known.get(id(source))
        if known is not None:
            return known[1]
        derived = self._derive(source)
        self._known[id(source)] = (source, derived)
        if len(self._known) > self._capacity:
            self._known.popitem(last=False)
        return derived
