"""Submitting and reviewing measurements: who may, what is refused and why, and where it is shown at once."""

import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from jsonschema import Draft202012Validator

from service.app import create_app
from service.measurements.keys import revoke_key
from service.settings import Settings
from tests.contract.test_problems import problem
from tests.uploads import MEASUREMENTS, REVIEW, ROW, SUBMIT, Site, bearer, new_key

SIZING = {"model": "qwen3-8b", "gpu": "rtx-4090", "engine": "llama.cpp"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """For what changes nothing that another test looks at."""
    return Site(tmp_path_factory.mktemp("site"))


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def faults(answer):
    found = problem(answer, 422, "invalid-parameters")["errors"]
    return {(fault["parameter"], fault["code"]) for fault in found}


def test_a_measurement_waits_for_review(site):
    """201 with id and address; the submitter sees it, the public does not."""
    answer = site.submit(ROW)
    assert answer.status_code == 201
    name = answer.json["id"]
    assert answer.json == {
        "id": name,
        "status": "pending",
        "ids": [name],
        "items": [{"id": name, "status": "pending", "location": f"{MEASUREMENTS}/{name}"}],
        "total": 1,
    }
    assert answer.headers["Location"] == f"{MEASUREMENTS}/{name}"
    assert "no-store" in answer.headers["Cache-Control"]
    problem(site.client.get(f"{MEASUREMENTS}/{name}"), 404, "unknown-measurement")
    assert name not in {item["id"] for item in site.listed(model="qwen3-8b")}
    own = site.client.get(f"{MEASUREMENTS}/{name}", headers=site.submitter)
    assert (own.status_code, own.json["status"]) == (200, "pending")
    other = bearer(new_key(site.database, SUBMIT))
    problem(site.client.get(f"{MEASUREMENTS}/{name}", headers=other), 404, "unknown-measurement")


def test_every_condition_comes_back_as_it_was_stated(site):
    """Names become ids of the catalog; the rest is as it was submitted, beside the record for comparisons."""
    name = site.stored()
    found = site.client.get(f"{MEASUREMENTS}/{name}", headers=site.reviewer).json
    names = {"model": "qwen3-8b", "gpu": "rtx-4090"}
    published = {"published_model": ROW["model"], "published_gpu": ROW["gpu"]}
    assert found["uploaded"]["submitted"] == {
        **dict.fromkeys(("tensor_parallel", "expert_parallel", "draft_acceptance")),
        **ROW,
        **names,
        **published,
    }
    assert (found["provenance"], found["model"], found["gpu"]) == ("uploaded", "qwen3-8b", "rtx-4090")
    assert found["context_tokens"] == 4096 + 512 // 2
    assert found["comparable"] is True
    assert found["source"]["detail"] == ROW["source_url"]


def test_a_published_measurement_is_everywhere_at_once(site):
    """In the list, by its id, in `measured`, in the sections and the report; withdrawn it is gone again."""
    before = site.listed(**{"model": "qwen3-8b", "gpu": "rtx-4090"})
    addresses = {
        "measured": ("/v1/sizing", SIZING),
        "section": ("/v1/fragments/measurements", SIZING),
        "alone": ("/v1/fragments/measurements", {"model": "qwen3-8b"}),
        "report": ("/v1/report", SIZING),
    }

    def shown(name):
        answers = {key: site.client.get(path, query_string=query) for key, (path, query) in addresses.items()}
        assert {answer.status_code for answer in answers.values()} == {200}
        return {key for key, answer in answers.items() if name in answer.get_data(as_text=True)}

    name = site.stored()
    assert shown(name) == set()
    assert site.review(name, "published").json["status"] == "published"
    assert shown(name) == set(addresses)
    assert [item["id"] for item in site.listed(model="qwen3-8b", gpu="rtx-4090")] == [
        *(item["id"] for item in before),
        name,
    ]
    sized = site.client.get("/v1/sizing", query_string=SIZING).json["measured"][0]
    assert sized["id"] == name
    assert {ratio["rate"] for ratio in sized["comparison"]} == {
        "decode_tokens_per_second",
        "prefill_tokens_per_second",
    }
    public = site.client.get(f"{MEASUREMENTS}/{name}")
    assert (public.status_code, public.json["uploaded"]["version"]) == (200, 2)
    assert site.client.get(f"{MEASUREMENTS}/{name}").headers["X-Cache"] == "hit-memory"
    assert site.review(name, "withdrawn").json["status"] == "withdrawn"
    assert shown(name) == set()
    assert site.listed(model="qwen3-8b", gpu="rtx-4090") == before
    problem(site.client.get(f"{MEASUREMENTS}/{name}"), 404, "unknown-measurement")


def test_other_addresses_keep_their_answers(site):
    """What shows no measurement is still answered from memory after a publication."""
    path = "/v1/costs?model=qwen3-8b&gpu=rtx-4090"
    name = site.stored()
    first = site.client.get(path)
    site.review(name, "published")
    again = site.client.get(path)
    assert first.data == again.data
    assert again.headers["X-Cache"] == "hit-memory"


def test_records_of_the_catalog_have_an_address_too(shared):
    found = shared.client.get(f"{MEASUREMENTS}/vllm-blog-kimi-k3.1-pro-gb300")
    assert found.status_code == 200
    assert (found.json["provenance"], found.json["status"], found.json["uploaded"]) == (
        "catalog",
        "published",
        None,
    )
    problem(shared.client.get(f"{MEASUREMENTS}/nothing"), 404, "unknown-measurement")
    problem(shared.client.get(f"{MEASUREMENTS}/uploaded-0"), 404, "unknown-measurement")


def test_writing_is_off_until_there_is_a_key(tmp_path, app):
    """Without a key every write is a 401, and nothing is made on the disk."""
    for headers in ({}, bearer("sizing_000000000000_" + "a" * 43)):
        answer = app.test_client().post(MEASUREMENTS, json=ROW, headers=headers)
        problem(answer, 401, "key-unknown" if headers else "key-required")


@pytest.mark.parametrize("lang", ["en", "de", "zh"])
@pytest.mark.parametrize(
    ("key", "status", "slug", "challenge"),
    [
        (None, 401, "key-required", 'Bearer realm="llm-sizing"'),
        ("unknown", 401, "key-unknown", 'error="invalid_token"'),
        ("revoked", 401, "key-revoked", 'error="invalid_token"'),
        ("review", 403, "scope-missing", 'error="insufficient_scope", scope="submit"'),
    ],
)
def test_who_may_not_write_is_told_why(shared, key, status, slug, challenge, lang):
    """Each refusal has a problem type of its own, in the language of the caller, and a challenge."""
    text = {"unknown": "sizing_000000000000_" + "a" * 43, None: ""}.get(key) or new_key(
        shared.database, REVIEW
    )
    if key == "revoked":
        revoke_key(shared.database, text.split("_")[1], time.time())
    headers = {} if key is None else bearer(text)
    answer = shared.client.post(f"{MEASUREMENTS}?lang={lang}", json=ROW, headers=headers)
    found = problem(answer, status, slug)
    assert challenge in answer.headers["WWW-Authenticate"]
    page = shared.client.get(f"/problems/{slug}?lang={lang}").get_data(as_text=True)
    assert found["title"] in page


@pytest.mark.parametrize("path", ["?status=pending", "?status=rejected", "/uploaded-0/history"])
def test_what_is_not_published_takes_a_reviewer(shared, path):
    problem(shared.client.get(MEASUREMENTS + path), 401, "key-required")
    problem(shared.client.get(MEASUREMENTS + path, headers=shared.submitter), 403, "scope-missing")


def test_reviewers_see_what_waits(site):
    """The list of a status has the filters and pages of the public one, and no cache keeps it."""
    first, second = site.stored(), site.stored(gpu="rtx-5090", note="other")
    answer = site.client.get(f"{MEASUREMENTS}?status=pending", headers=site.reviewer)
    assert {item["id"] for item in answer.json["items"]} == {first, second}
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert "X-Cache" not in answer.headers
    some = site.listed(site.reviewer, status="pending", gpu="rtx-5090")
    assert [item["id"] for item in some] == [second]
    page = site.client.get(f"{MEASUREMENTS}?status=pending&limit=1", headers=site.reviewer).json
    rest = site.listed(site.reviewer, status="pending", cursor=page["next_cursor"], limit=1)
    assert {page["items"][0]["id"], rest[0]["id"]} == {first, second}
    assert site.listed(site.reviewer, status="rejected") == []
    problem(site.client.get(f"{MEASUREMENTS}?status=pending"), 401, "key-required")


def test_a_review_names_the_version_that_it_saw(site):
    """428 without If-Match, 412 with another version; of two reviewers the second is told."""
    name = site.stored()
    problem(site.review(name, "published", match=None), 428, "version-required")
    for match in ('"7-en"', '"x"', 'W/"1-en"', "1", '"1-en", "2-en"'):
        problem(site.review(name, "published", match=match), 412, "version-outdated")
    seen = site.client.get(f"{MEASUREMENTS}/{name}?lang=de", headers=site.reviewer).headers["ETag"]
    first = site.review(name, "published", match=seen, note="log checked")
    assert first.status_code == 200
    problem(site.review(name, "rejected", match=seen), 412, "version-outdated")
    assert site.review(name, "withdrawn", match=first.headers["ETag"]).status_code == 200


@pytest.mark.parametrize("encoding", ["identity", "gzip", "br"])
def test_the_public_validator_serves_a_review_too(site, encoding):
    """Whoever read the published record, in whatever encoding, may withdraw it with that ETag."""
    name = site.published()
    etag = site.client.get(f"{MEASUREMENTS}/{name}", headers={"Accept-Encoding": encoding}).headers["ETag"]
    assert site.review(name, "withdrawn", match=etag).status_code == 200


def test_only_some_ways_lead_on(site):
    """A published measurement cannot be rejected; the problem names what can be done instead."""
    name = site.published()
    found = problem(site.review(name, "rejected"), 409, "wrong-status")
    assert "withdrawn" in found["detail"]
    problem(site.review("uploaded-0", "published"), 404, "unknown-measurement")
    assert faults(site.review(name, "pending")) == {("status", "not_allowed")}
    headers = {**site.reviewer, "If-Match": "*"}
    for body in ({}, {"status": "published", "by": "me"}):
        answer = site.client.patch(f"{MEASUREMENTS}/{name}", json=body, headers=headers)
        problem(answer, 422, "invalid-parameters")
    answer = site.client.patch(f"{MEASUREMENTS}/{name}", json={"status": "withdrawn"}, headers=site.submitter)
    problem(answer, 403, "scope-missing")


def test_the_history_is_kept(site):
    """Withdrawal deletes nothing: each step with its note, its key and its time."""
    name = site.stored()
    for status, note in (("published", "log checked"), ("withdrawn", "wrong card"), ("published", None)):
        assert site.review(name, status, note=note).status_code == 200
    found = site.client.get(f"{MEASUREMENTS}/{name}/history", headers=site.reviewer).json
    assert [(step["version"], step["status"], step["note"]) for step in found["items"]] == [
        (1, "pending", None),
        (2, "published", "log checked"),
        (3, "withdrawn", "wrong card"),
        (4, "published", None),
    ]
    assert len({step["key"] for step in found["items"]}) == 2
    assert all(step["at"].endswith("Z") for step in found["items"])


def test_a_batch_is_stored_whole(site):
    """Up to 500 rows, in order; the address is that of what waits."""
    answer = site.submit(*[{**ROW, "note": str(index)} for index in range(500)])
    assert (answer.status_code, answer.json["total"]) == (201, 500)
    assert answer.headers["Location"] == f"{MEASUREMENTS}?status=pending"
    assert len(site.listed(site.reviewer, status="pending")) == 500
    found = faults(site.submit(*[ROW] * 501))
    assert found == {("measurements", "too_many_items")}
    assert faults(site.client.post(MEASUREMENTS, json={"measurements": []}, headers=site.submitter)) == {
        ("measurements", "empty")
    }


def test_a_batch_with_a_fault_stores_nothing_and_names_all(site):
    """Every fault of every row at once, by index and field; none of the rows is stored."""
    later = (datetime.now(UTC) + timedelta(days=3)).date().isoformat()
    answer = site.submit(
        ROW,
        {**ROW, "model": "qwen3-8", "gpu_count": "1", "date": later},
        {**ROW, "decode_tokens_per_second": 5000, "context_tokens": 4000},
        {"gpu": "rtx-409", "speed": 1},
        {**ROW, "source_url": "javascript:alert(1)", "log": "bell\x07"},
        [],
    )
    assert faults(answer) == {
        ("measurements[1].model", "unknown_name"),
        ("measurements[1].gpu_count", "not_an_integer"),
        ("measurements[1].date", "in_the_future"),
        ("measurements[2].decode_tokens_per_second", "exceeds_bandwidth"),
        ("measurements[2].decode_tokens_per_second", "contradicts_per_sequence"),
        ("measurements[2].context_tokens", "context_too_small"),
        ("measurements[3].model", "missing"),
        ("measurements[3].gpu", "unknown_name"),
        ("measurements[3].speed", "unknown_parameter"),
        ("measurements[3].decode_tokens_per_second", "no_speed"),
        ("measurements[4].source_url", "not_a_web_address"),
        ("measurements[4].log", "control_characters"),
        ("measurements[5]", "not_an_object"),
    }
    named = {fault["parameter"]: fault for fault in answer.json["errors"]}
    assert named["measurements[1].model"]["allowed"][0] == "qwen3-8b"
    assert "rtx-4090" in named["measurements[3].gpu"]["message"]
    assert site.listed(site.reviewer, status="pending") == []


@pytest.mark.parametrize("lang", ["en", "de", "zh"])
def test_the_impossible_says_why(shared, lang):
    """The arithmetic is in the sentence: steps per second, bytes of a step, what the card can deliver."""
    answer = shared.submit({**ROW, "decode_tokens_per_second": 2000}, query_string={"lang": lang})
    [message] = [e["message"] for e in answer.json["errors"] if e["code"] == "exceeds_bandwidth"]
    # 4.672 GB × 2,000 steps = 9,344 GB/s against 1,008.
    decimal, group = (",", ".") if lang == "de" else (".", ",")
    for figure in (f"2{group}000", f"4{decimal}672", f"9{group}344", f"1{group}008", "RTX 4090"):
        assert figure in message, message


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"engine": "vlm"}, ("engine", "not_allowed")),
        ({"quantization": "fp8"}, ("quantization", "format_not_supported")),
        ({"quantization": "q9"}, ("quantization", "not_allowed")),
        ({"backend": "abacus"}, ("backend", "not_allowed")),
        ({"kv_cache_dtype": "fp3"}, ("kv_cache_dtype", "not_allowed")),
        ({"gpu_count": 0}, ("gpu_count", "out_of_range")),
        ({"gpu_count": True}, ("gpu_count", "not_an_integer")),
        ({"decode_tokens_per_second": -1}, ("decode_tokens_per_second", "out_of_range")),
        ({"decode_tokens_per_second": "fast"}, ("decode_tokens_per_second", "not_a_number")),
        ({"draft_acceptance": 1.5}, ("draft_acceptance", "out_of_range")),
        ({"draft_acceptance": 0.5}, ("draft_acceptance", "needs")),
        ({"tensor_parallel": 2}, ("tensor_parallel", "exceeds_limit")),
        ({"date": "20.11.2026"}, ("date", "not_a_date")),
        ({"date": "2026-02-30"}, ("date", "not_a_date")),
        ({"date": "2999"}, ("date", "in_the_future")),
        ({"source_url": "ftp://example.org/x"}, ("source_url", "not_a_web_address")),
        ({"source_url": "//example.org/x"}, ("source_url", "not_a_web_address")),
        ({"source_url": "https://user:secret@example.org/"}, ("source_url", "not_a_web_address")),
        ({"source_url": "https://example.org/a b"}, ("source_url", "not_a_web_address")),
        ({"source_url": "https://example.org/\r\nX: y"}, ("source_url", "control_characters")),
        ({"note": "x" * 1001}, ("note", "too_long")),
        ({"log": "x" * 4001}, ("log", "too_long")),
        ({"engine_version": "b1\nb2"}, ("engine_version", "control_characters")),
        ({"note": "\u202egnp.exe"}, ("note", "control_characters")),
        ({"note": ""}, ("note", "empty")),
        ({"model": "deepseek-r1-0528-671b"}, ("gpu_count", "weights_exceed_memory")),
        ({"time_to_first_token_ms": 1}, ("time_to_first_token_ms", "contradicts_prefill")),
    ],
)
def test_wrong_fields_are_named(shared, changed, fault):
    assert fault in faults(shared.submit({**ROW, **changed}))


