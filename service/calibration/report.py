"""The error table: how far estimates of unseen groups lie from what was measured."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from service.calibration.baselines import active_bytes, whole_model
from service.calibration.intervals import Residuals, coverage, quantile
from service.calibration.observations import Observation, Quantity

BEGIN, END = "<!-- errors: made by `make evidence` -->", "<!-- end of errors -->"
_COLUMNS = "class | rows | groups | median % | P90 % | in interval % | bandwidth/size % | 72.5 % of active %"


def summary(
    residuals: Residuals, intervals: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """Rows, groups, median and P90 absolute error and interval coverage in percent, by class."""
    covered = coverage(residuals, intervals)
    classes: dict[str, Residuals] = defaultdict(list)
    for row, ratio in residuals:
        for name in _classes(row):
            classes[name].append((row, ratio))
    table = {}
    for name, members in sorted(classes.items()):
        inside = [_inside(row, ratio, intervals) for row, ratio in members if row.kind in intervals]
        table[name] = {
            "rows": len(members),
            "groups": len({row.group for row, _ in members}),
            **_errors(abs(1 / ratio - 1) for _, ratio in members),
            "covered": 100 * sum(inside) / len(inside) if inside else 0.0,
        }
    if "all" in covered:
        rows, part = covered["all"]
        table["all"] = {
            "rows": rows,
            "groups": len({row.group for row, _ in residuals}),
            "covered": 100 * part,
        }
    return table


def lines(residuals: Residuals, intervals: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """The table with the baselines beside it, one line for each class."""
    yield _COLUMNS
    for name, row in summary(residuals, intervals).items():
        members = [one for one, _ in residuals if name in _classes(one)]
        beside = " | ".join(_baseline(members, guess) for guess in (whole_model, active_bytes))
        errors = " | ".join(f"{row[key]:.1f}" if key in row else "" for key in ("median", "p90", "covered"))
        yield f"{name} | {row['rows']} | {row['groups']} | {errors} | {beside}"


def rewrite(page: Path, table: Iterable[str]) -> None:
    """Put a table's lines between the markers of a Markdown page."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    head, *rows = (f"| {' | '.join(cell.strip() for cell in line.split('|'))} |" for line in table)
    rule = "|" + "---|" * (head.count("|") - 1)
    page.write_text("\n".join((before + BEGIN, "", head, rule, *rows, "", END + after)), encoding="utf-8")


def _classes(row: Observation) -> tuple[str, ...]:
    """The class itself, its engine where several share it, and the sums that targets are set for."""
    found = [row.kind]
    if row.kind.endswith("serving"):
        found.append(f"{row.quantity} {row.run.engine}")
    elif row.quantity is Quantity.DECODE and row.run.sequences == 1:
        found.append("decode single stream")
    if row.quantity is Quantity.PREFILL:
        found.append("prefill")
    return tuple(found)


def _inside(row: Observation, ratio: float, intervals: Mapping[str, Mapping[str, float]]) -> bool:
    return intervals[row.kind]["low"] <= ratio <= intervals[row.kind]["high"]


def _errors(values: Iterable[float]) -> dict[str, float]:
    weighted = [(100 * value, 1.0) for value in values]
    return {"median": quantile(weighted, 0.5), "p90": quantile(weighted, 0.9)}


def _baseline(members: Iterable[Observation], guess: Callable[[Observation], float]) -> str:
    errors = [abs(guess(row) / row.value - 1) for row in members if row.quantity is Quantity.DECODE]
    return f"{_errors(errors)['median']:.1f}" if errors else ""
