"""What each section costs when nobody has asked for it: computing its data, and saying and showing them.

`python -m benchmarks.sections` prints CPU milliseconds.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from statistics import median
from typing import TypeVar

from service.catalog import Catalog, load_catalog
from service.core.request import Request
from service.core.resolve import resolve
from service.core.size import size
from service.core.sizing import Sizing
from service.errors import InvalidParameters
from service.i18n import voice
from service.render.fragments import SECTIONS, computed, shown
from service.render.registry import Subject
from service.settings import Settings

ABOUT = ("a model on GPUs", "a model", "a GPU")
SCENARIOS = 12
_LANGUAGE, _MEDIA_TYPE = "de", "text/html"
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Spent:
    """Median CPU seconds of a section over the scenarios."""

    computing: float
    showing: float

    @property
    def whole(self) -> float:
        """Both together."""
        return self.computing + self.showing


def measured(catalog: Catalog, scenarios: int = SCENARIOS) -> dict[tuple[str, str], Spent]:
    """(section, what it is about) -> what it takes, in HTML, the dearest first.

    Each scenario is asked once before at another context, so that weights and templates are known.
    """
    unseen = count(1)
    for sizing in _sizings(catalog, scenarios, unseen):
        for _ in _each(sizing, catalog):
            pass
    seen: dict[tuple[str, str], list[Spent]] = {}
    for sizing in _sizings(catalog, scenarios, unseen):
        for key, spent in _each(sizing, catalog):
            seen.setdefault(key, []).append(spent)
    found = {
        key: Spent(median(one.computing for one in times), median(one.showing for one in times))
        for key, times in seen.items()
    }
    return dict(sorted(found.items(), key=lambda item: -item[1].whole))


def _sizings(catalog: Catalog, wanted: int, unseen: Iterator[int]) -> Iterator[Sizing]:
    """Models and accelerators from all over the catalog, at contexts that nobody has asked for."""
    models, gpus = list(catalog.models.values()), list(catalog.gpus.values())
    made = 0
    for number in count():
        model, gpu = models[7 * number % len(models)], gpus[5 * number % len(gpus)]
        try:
            sizing = size(resolve(Request(model=model, gpu=gpu, context_tokens=8192 + next(unseen))))
        except InvalidParameters:
            continue
        yield sizing
        made += 1
        if made == wanted:
            return


def _each(sizing: Sizing, catalog: Catalog) -> Iterator[tuple[tuple[str, str], Spent]]:
    """Every section about the sizing, its model alone and its accelerator alone."""
    speaker = voice(_LANGUAGE)
    subjects: tuple[Subject, ...] = (sizing, sizing.scenario.model, sizing.scenario.gpu)
    for about, subject in zip(ABOUT, subjects, strict=True):
        for name, section in SECTIONS.items():
            if section.form(subject) is None:
                continue
            computing, data = _timed(lambda: computed(section, subject, catalog))  # noqa: B023 - called at once
            showing, _ = _timed(
                lambda: shown(speaker, section, subject, data, _MEDIA_TYPE)  # noqa: B023 - called at once
            )
            yield (name, about), Spent(computing, showing)


def _timed(work: Callable[[], Found]) -> tuple[float, Found]:
    """CPU seconds of a call, and what it gave."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def main() -> None:
    """Print CPU milliseconds of each section."""
    times: Mapping[tuple[str, str], Spent] = measured(load_catalog(Settings().config_path))
    for (name, about), spent in times.items():
        print(f"{name:18}{about:18}{1e3 * spent.computing:9.2f}{1e3 * spent.showing:9.2f} ms")


if __name__ == "__main__":
    main()
