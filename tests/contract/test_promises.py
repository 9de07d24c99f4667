"""What is promised to operators is kept by tests that exist: a promise without one fails here."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("docs/operations.md", "docs/security.md")
# At the end of an item: its tests in parentheses, each as `file::test`, with commas between.
KEPT_BY = re.compile(r" \(((?:`tests/[\w/]+\.py::test_\w+`(?:, )?)+)\)$")


def promises(text: str) -> list[str]:
    """Every item of a list; an item goes on until the next one or an empty line."""
    return [
        " ".join(part.strip() for part in item.splitlines())
        for item in re.findall(r"^[-*+] (.+(?:\n(?![-*+] |\n|#|\|).+)*)", text, re.M)
    ]


def named_tests(promise: str) -> list[str]:
    found = KEPT_BY.search(promise)
    return re.findall(r"`([^`]+)`", found[1]) if found else []


@cache
def runnable(file: str) -> frozenset[str]:
    """The tests that pytest would run in a file, but for those that are never run."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    run = [node for node in functions if not any(_never(mark) for mark in node.decorator_list)]
    return frozenset(node.name for node in run if node.name.startswith("test_"))


def _never(mark: ast.expr) -> bool:
    return re.match(r"pytest\.mark\.(skip|xfail)\b", ast.unparse(mark)) is not None


def faults(text: str) -> list[str]:
    """What is wrong with the promises of a text."""
    wrong = []
    for promise in promises(text):
        named = named_tests(promise)
        if not named:
            wrong.append(f"no test: {promise}")
        for node in named:
            file, _, name = node.partition("::")
            if not (ROOT / file).is_file() or name not in runnable(file):
                wrong.append(f"no such test: {node}")
    return wrong


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_promise_has_its_tests(document):
    """Each item of the document ends with tests, and each of them is there and is run."""
    text = (ROOT / document).read_text(encoding="utf-8")
    assert len(promises(text)) > 20
    assert faults(text) == []


@pytest.mark.parametrize(
    "item",
    [
        "It never fails.",
        "It never fails. (`tests/contract/test_promises.py`)",
        "It never fails. (`tests/contract/test_promises.py::test_that_is_not_there`)",
        "It never fails. (`tests/contract/no_such_file.py::test_every_promise_has_its_tests`)",
        "It never fails. (`tests/contract/test_promises.py::promises`)",
        "It never fails. (`tests/contract/test_promises.py::test_every_promise_has_its_tests`) Nearly.",
    ],
)
def test_a_promise_without_a_test_is_found(item):
    """A list item without a test at its end, or with one that is not there, is a fault."""
    assert faults(f"# Title\n\n- {item}\n")
    assert faults(f"# Title\n\n- {item}\n  and goes on\n")


def test_a_kept_promise_is_no_fault():
    """An item may go on over lines, and name several tests."""
    node = "`tests/contract/test_promises.py::test_a_kept_promise_is_no_fault`"
    assert faults(f"- It never\n  fails. ({node}, {node})\n\nA sentence.\n") == []


def test_the_readme_leads_to_the_promises():
    """Who runs the service finds what is promised."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for document in DOCUMENTS:
        assert f"({document})" in text, document
