"""The accuracy table: `python -m tests.evidence.report` prints it and rewrites docs/accuracy.md."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

from tests.evidence import llama_cpp, sglang, vllm
from tests.evidence.cases import Case, cases, logs
from tests.published import ROOT

ACCURACY = ROOT / "docs" / "accuracy.md"
BEGIN, END = "<!-- evidence: made by `make evidence` -->", "<!-- end of evidence -->"
UNITS = {"token bytes": "B", "pool tokens": "tokens", "longest context": "tokens"}


@dataclass(frozen=True)
class Score:
    """One figure of one log: printed by the engine, and computed here."""

    case: Case
    term: str
    reported: float
    computed: float

    @property
    def error(self) -> float:
        """Relative, positive when the computed figure is larger."""
        return self.computed / self.reported - 1

    @property
    def exact(self) -> bool:
        """Whether it is the printed figure but for the last digit that the log prints."""
        decimals = len(str(self.reported).partition(".")[2]) if isinstance(self.reported, float) else 0
        if str(self.reported).endswith(".0"):
            decimals = 0
        return bool(abs(self.computed - self.reported) <= 10.0**-decimals)


@cache
def scores() -> tuple[Score, ...]:
    """Every comparison of every log, in the order of the scenarios."""
    return tuple(Score(case, term, *_compare(case, term)) for case in cases() for term in case.compare)


def _compare(case: Case, term: str) -> tuple[float, float]:
    engines = {"vllm": vllm, "sglang": sglang}
    return engines.get(case.engine, llama_cpp).compare(case, term)


def by_term() -> dict[tuple[str, str], list[Score]]:
    """(engine, term) -> its scores."""
    found: dict[tuple[str, str], list[Score]] = defaultdict(list)
    for score in scores():
        found[score.case.engine, score.term].append(score)
    return dict(sorted(found.items()))


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %"


def table() -> Iterator[str]:
    """By engine and term: how many figures, the median and the worst error."""
    yield "| engine | figure | logs | median error | worst error | worst log |"
    yield "|---|---|---|---|---|---|"
    for (engine, term), found in by_term().items():
        worst = max(found, key=lambda score: abs(score.error))
        middle = median(abs(score.error) for score in found)
        where = "" if abs(worst.error) < 0.00005 else f"[{worst.case.id}]({_link(worst.case)})"
        errors = f"{_percent(middle)} | {_percent(abs(worst.error))}"
        yield f"| {engine} | {term} | {len(found)} | {errors} | {where} |"


def every() -> Iterator[str]:
    """Each log with its figures, computed beside printed."""
    yield "| log | of | engine | figure: computed (printed) |"
    yield "|---|---|---|---|"
    by_case: dict[str, list[Score]] = defaultdict(list)
    for score in scores():
        by_case[score.case.id].append(score)
    for case in cases():
        figures = "; ".join(_figure(score) for score in by_case[case.id]) or "none"
        yield f"| [{case.id}]({_link(case)}) | {case.log['date']} | {_version(case)} | {figures} |"


def _figure(score: Score) -> str:
    computed = f"{score.computed:,.0f}" if score.term in UNITS else f"{score.computed:,.2f}"
    reported = f"{score.reported:,.0f}" if score.term in UNITS else f"{score.reported:,.2f}"
    return f"{score.term} {computed} ({reported})"


def _version(case: Case) -> str:
    return " ".join(str(part) for part in (case.log["engine"], case.log.get("engine_version")) if part)


def _link(case: Case) -> str:
    source = str(case.log["source"])
    return source if source.startswith("http") else ""


def left_out() -> Iterator[str]:
    """What the logs print that is not compared, and why."""
    yield "| log | figure | why it is not compared |"
    yield "|---|---|---|"
    for case in cases():
        for term, reason in case.left_out.items():
            yield f"| {case.id} | {term} | {reason} |"


def section() -> str:
    """The generated part of the page, markers included."""
    compared = sum(1 for case in cases() if case.compare)
    parts = (
        BEGIN,
        f"{len(logs())} logs; {compared} of them give {len(scores())} figures to compare. Weights are what "
        '"Model loading took" counts; pool: the KV cache memory that the share of the GPU leaves. Units: '
        "B a token, tokens, GiB for vLLM and MiB for llama.cpp (GiB where the log prints GiB).",
        "\n".join(table()),
        "<details><summary>Every log</summary>",
        "\n".join(every()),
        "</details>",
        "<details><summary>Figures that are left out</summary>",
        "\n".join(left_out()),
        "</details>",
        END,
    )
    return "\n\n".join(parts)


def rewrite(page: Path = ACCURACY) -> bool:
    """Put the generated part between the markers; whether the page changed."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    fresh = before + section() + after
    if fresh != text:
        page.write_text(fresh, encoding="utf-8")
    return fresh != text


if __name__ == "__main__":
    print("\n".join(table()))
    changed = rewrite()
    print(f"{ACCURACY.relative_to(ROOT)} {'rewritten' if changed else 'is current'}")
