"""Submissions by someone who means ill, or by a broken tool: refused by name, or stored as what they say."""

import gzip
import json

import pytest

from service.api.row_names import MOST_SUGGESTED
from service.catalog.names import Names
from service.measurements.keys import Scope
from tests.contract.test_uploads import faults, problem
from tests.uploads import MEASUREMENTS, ROW, Site, bearer, new_key

JSON, CSV = "application/json", "text/csv"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return Site(tmp_path_factory.mktemp("site"))


def post(site, body, kind=JSON, **headers):
    sent = {**site.submitter, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return site.client.post(MEASUREMENTS, data=body, content_type=kind, headers=sent)


def pending(site):
    return len(site.listed(site.reviewer, status="pending"))


def with_note(text):
    """A row whose note is that text, escaped as it stands."""
    return json.dumps({**ROW, "note": "@"}).replace('"@"', f'"{text}"').encode()


def csv_of(**changed):
    """A CSV of one row; a changed cell stands in it as it is given."""
    row = {name: f'"{value}"' if "\n" in str(value) else str(value) for name, value in ROW.items()}
    row.update(changed)
    return f"{','.join(row)}\r\n{','.join(row.values())}\r\n".encode("utf-8", "surrogatepass")


def test_a_replay_is_bound_to_its_key_its_body_and_its_type(site):
    """A name stands for one body of one API key: another body is refused, another key does not see it."""
    before, body = pending(site), json.dumps(ROW).encode()
    name = {"Idempotency_Key": "attack-1"}
    first = post(site, body, **name)
    assert post(site, body, **name).json["ids"] == first.json["ids"]
    for other, kind in (
        (body.replace(b"110.5", b"110.6"), JSON),
        (body + b" ", JSON),
        (csv_of(), CSV),
    ):
        problem(post(site, other, kind, **name), 422, "idempotency-conflict")
    stranger = bearer(new_key(site.database, frozenset({Scope.SUBMIT})))
    theirs = site.client.post(
        MEASUREMENTS, data=body, content_type=JSON, headers={**stranger, "Idempotency-Key": "attack-1"}
    )
    assert (theirs.status_code, "Idempotency-Replayed" in theirs.headers) == (201, False)
    assert theirs.json["ids"] != first.json["ids"]
    assert pending(site) == before + 2


def test_a_refused_submission_does_not_take_its_name(site):
    """What was not stored may be sent again, put right, under the same name."""
    name = {"Idempotency_Key": "attack-2"}
    assert post(site, json.dumps({**ROW, "gpu_count": 0}).encode(), **name).status_code == 422
    assert post(site, json.dumps(ROW).encode(), **name).status_code == 201


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "identity, gzip", "x", "GZIP"])
@pytest.mark.parametrize(
    ("path", "kind"),
    [(MEASUREMENTS, JSON), (MEASUREMENTS, CSV), ("/v1/models/inspect", "application/octet-stream")],
)
def test_an_encoded_body_is_not_opened(site, encoding, path, kind):
    """A body that says it is compressed is a 415, so that a small one cannot become a large one."""
    bomb = gzip.compress(b" " * 2**24)
    answer = site.client.post(
        path, data=bomb, content_type=kind, headers={**site.submitter, "Content-Encoding": encoding}
    )
    problem(answer, 415, "unsupported-media-type")


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])
def test_no_header_changes_the_method(site, header):
    """A GET stays a GET, a POST stays a POST, whatever a header or a parameter says."""
    name, before = site.stored(), pending(site)
    for method in ("PATCH", "POST", "DELETE"):
        got = site.client.get(MEASUREMENTS, headers={header: method, **site.reviewer})
        assert (got.status_code, "items" in got.json) == (200, True)
        posted = site.client.post(
            f"{MEASUREMENTS}/{name}", json={"status": "published"}, headers={header: method, **site.reviewer}
        )
        problem(posted, 405, "method-not-allowed")
    problem(post(site, b"_method=PATCH", "application/x-www-form-urlencoded"), 415, "unsupported-media-type")
    assert faults(site.client.post(f"{MEASUREMENTS}?_method=PATCH", json=ROW, headers=site.submitter)) == {
        ("_method", "unknown_parameter")
    }
    assert pending(site) == before


@pytest.mark.parametrize("text", ["\\ud800", "\\udfff x", "\\ude00\\ud83d", "a\nb", "\\x41", "\\u12"])
def test_text_that_is_none_is_malformed(site, text):
    """Half a surrogate pair, a raw line end and an unknown escape are no JSON."""
    problem(post(site, with_note(text)), 400, "malformed-body")


UNSEEN = {
    "NUL": "\0",
    "escape": "\x1b[31m",
    "C1 control": "\x85",
    "line separator": "\u2028",
    "embedding": "\u202e",
    "isolate": "\u2066",
    "right-to-left mark": "\u200f",
    "Arabic letter mark": "\u061c",
    "zero-width space": "\u200b",
    "word joiner": "\u2060",
    "soft hyphen": "\u00ad",
    "byte order mark": "\ufeff",
    "tag": "\U000e0041",
    "not a character": "\uffff",
}


