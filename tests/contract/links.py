"""Walks along the links of the OpenAPI document: from an answer to the operations that it leads to."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, Response

from tests.contract.conformance import Conformance
from tests.uploads import MEASUREMENTS, ROW

START = f"POST {MEASUREMENTS}"
_STATUSES = ("published", "rejected", "withdrawn")
_STEPS = 6


class Walks:
    """came: how often an operation came to a status by a link."""

    def __init__(self, conformance: Conformance) -> None:
        self._conformance = conformance
        self.came: Counter[tuple[str, int]] = Counter()
        self._labels = {
            operation.definition.raw["operationId"]: label
            for label, operation in conformance.operations.items()
        }
        self._cases = {
            label: operation.as_strategy()
            for label, operation in conformance.operations.items()
            if operation.path.startswith(MEASUREMENTS)
        }

    def run(self, count: int, number: int = 0) -> None:
        """So many walks, each from a submission of its own."""

        @seed(number)
        @settings(
            max_examples=count,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(self._cases[START], st.lists(self._step(), min_size=_STEPS, max_size=_STEPS))
        def walk(case: Case, steps: list[dict[str, Any]]) -> None:
            # All is drawn before anything is sent: what comes back must not decide what is drawn.
            case.query, case.body, case.media_type = {}, ROW, "application/json"
            answer = self._conformance.send(case, against=False)
            for step in steps:
                links = self._links(case, answer)
                if not links:
                    return
                name = sorted(links)[step["choice"] % len(links)]
                case, answer = self._follow(links[name], step)

        walk()

    def _step(self) -> st.SearchStrategy[dict[str, Any]]:
        """Which link to follow, whether with what is right, and a case of every operation to change."""
        drawn = {label: cases for label, cases in self._cases.items() if label != START}
        choice, right = st.integers(0, 5), st.booleans()
        return st.fixed_dictionaries(
            {"choice": choice, "right": right, "status": st.sampled_from(_STATUSES), **drawn}
        )

    def _links(self, case: Case, answer: Response) -> Mapping[str, Any]:
        """Of what came back: operation -> the values of its parameters."""
        stated = case.operation.definition.raw["responses"].get(str(answer.status_code), {})
        return {
            name: {
                "label": self._labels[link["operationId"]],
                "values": {p: _value(text, case, answer) for p, text in link["parameters"].items()},
            }
            for name, link in stated.get("links", {}).items()
        }

    def _follow(self, link: Mapping[str, Any], step: Mapping[str, Any]) -> tuple[Case, Response]:
        case: Case = step[link["label"]]
        case.path_parameters = link["values"]
        if step["right"]:
            case.query = {}
            if case.operation.method == "patch":
                case.headers, case.media_type = {"If-Match": "*"}, "application/json"
                case.body = {"status": step["status"]}
        answer = self._conformance.send(case, against=False)
        self.came[link["label"], answer.status_code] += 1
        return case, answer


def _value(expression: str, case: Case, answer: Response) -> Any:
    """A runtime expression of OpenAPI 3.1, of the two kinds that the document uses."""
    place, _, pointer = expression.partition("#")
    if place == "$response.body":
        found = answer.json()
        for step in pointer.split("/")[1:]:
            found = found[int(step) if isinstance(found, list) else step]
        return found
    kind, _, name = place.removeprefix("$request.").partition(".")
    assert kind == "path", expression
    return case.path_parameters[name]
