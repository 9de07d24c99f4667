"""An API key whose measurements nobody reviews comes to an end, and is told so in a problem of its own."""

import pytest

from tests.contract.test_problems import problem
from tests.uploads import MEASUREMENTS, ROW, Site

LIMIT = 3
TYPE = "too-many-pending"


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path, max_pending_per_key=LIMIT)


def test_a_key_that_is_full_is_told_the_numbers(site):
    """A batch that does not fit is refused as a whole, with the numbers for people and programs."""
    site.stored()
    site.stored()
    found = problem(site.submit(ROW, ROW), 409, TYPE)
    assert {name: found[name] for name in ("limit", "pending", "submitted")} == {
        "limit": 3,
        "pending": 2,
        "submitted": 2,
    }
    assert "at most 3. Waiting now: 2; in this request: 2." in found["detail"]
    assert "key" not in found
    assert len(site.listed(site.reviewer, status="pending")) == 2
    site.stored()
    assert problem(site.submit(ROW), 409, TYPE)["pending"] == 3


def test_a_csv_that_does_not_fit_is_refused(site):
    """The limit is the key's, not that of a representation; no time is named, for none makes room."""
    text = "model,gpu,decode_tokens_per_second\n" + "qwen3-8b,rtx-4090,100\n" * 4
    answer = site.client.post(MEASUREMENTS, data=text, content_type="text/csv", headers=site.submitter)
    assert problem(answer, 409, TYPE)["submitted"] == 4
    assert "Retry-After" not in answer.headers
    assert site.listed(site.reviewer, status="pending") == []


@pytest.mark.parametrize(
    ("lang", "numbers"),
    [
        ("en", "at most 3. Waiting now: 3; in this request: 1."),
        ("de", "höchstens 3 Messungen"),
        ("zh", "最多可有 3 条待审核"),
    ],
)
def test_the_refusal_speaks_the_language(site, lang, numbers):
    for _ in range(LIMIT):
        site.stored()
    answer = site.client.post(f"{MEASUREMENTS}?lang={lang}", json=ROW, headers=site.submitter)
    assert numbers in problem(answer, 409, TYPE)["detail"]


def test_a_repetition_has_its_answer_where_there_is_no_room(site):
    """The stored answer comes back, also where something new is refused under another name."""
    first = site.submit(ROW, ROW, ROW, headers={"Idempotency-Key": "run-1"})
    again = site.submit(ROW, ROW, ROW, headers={"Idempotency-Key": "run-1"})
    assert (first.status_code, again.status_code, again.data) == (201, 201, first.data)
    assert again.headers["Idempotency-Replayed"] == "true"
    problem(site.submit(ROW, headers={"Idempotency-Key": "run-2"}), 409, TYPE)
    assert site.review(first.json["ids"][0], "rejected").status_code == 200
    answer = site.submit(ROW, headers={"Idempotency-Key": "run-2"})  # the refusal did not take the name
    assert (answer.status_code, "Idempotency-Replayed" in answer.headers) == (201, False)


@pytest.mark.parametrize("status", ["published", "rejected", "withdrawn"])
def test_a_review_makes_room(site, status):
    names = [site.stored() for _ in range(LIMIT)]
    problem(site.submit(ROW), 409, TYPE)
    assert site.review(names[0], status).status_code == 200
    site.stored()
    problem(site.submit(ROW), 409, TYPE)


def test_the_document_has_the_refusal(site):
    """The POST states 409, and the problem's schema its numbers."""
    document = site.client.get("/openapi.json").json
    assert "409" in document["paths"][MEASUREMENTS]["post"]["responses"]
    assert TYPE in document["components"]["responses"]["Problem409"]["description"]
    members = document["components"]["schemas"]["Problem"]["properties"]
    assert {"limit", "pending", "submitted"} <= set(members)