def test_today_is_not_the_future_anywhere(site):
    """A day that has begun somewhere on earth may be stated."""
    east = (datetime.now(UTC) + timedelta(hours=14)).date().isoformat()
    assert site.stored(date=east)
    assert site.stored(date=east[:7])


def test_null_is_not_stated(site):
    """As in every body, null means not given; the record then says what is missing."""
    name = site.stored(concurrency=None, engine_version=None)
    found = site.client.get(f"{MEASUREMENTS}/{name}", headers=site.reviewer).json
    assert set(found["missing"]) == {"concurrency", "engine_version"}
    assert found["comparable"] is False


def test_native_is_the_format_of_the_checkpoint(site):
    """`native` is stored under the name that the records of the catalog have, so that filters find it."""
    changed = {"engine": "vllm", "quantization": "native", "decode_tokens_per_second": 50}
    name = site.published(**changed, decode_tokens_per_second_per_sequence=50)
    assert name in {item["id"] for item in site.listed(model="qwen3-8b", quantization="native")}
    assert name in {item["id"] for item in site.listed(model="qwen3-8b", quantization="bf16")}


def test_csv_is_taken_like_json(site):
    """The same fields as columns; an empty cell is not stated; a guard before a formula is taken off."""
    header = ",".join(ROW)
    cells = {**ROW, "note": "'=1+1", "log": '"a\nb"', "interconnect": ""}
    line = ",".join(str(value) for value in cells.values())
    body = f"\ufeff{header}\r\n{line}\r\n\r\n{line}\r\n".encode()
    answer = site.client.post(MEASUREMENTS, data=body, content_type="text/csv", headers=site.submitter)
    assert (answer.status_code, answer.json["total"]) == (201, 2)
    [found, _] = site.listed(site.reviewer, status="pending")
    submitted = found["uploaded"]["submitted"]
    assert (submitted["note"], submitted["log"], submitted["interconnect"]) == ("=1+1", "a\nb", None)
    assert submitted["decode_tokens_per_second"] == 110.5


