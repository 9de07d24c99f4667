"""The cells of an engine's rows: from its sheet to every measure, for all of its places and contexts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import NOTHING, Rates, Whole, as_number, saturated
from service.core.cost.facts import Offer
from service.core.cost.money import rounded
from service.core.cost.rent import rentals
from service.core.engines.broadcast import Offers
from service.core.engines.sheets import Flags, Places, Sheet
from service.core.identity import ByIdentity, Same
from service.core.matrix.batches import Batch
from service.core.matrix.fleets import Member
from service.core.matrix.planned import planned_sheet
from service.core.matrix.result import CODES, SPEEDS, VERDICT, blank
from service.core.matrix.rows import Tokens
from service.core.matrix.speeds import Speeds
from service.core.size import host_exceeds, is_tight, refuses_gpu, refuses_model, unified_bytes
from service.core.sizing import Verdict
from service.core.speed.constants import SpeedConstants

# Contexts times sequences times GPUs up to which 64 bits hold every sum: no catalog model keeps as much as
# 2**24 bytes a token.
_SAFE_TOKENS = 2**36
_TIGHT, _FITS = CODES[Verdict.TIGHT], CODES[Verdict.FITS]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a matrix looks up: the constants of the speed model, and prices."""

    speed: SpeedConstants
    offers: Sequence[Offer]


class _Prices:
    """The best offer for a number of each accelerator, looked up once."""

    def __init__(self, offers: Sequence[Offer]) -> None:
        self._offers = offers
        self._known: dict[tuple[str, float | None, int], float] = {}

    def of(self, member: Member, count: int) -> float:
        """USD per hour, NaN without an offer."""
        gpu = member.gpu
        key = gpu.id, gpu.usd_per_hour, count
        if key not in self._known:
            found = rentals(gpu, count, self._offers)
            self._known[key] = float(rounded(found[0].usd_per_hour)) if found else np.nan
        return self._known[key]


_prices: ByIdentity[Sequence[Offer], _Prices] = ByIdentity(_Prices, capacity=4)


@dataclass(frozen=True, slots=True)
class Figures:
    """Measures by name. by_row: rows x contexts, alike on all places; by_place: places x contexts."""

    by_row: Mapping[str, NDArray[Any]]
    by_place: Mapping[str, NDArray[Any]]


