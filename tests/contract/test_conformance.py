"""The service answers what its OpenAPI document says, whatever schemathesis makes of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.api.openapi import build_document
from service.catalog import Catalog
from tests.contract.conformance import Conformance
from tests.contract.links import Walks
from tests.uploads import MEASUREMENTS

MODES = ("POSITIVE", "NEGATIVE", "KNOWN")
SAMPLE = 2  # of each operation and mode
LONG = 5_000
WALKS = 20


@pytest.fixture(scope="module")
def conformance(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    return Conformance(tmp_path_factory.mktemp("site"))


@pytest.mark.parametrize("mode", MODES)
def test_no_answer_is_undocumented(conformance: Conformance, mode: str) -> None:
    """No failure, and no status, content type, header or body that the document does not have."""
    for number, label in enumerate(conformance.operations):
        conformance.check(label, mode, SAMPLE, number)


def test_a_full_key_is_answered_as_documented(tmp_path: Path) -> None:
    """Where nothing more may wait for review, right submissions are refused as the document says."""
    full = Conformance(tmp_path, max_pending_per_key=2)  # one waits from the start
    full.check(f"POST {MEASUREMENTS}", "KNOWN", 10)
    assert full.seen.statuses[409]
    assert full.seen.statuses[201] <= 1


def lose_a_status(document: Any) -> None:
    del document["paths"]["/v1/gpus/{id}"]["get"]["responses"]["404"]


def lose_a_media_type(document: Any) -> None:
    del document["components"]["responses"]["Problem404"]["content"]["application/problem+json"]
    document["components"]["responses"]["Problem404"]["content"]["text/plain"] = {}


def mistake_a_field(document: Any) -> None:
    document["components"]["schemas"]["Problem"]["properties"]["status"] = {"type": "string"}


@pytest.mark.parametrize("change", [lose_a_status, lose_a_media_type, mistake_a_field])
def test_what_the_document_lacks_is_found(tmp_path: Path, change: Callable[[Any], None]) -> None:
    """The checks see a status, a media type and a type of a field that the document does not have."""
    with pytest.raises(AssertionError, match="Schemathesis found 1 distinct failure"):
        Conformance(tmp_path, change).check("GET /v1/gpus/{id}", "POSITIVE", SAMPLE)


def test_every_operation_is_asked(conformance: Conformance, catalog: Catalog) -> None:
    """The operations are those of the document, each once."""
    paths = build_document(catalog)["paths"]
    documented = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert set(conformance.operations) == documented


def test_links_lead_on(conformance: Conformance) -> None:
    """The links of the document lead from a submission to itself, its review and its history."""
    walks = Walks(conformance)
    walks.run(WALKS)
    found = {label for label, status in walks.came if status == 200}
    assert found >= {f"{method} {MEASUREMENTS}/{{id}}" for method in ("GET", "PATCH")}
    assert f"GET {MEASUREMENTS}/{{id}}/history" in found
    assert not [status for _, status in walks.came if status == 404], "a link leads nowhere"


@pytest.mark.soak
def test_no_answer_is_undocumented_in_thousands(conformance, capsys) -> None:
    """The same over 5,000 cases; prints what came back and the case with the most CPU time."""
    before = conformance.seen.cases
    share = 1 + LONG // (len(MODES) * len(conformance.operations))
    number = 1_000
    while conformance.seen.cases - before < LONG:
        for label in conformance.operations:
            for mode in MODES:
                conformance.check(label, mode, share, number := number + 1)
    Walks(conformance).run(10 * WALKS, 1)
    seen = conformance.seen
    with capsys.disabled():
        print(f"\nschemathesis: {seen.cases} cases, {dict(sorted(seen.statuses.items()))}")
        print(f"most CPU: {seen.cpu_seconds:.2f} s, {seen.worst}")
