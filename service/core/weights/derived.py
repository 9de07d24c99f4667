"""What follows from the weights of a model, kept without the table it was made from."""

from collections.abc import Callable
from typing import Generic, TypeVar, TypeVarTuple

from service.core.catalogued import Model
from service.core.identity import ByIdentity
from service.core.weights.formats import Family
from service.core.weights.table import WeightTable
from service.core.weights.weigh import weigh

About = TypeVarTuple("About")
Derived = TypeVar("Derived")

_EACH = 512  # formats, with and without drafting layers and vision, in several layouts


class FromWeights(Generic[*About, Derived]):
    """A memory of `derive(model, weights, *about)` for every catalog model and format.

    Sums outlive their table, of which only so many are kept; they are forgotten with their model. A model
    that a caller described is derived anew each time.
    """

    def __init__(self, derive: Callable[[Model, WeightTable, *About], Derived]) -> None:
        self._derive = derive
        self._known: ByIdentity[Model, str, bool, bool, Family | None, tuple[*About], Derived]
        self._known = ByIdentity(self._of, each=_EACH)

    def __call__(
        self,
        model: Model,
        quantization: str,
        *about: *About,
        mtp: bool = False,
        vision: bool = False,
        family: Family | None = None,
    ) -> Derived:
        """The derived value; arguments as of `weigh`, and hashable values that it depends on too."""
        of = self._known if model.catalogued else self._of
        return of(model, quantization, mtp, vision, family, about)

    def _of(
        self,
        model: Model,
        quantization: str,
        mtp: bool,
        vision: bool,
        family: Family | None,
        about: tuple[*About],
    ) -> Derived:
        table = weigh(model, quantization, mtp=mtp, vision=vision, family=family)
        return self._derive(model, table, *about)
