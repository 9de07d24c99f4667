"""One question asked of many accelerators and formats at once: cells of a matrix, as rows show them.

Each cell is what a sizing of its own answers, in a hundredth of the time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from numpy.typing import NDArray

from service.catalog import Catalog
from service.core.arrays import NOTHING
from service.core.hardware import Gpu
from service.core.matrix.cells import Facts
from service.core.matrix.compute import compute
from service.core.matrix.question import Question
from service.core.matrix.result import CODES, SPEEDS, VERDICT, VERDICTS
from service.core.request import PARAMETERS, Request
from service.core.sizing import Verdict
from service.core.speed.result import Estimate
from service.errors import InvalidParameters

_AXES = frozenset({"quantization", "context_tokens"})
_TOTAL, _FULLEST, _USABLE = "total_bytes", "per_gpu_bytes", "usable_bytes"
_FITS, _TIGHT = CODES[Verdict.FITS], CODES[Verdict.TIGHT]
_SHOWN = (VERDICT, _TOTAL, _FULLEST, _USABLE, *SPEEDS)


@dataclass(frozen=True, slots=True)
class Cell:
    """What a row of a comparison shows. total: over all GPUs; fullest: of the one that holds most.

    usable: per GPU, None when the memory is not known. speed: of all sequences, None where it has none.
    """

    verdict: Verdict
    total: int
    fullest: int
    usable: int | None
    speed: Estimate | None

    @property
    def utilization(self) -> float | None:
        """Need divided by usable memory, per GPU."""
        return self.fullest / self.usable if self.usable else None


class Cells:
    """The cells of one request on these accelerators; in its own format where no formats are named."""

    def __init__(
        self, request: Request, catalog: Catalog, gpus: Sequence[Gpu], quantizations: Sequence[str] = ()
    ) -> None:
        question = Question(
            (request.model,),
            tuple(gpus),
            tuple(quantizations) or (request.quantization,),
            (request.context_tokens,),
            _values(request),
        )
        self._columns = _columns(question, Facts(catalog.speed, catalog.costs.offers))

    def at(self, gpu: int, quantization: int = 0) -> Cell | None:
        """The cell at these places of the axes; None where the request has no scenario there."""
        if self._columns is None:
            return None
        found = {name: column[gpu, quantization].item() for name, column in self._columns.items()}
        if found[_TOTAL] == NOTHING:
            return None
        low, estimate, high = (found[SPEEDS[place]] for place in (1, 0, 2))
        return Cell(
            verdict=VERDICTS[found[VERDICT]],
            total=found[_TOTAL],
            fullest=found[_FULLEST],
            usable=None if found[_USABLE] == NOTHING else found[_USABLE],
            speed=None if isnan(estimate) else Estimate(low, estimate, high),
        )

    def running(self, quantization: int = 0) -> list[bool]:
        """Whether each accelerator runs it in a format, tightly or not."""
        if self._columns is None:
            return []
        verdicts = self._columns[VERDICT][:, quantization]
        found: list[bool] = ((verdicts == _FITS) | (verdicts == _TIGHT)).tolist()
        return found


def _values(request: Request) -> dict[str, Any]:
    """The parameters that were given, but for those that are axes."""
    given = {name: getattr(request, name) for name in PARAMETERS if name not in _AXES}
    return {name: value for name, value in given.items() if value is not None}


def _columns(question: Question, facts: Facts) -> Mapping[str, NDArray[Any]] | None:
    """Each measure over accelerators and formats; None where no cell takes the parameters."""
    try:
        found = compute(question, facts).measures
    except InvalidParameters:
        return None
    return {name: found[name].over(question.shape)[0, :, :, 0] for name in _SHOWN}
