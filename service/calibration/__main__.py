"""`python -m service.calibration [--check]`: fit, judge, and write config/speed.yaml.

With --check no constants are written; only the fold that is never learnt from is judged, by constants and
intervals that come from the other folds alone. Both put the error table into docs/speed.md.
"""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from service.calibration.fit import Facts
from service.calibration.intervals import Residuals, held_out, intervals, judged, user_interval
from service.calibration.observations import FOLDS, Observation, observations
from service.calibration.report import lines, rewrite, summary
from service.calibration.start import calibrate
from service.catalog import load_catalog
from service.core.speed.constants import USER_REPORTED

_ROOT = Path(__file__).resolve().parents[2]
_CONFIG, _PAGE = _ROOT / "config", _ROOT / "docs" / "speed.md"
_HEAD = """\
# Constants of the speed model. Written by `make calibrate` from config/measurements/; do not edit by hand.
# low / high: P10 and P90 of measured / estimated, each row judged with and without its (model, GPU) pair,
# moved out until a tenth of the rows of a pair lies beyond each end that the other pairs alone would give.
# errors: of the held-out fold (sha1(model + gpu) mod 5 = 0), constants and intervals from the other four.
"""
_DIGITS = 4
_SOURCES = (
    "fitted to the benchmark rows of config/measurements/ (sources there) by service/calibration",
    "host_expert_efficiency, host_dense_efficiency: 42 public reports of KTransformers, llama.cpp and "
    "ik_llama.cpp with weights in system RAM, not fitted",
)


def main(arguments: Sequence[str] = ()) -> int:
    """Calibrate from the repository's own measurements."""
    rows = list(observations(load_catalog(_CONFIG)))
    residuals, found = strict_check(rows)
    table = [*lines(residuals, found)]
    print("\n".join(table))
    rewrite(_PAGE, table)
    if "--check" not in arguments:
        facts = final(rows, summary(residuals, found))
        text = _HEAD + yaml.safe_dump(rounded(facts), sort_keys=False, width=110, default_flow_style=False)
        (_CONFIG / "speed.yaml").write_text(text, encoding="utf-8")
    return 0


def strict_check(rows: Sequence[Observation]) -> tuple[Residuals, dict[str, dict[str, float]]]:
    """Residuals of fold 0 and the intervals to hold them against, neither of which has seen fold 0."""
    learnt = [row for row in rows if row.fold != 0]
    facts = calibrate(learnt)
    found = intervals(held_out(learnt, range(1, FOLDS)), judged(facts, learnt))
    return judged(facts, [row for row in rows if row.fold == 0]), found


def final(rows: Sequence[Observation], errors: dict[str, dict[str, float]]) -> Facts:
    """Constants of all rows, intervals of every fold in turn, and the errors that were found."""
    facts = calibrate(rows)
    facts["as_of"] = datetime.now(UTC).date().isoformat()
    facts["intervals"] = intervals(held_out(rows, range(FOLDS)), judged(facts, rows))
    facts["intervals"][USER_REPORTED] = user_interval(facts, rows)
    facts["errors"] = errors
    facts["sources"] = list(_SOURCES)
    return facts


def rounded(value: Any) -> Any:
    """The same facts with four significant digits."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