@pytest.mark.parametrize(
    ("body", "status", "slug", "fault"),
    [
        (b"", 422, "invalid-parameters", ("measurements", "empty")),
        (b"model,gpu\n", 422, "invalid-parameters", ("measurements", "empty")),
        (b"model,gpu\na\n", 422, "invalid-parameters", ("measurements[0]", "malformed")),
        (b"model,model\na,b\n", 422, "invalid-parameters", ("measurements", "repeated")),
        (
            b"model,gpu,x\nqwen3-8b,rtx-4090,1\n",
            422,
            "invalid-parameters",
            ("measurements[0].x", "unknown_parameter"),
        ),
        (b'model,gpu\n"a', 400, "malformed-body", None),
        (b"model,gpu\n\xff,b\n", 400, "malformed-body", None),
    ],
)
def test_wrong_csv_is_refused(shared, body, status, slug, fault):
    answer = shared.client.post(MEASUREMENTS, data=body, content_type="text/csv", headers=shared.submitter)
    problem(answer, status, slug)
    if fault is not None:
        assert fault in faults(answer)


def test_bodies_are_bounded_and_typed(shared):
    """Oversized is 413 in JSON and CSV, another type 415, broken JSON 400."""
    large = b"x" * (2**20 + 1)
    for kind in ("application/json", "text/csv"):
        answer = shared.client.post(MEASUREMENTS, data=large, content_type=kind, headers=shared.submitter)
        problem(answer, 413, "payload-too-large")
    for body, kind, status, slug in (
        (b"{}", "text/plain", 415, "unsupported-media-type"),
        (b"{", "application/json", 400, "malformed-body"),
        (b"[]", "application/json", 422, "invalid-parameters"),
        (b'{"measurements": {}}', "application/json", 422, "invalid-parameters"),
        (b'{"measurements": [], "extra": 1}', "application/json", 422, "invalid-parameters"),
    ):
        answer = shared.client.post(MEASUREMENTS, data=body, content_type=kind, headers=shared.submitter)
        problem(answer, status, slug)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_masses_of_faults_are_not_all_told(shared, form):
    """A problem of a batch names some thousand faults, however many columns and rows are wrong."""
    names = [f"column_{number}" for number in range(900)]
    if form == "json":
        sent = {"json": {"measurements": [{**ROW, **dict.fromkeys(names, 1)}] * 20}}
    else:
        lines = [
            ",".join(["model", "gpu", *names]),
            *([",".join(["qwen3-8b", "rtx-4090", *"1" * 900])] * 100),
        ]
        sent = {"data": "\n".join(lines), "content_type": "text/csv"}
    answer = shared.client.post(MEASUREMENTS, headers=shared.submitter, **sent)
    problem(answer, 422, "invalid-parameters")
    assert 1000 <= len(answer.json["errors"]) < 1200
    assert answer.json["errors"][0]["parameter"] == "measurements[0].column_0"
    sent = {"json": {"measurements": [], **dict.fromkeys(names, 1)}}
    answer = shared.client.post(MEASUREMENTS, headers=shared.submitter, **sent)
    assert len(answer.json["errors"]) == 100