class Cells:
    """The measures of a batch at the possible contexts."""

    def __init__(self, batch: Batch, contexts: Sequence[int], tokens: Tokens, facts: Facts) -> None:
        self._batch, self._facts = batch, facts
        self._row, self._member = batch.row, batch.member
        self._contexts, self._tokens = contexts, tokens
        self._sheet = self._sheet_of()

    def figures(self) -> Figures:
        """Every measure."""
        sheet, verdicts = self._sheet, self._judge()
        terms = {f"{name}_bytes": term for name, term in sheet.terms.items()}
        total = sum(sheet.terms.values())
        rows = {"total_bytes": total, **terms, "per_gpu_bytes": sheet.fullest, "host_bytes": sheet.host}
        by_row = {name: saturated(figures) for name, figures in rows.items()}
        usable = np.where(sheet.usable == NOTHING, NOTHING, np.maximum(sheet.usable, 0))
        runs = (verdicts == _FITS) | (verdicts == _TIGHT)
        by_place = {VERDICT: verdicts, "usable_bytes": usable, "max_context_tokens": sheet.longest}
        for name, speeds in zip(SPEEDS, self._decode(), strict=True):
            by_place[name] = np.where(runs, speeds, np.nan)
        by_place["usd_per_hour"] = np.where(runs, self._prices()[:, None], np.nan)
        return self._whole(by_row, by_place)

    def _whole(self, by_row: Mapping[str, NDArray[Any]], by_place: Mapping[str, NDArray[Any]]) -> Figures:
        """Axes in their full length, and nothing but `unsupported` where a row has no scenario."""
        rows, contexts = len(self._batch.rows), len(self._contexts)
        missing = np.array([[one is None for one in row.at] for row in self._batch.rows], np.bool_)
        partial_rows = bool(missing.any())

        def whole(name: str, values: NDArray[Any], where: Flags) -> NDArray[Any]:
            shape = (rows if where is missing else len(self._row), contexts)
            found = values if values.shape == shape else np.broadcast_to(values, shape)
            return np.where(where, blank(name), found).astype(values.dtype) if partial_rows else found

        at_places = missing.take(self._row, axis=0)
        return Figures(
            {name: whole(name, values, missing) for name, values in by_row.items()},
            {name: whole(name, values, at_places) for name, values in by_place.items()},
        )

    def _sheet_of(self) -> Sheet:
        engine, rows, contexts = self._batch.arrays, self._batch.rows, self._contexts
        places = Places(self._row, self._offered())
        if engine is None:
            return planned_sheet(self._batch.engine, rows, len(contexts), places)
        first = rows[0].scenario
        longest = max(row.scenario.model.architecture.max_context_tokens for row in rows)
        most = max(longest, *contexts) * first.concurrent_sequences * first.gpu_count
        dtype: type = np.int64 if most <= _SAFE_TOKENS else object
        return engine.sheet(self._batch.cases, np.array(contexts, dtype), places)

    def _offered(self) -> Whole:
        """Bytes that the accelerator of each place offers; they follow from nothing else of a row."""
        engine: Offers | None = self._batch.arrays
        if engine is None:
            other = self._batch.engine
            if not isinstance(other, Offers):
                return np.full(len(self._member), NOTHING, np.int64)
            engine = other
        scenario = self._batch.rows[0].scenario

        def offered(member: Member) -> int:
            found = engine.offered(scenario, member.gpu, member.platform)
            return NOTHING if found is None else found

        return self._batch.figures(("offered", self._batch.settings), offered, np.int64)[self._member]

    def _judge(self) -> NDArray[np.int8]:
        """As `judge` has it, for all places at once."""
        sheet, usable = self._sheet, self._sheet.usable
        total = self._placed(saturated(sheet.fullest))
        usable = np.where(usable == NOTHING, NOTHING, np.maximum(usable, 0))
        tight = is_tight(as_number(total), as_number(usable))
        found = np.where(tight, _TIGHT, _FITS).astype(np.int8)
        found[total > usable] = CODES[Verdict.DOES_NOT_FIT]
        _mark(found, self._placed(self._short()) | sheet.crowded, Verdict.DOES_NOT_FIT)
        shared = self._unified()
        if (shared != NOTHING).any():
            beside = total + self._placed(saturated(sheet.host))
            _mark(found, (shared != NOTHING) & (beside > shared), Verdict.DOES_NOT_FIT)
        _mark(found, usable == NOTHING, Verdict.UNKNOWN)
        if not self._batch.engine.modelled:
            found[:] = CODES[Verdict.UNKNOWN]
        _mark(found, self._placed(sheet.refused), Verdict.UNSUPPORTED)
        _mark(found, self._unsupported()[:, None], Verdict.UNSUPPORTED)
        return found

    def _short(self) -> Flags:
        """Whether memory is missing beside that of the GPUs: the engine's own pools, system RAM."""
        sheet = self._sheet
        known = self._batch.rows[0].scenario.system_memory_gib
        return sheet.short if known is None else sheet.short | host_exceeds(as_number(sheet.host), known)

    def _unified(self) -> Whole:
        """Memory that the accelerator of each place shares with the system, NOTHING where it has its own."""

        def shared(member: Member) -> int:
            found = unified_bytes(member.gpu)
            return NOTHING if found is None else found

        return self._batch.figures("shared", shared, np.int64)[self._member][:, None]

    def _unsupported(self) -> Flags:
        """Whether the engine does not run the model, or not on this accelerator."""
        engine = self._batch.engine.id
        models = np.array([refuses_model(engine, row.scenario.model) for row in self._batch.rows], np.bool_)
        gpus = self._batch.figures("refused", lambda member: refuses_gpu(engine, member.gpu), np.bool_)
        found: Flags = models[self._row] | gpus[self._member]
        return found

    def _decode(self) -> Rates:
        """Decode speed does not follow from the context, only from the prompt and output that fit it."""
        possible = self._tokens.possible
        pairs = [(self._tokens.prompts[place], self._tokens.outputs[place]) for place in possible]
        distinct = list(dict.fromkeys(pairs))
        column = [distinct.index(pair) for pair in pairs]
        return Speeds(self._batch, distinct, self._facts.speed).decode().take(column, axis=2)

    def _prices(self) -> Rates:
        """Rent of the accelerators of each place by their best offer."""
        counts, of_row = np.unique([row.scenario.gpu_count for row in self._batch.rows], return_inverse=True)
        offers = self._facts.offers
        prices, key = _prices(offers), Same(offers)
        table = [
            self._batch.figures(("price", count, key), partial(prices.of, count=count), np.float64)
            for count in counts.tolist()
        ]
        found: Rates = np.array(table)[of_row[self._row], self._member]
        return found

    def _placed(self, by_row: NDArray[Any]) -> NDArray[Any]:
        """Figures of rows for their places."""
        return by_row if len(by_row) == 1 else by_row.take(self._row, axis=0)


def _mark(found: NDArray[np.int8], where: Flags, verdict: Verdict) -> None:
    """Set a verdict for places or cells."""
    if where.any():
        found[np.broadcast_to(where, found.shape)] = CODES[verdict]
