"""Every dependency has a reason, and nothing is pinned without being wanted."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=~ ;]", requirement)[0].lower() for requirement in requirements}


def test_every_dependency_has_a_reason():
    """Names of the table in the decision record = direct dependencies of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = names(project["dependencies"]) | names(project["optional-dependencies"]["dev"])
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs/adr/0001-dependencies.md").read_text(), re.M)
    reasons = {name.strip().lower() for row in rows for name in row.split(",")} - {"library", "---"}
    assert wanted == reasons


def test_every_pin_has_a_hash_and_no_address():
    """No commit names where packages come from; every version is exact and hashed."""
    for file in ("requirements.txt", "requirements-dev.txt"):
        text = (ROOT / file).read_text()
        assert "://" not in text
        pins = re.findall(r"^([\w.-]+)==\S+", text, re.M)
        assert len(pins) >= 15
        assert len(re.findall(r"^[\w.-]+", text, re.M)) == len(pins)
        blocks = re.split(r"^(?=[\w.-]+==)", text, flags=re.M)[1:]
        assert all("--hash=sha256:" in block for block in blocks)


def test_what_the_container_holds_is_what_the_tests_ran_with():
    """A pin of requirements.txt is the same in requirements-dev.txt."""
    pattern = re.compile(r"^([\w.-]+==\S+)", re.M)
    served = set(pattern.findall((ROOT / "requirements.txt").read_text()))
    tested = set(pattern.findall((ROOT / "requirements-dev.txt").read_text()))
    assert served <= tested