def test_a_repetition_has_the_same_answer(site):
    """The same Idempotency-Key and body: the same answer, said to be one; another body is refused."""
    headers = {"Idempotency-Key": "run-42"}
    first, again = site.submit(ROW, headers=headers), site.submit(ROW, headers=headers)
    assert (first.status_code, first.data, first.headers["Location"]) == (
        again.status_code,
        again.data,
        again.headers["Location"],
    )
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    problem(site.submit({**ROW, "note": "other"}, headers=headers), 422, "idempotency-conflict")
    assert len(site.listed(site.reviewer, status="pending")) == 1
    assert site.submit(ROW).status_code == 201  # without a key each submission is one of its own
    for name in ("", " ", "a b", "x" * 256, "ü"):
        answer = site.submit(ROW, headers={"Idempotency-Key": name})
        assert faults(answer) == {("Idempotency-Key", "malformed")}


def test_readiness_tells_of_the_storage(site, app):
    """The probe is 200 with and without a database, and says which it is."""
    found = site.client.get("/health/ready").json["storage"]
    site.uploads.look()
    assert found["backend"] == "sqlite"
    assert site.client.get("/health/ready").json["storage"] == {
        "backend": "sqlite",
        "state": "ok",
        "schema": 3,
    }
    assert app.test_client().get("/health/ready").json["storage"]["state"] in ("absent", "ok")


