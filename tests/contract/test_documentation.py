"""What a user can meet is written down: settings, addresses, sections, problems, commands."""

import re
from dataclasses import fields
from pathlib import Path

from service.api.problems import STATUSES
from service.render.registry import SECTIONS
from service.settings import Settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
OPERATION = (ROOT / "docs/operations.md").read_text()


def test_every_setting_is_documented():
    """A field of Settings is an environment variable; the folder of metrics has Prometheus's own name."""
    variables = {field.name.upper() for field in fields(Settings)} - {"METRICS_PATH"}
    first_cells = re.findall(r"^\| (`[A-Z][^|]*) \|", OPERATION, re.M)
    documented = {name for cell in first_cells for name in re.findall(r"`([A-Z][A-Z_]+)`", cell)}
    files = {name for name in documented if name.endswith("_FILE")} - variables
    assert documented - files == variables | {"PROMETHEUS_MULTIPROC_DIR"}
    # What holds a password is left out of the text of the settings, and can come from a file.
    secrets = {field.name.upper() for field in fields(Settings) if not field.repr}
    assert files == {f"{name}_FILE" for name in secrets}


def test_documented_defaults_are_the_defaults():
    """Each documented number is the value that is used when the variable is unset."""
    rows = re.findall(r"^\| `([A-Z_]+)` \| `(\d+)` \|", OPERATION, re.M)
    assert len(rows) >= 8
    for name, default in rows:
        assert getattr(Settings(), name.lower()) == int(default), name


def test_every_address_is_in_the_readme(app):
    """Everything below /v1, the documents and the probes; assets are found through the pages."""
    documented = {re.sub(r"\{\w+\}", "{}", path) for path in re.findall(r"`(/[^`]*)`", README)}
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith("/assets/") or "<any" in rule.rule or rule.rule == "/":
            continue
        assert re.sub(r"<[^>]+>", "{}", rule.rule) in documented, rule.rule


def test_every_section_is_documented():
    text = (ROOT / "docs/fragments.md").read_text()
    for section in SECTIONS:
        assert f"`{section}`" in text, section


def test_every_problem_type_is_documented_with_its_status():
    text = (ROOT / "docs/problems.md").read_text()
    rows = dict(re.findall(r"^\| `/problems/([a-z-]+)` \| (\d+) \|", text, re.M))
    assert {slug: str(status) for slug, status in STATUSES.items()} == rows


def test_every_target_of_the_makefile_explains_itself():
    text = (ROOT / "Makefile").read_text()
    phony = set(re.search(r"^\.PHONY: (.*)$", text, re.M)[1].split())
    explained = set(re.findall(r"^([a-z0-9-]+):[^#\n]*## \S", text, re.M))
    assert phony == explained


def test_every_decision_record_is_numbered_once():
    numbers = sorted(path.name[:4] for path in (ROOT / "docs/adr").glob("*.md"))
    assert numbers == [f"{n:04}" for n in range(1, len(numbers) + 1)]


def test_links_of_the_readme_lead_somewhere():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