@pytest.mark.parametrize("what", UNSEEN)
@pytest.mark.parametrize("field", ["note", "log", "engine_version", "interconnect"])
def test_what_nobody_sees_is_refused(site, what, field):
    """No control, no turning of direction, nothing invisible: a reviewer sees all that is published."""
    text = f"a{UNSEEN[what]}b"
    assert faults(site.submit({**ROW, field: text})) == {(field, "control_characters")}
    answer = post(site, csv_of(**{field: f'"{text}"'}), CSV)
    assert faults(answer) == {(f"measurements[0].{field}", "control_characters")}


def test_what_people_write_is_kept(site):
    """Scripts that run from right to left, joiners, emoji, umlauts and characters of four bytes."""
    for text in ("שלום عليكم", "می‌خواهم", "👩‍💻 🇩🇪", "größer 中文 𠀀", "a\tb"):
        name = site.stored(note=text)
        found = site.client.get(f"{MEASUREMENTS}/{name}", headers=site.reviewer).json
        assert found["uploaded"]["submitted"]["note"] == text


@pytest.mark.parametrize(
    "number", ["1e400", "-1e999", "NaN", "Infinity", "+5", "0x10", "1_0", "01", "1e", ".5"]
)
def test_numbers_that_are_none(site, number):
    """In JSON they are malformed; in a cell they are no number, and never infinite."""
    body = json.dumps({**ROW, "decode_tokens_per_second": "@"}).replace('"@"', number).encode()
    problem(post(site, body), 400, "malformed-body")
    answer = post(site, csv_of(decode_tokens_per_second=number), CSV)
    if number in (".5", "01", "+5"):  # which spreadsheets write
        assert answer.status_code in (201, 422)
    else:
        assert answer.status_code == 422
        assert {fault[0] for fault in faults(answer)} == {"measurements[0].decode_tokens_per_second"}


def test_a_row_that_says_a_thing_twice_is_refused(site):
    """A repeated field in JSON or column in CSV is named: readers differ in which of them counts."""
    for body, path in (
        (json.dumps(ROW)[:-1] + ', "gpu": "h100"}', "gpu"),
        ('{"measurements": [{"model": "a", "model": "b"}]}', "measurements.model"),
        ('{"measurements": [], "measurements": []}', "measurements"),
    ):
        assert faults(post(site, body.encode())) == {(path, "repeated")}
    assert faults(post(site, b"model,gpu, model\na,b,c\n", CSV)) == {("measurements", "repeated")}


def test_depth_and_masses_are_refused_before_they_are_read(site):
    """Nesting, values and cells beyond any submission."""
    assert faults(post(site, b'{"measurements":' + b"[" * 10_000)) == {("body", "too_deep")}
    assert faults(post(site, b'{"measurements":[' + b"1," * 100_000 + b"1]}")) == {
        ("body", "too_many_values")
    }
    assert faults(post(site, b"model,gpu\n" + b"a,b\n" * 501, CSV)) == {("measurements", "too_many_items")}
    problem(post(site, csv_of(log="x" * 200_000), CSV), 400, "malformed-body")  # of a cell, by the reader
    assert faults(post(site, csv_of(log="x" * 100_000), CSV)) == {("measurements[0].log", "too_long")}
    assert (
        faults(post(site, b",".join(b"c%d" % n for n in range(90_000)) + b"\n" + b"," * 89_999, CSV)) != set()
    )


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_csv_of_every_system_is_the_same(site, end, mark):
    """With a byte order mark or without, whatever ends its lines; line ends in quotes belong to the cell."""
    text = csv_of(log='"first\r\nsecond ""quoted"", third"').decode()
    lines = text.split("\r\n", 1)
    name = post(site, (mark + lines[0] + end + lines[1].rstrip("\r\n") + end).encode(), CSV).json["ids"][0]
    found = site.client.get(f"{MEASUREMENTS}/{name}", headers=site.reviewer).json
    assert found["uploaded"]["submitted"]["log"] == 'first\nsecond "quoted", third'


@pytest.mark.parametrize(
    "body",
    [csv_of().decode().encode("utf-16"), csv_of(note="\ud800"), csv_of(note="ü").replace(b"\xc3", b"")],
)
def test_csv_in_another_encoding_is_malformed(site, body):
    """Only UTF-8 is read; nothing is guessed."""
    problem(post(site, body, CSV), 400, "malformed-body")


def test_similar_names_are_looked_for_a_few_times(site, monkeypatch):
    """A batch of unknown names is refused with all of them; similar ones are told for the first twenty."""
    looked, suggest = [], Names.suggest
    monkeypatch.setattr(Names, "suggest", lambda *given: looked.append(given) or suggest(*given))
    answer = site.submit(*({**ROW, "model": f"qwen3-8b-{n}", "gpu": "rtx-4091"} for n in range(500)))
    problem(answer, 422, "invalid-parameters")
    assert len(answer.json["errors"]) == 1000
    assert len(looked) == MOST_SUGGESTED
    models = [error for error in answer.json["errors"] if error["parameter"].endswith(".model")]
    assert [bool(error["allowed"]) for error in models] == [True] * (MOST_SUGGESTED - 1) + [False] * 481
    assert "qwen3-8b" in models[0]["allowed"]
    gpus = [error for error in answer.json["errors"] if error["parameter"].endswith(".gpu")]
    assert all("rtx-4090" in error["allowed"] for error in gpus)  # of one name, looked for once