def test_a_database_that_is_away_costs_only_the_uploads(tmp_path):
    """With a server that does not answer reading goes on; writing is a 503 that says when to come again."""
    url = "postgresql://nobody@127.0.0.1:1/none"
    app = create_app(Settings(state_path=tmp_path, database_url=url))
    client = app.test_client()
    assert client.get("/v1/sizing", query_string=SIZING).status_code == 200
    assert client.get(MEASUREMENTS).status_code == 200
    ready = client.get("/health/ready")
    assert (ready.status_code, ready.json["storage"]["state"]) == (200, "unavailable")
    answer = client.post(MEASUREMENTS, json=ROW, headers=bearer("sizing_000000000000_" + "a" * 43))
    problem(answer, 503, "storage-unavailable")
    assert answer.headers["Retry-After"]


def test_what_cannot_be_answered_is_not_stored(site):
    """A client that does not take the answer has written nothing."""
    html = {**site.submitter, "Accept": "text/html"}
    problem(site.client.post(MEASUREMENTS, json=ROW, headers=html), 406, "not-acceptable")
    assert site.listed(site.reviewer, status="pending") == []
    name = site.stored()
    headers = {**site.reviewer, "Accept": "text/html", "If-Match": "*"}
    answer = site.client.patch(f"{MEASUREMENTS}/{name}", json={"status": "published"}, headers=headers)
    problem(answer, 406, "not-acceptable")
    assert site.listed(site.reviewer, status="pending")


def test_other_credentials_do_not_hide_what_is_public(site):
    """A header that some proxy adds is no API key; the public record is shown all the same."""
    name = site.published()
    answer = site.client.get(f"{MEASUREMENTS}/{name}", headers={"Authorization": "Basic dTpw"})
    assert (answer.status_code, answer.json["id"]) == (200, name)
    assert site.client.get(MEASUREMENTS, headers={"Authorization": "Basic dTpw"}).status_code == 200


def test_documented_bodies_and_answers(site):
    """The example of the document is accepted, and the answers satisfy its schemas."""
    document = site.client.get("/openapi.json").json

    def valid(schema, value):
        Draft202012Validator({**schema, "components": document["components"]}).validate(value)

    post = document["paths"][MEASUREMENTS]["post"]
    content = post["requestBody"]["content"]["application/json"]
    valid(content["schema"], content["example"])
    valid(content["schema"], {"measurements": [ROW]})
    receipt = site.submit(content["example"])
    valid(post["responses"]["201"]["content"]["application/json"]["schema"], receipt.json)
    one = document["paths"][f"{MEASUREMENTS}/{{id}}"]
    name = receipt.json["id"]
    schema = one["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    valid(schema, site.client.get(f"{MEASUREMENTS}/{name}", headers=site.reviewer).json)
    valid(schema, site.review(name, "published").json)
    history = document["paths"][f"{MEASUREMENTS}/{{id}}/history"]["get"]
    found = site.client.get(f"{MEASUREMENTS}/{name}/history", headers=site.reviewer).json
    valid(history["responses"]["200"]["content"]["application/json"]["schema"], found)
    assert json.dumps(document["components"]["securitySchemes"])
