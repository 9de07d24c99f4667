"""Whatever a client sends, the answer is a resource or a problem, never a failure of the service."""

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from service.api.schemas import POSTED, SCENARIO

QUESTION = {"model": "qwen3-8b", "gpu": "rtx-4090"}
NAMES = st.sampled_from([*SCENARIO, *POSTED, "nonsense"])
NUMBERS = st.sampled_from(
    ["0", "1", "2", "7", "64", "1024", "0.5", "100", "16777216", "-1", "1e9", "9" * 400]
)
TEXTS = st.one_of(NUMBERS, st.sampled_from(["vllm", "fp8", "q8_0", "true", "native"]), st.text(max_size=20))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
ODD = st.sampled_from([None, 0, 1, -1, 3, 10**6, 10**15, 0.5, True, "", "x", [], [0], ["x"], {}, {"x": 1}])


def is_answer_or_problem(answer):
    return answer.status_code == 200 or (
        400 <= answer.status_code < 500 and answer.mimetype == "application/problem+json"
    )


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(NAMES, TEXTS, max_size=4))
def test_any_query_is_answered(app, query):
    """Any values of any parameters are an answer or a client's problem."""
    assert is_answer_or_problem(app.test_client().get("/v1/sizing", query_string={**QUESTION, **query}))


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(NAMES, JSON, max_size=4))
def test_any_body_is_answered(app, body):
    """Any JSON values of any parameters are an answer or a client's problem."""
    data = orjson.dumps({**QUESTION, **body}, default=str) if _fits(body) else b"{}"
    answer = app.test_client().post("/v1/sizing", data=data, content_type="application/json")
    assert is_answer_or_problem(answer)


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_any_config_is_answered(app, catalog, data):
    """A published config.json with one field changed to anything is sized or refused."""
    name = data.draw(st.sampled_from(sorted(catalog.models)))
    config = orjson.loads(orjson.dumps(catalog.model_files[name]["config"], default=_plain))
    place = config["text_config"] if "text_config" in config and data.draw(st.booleans()) else config
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(ODD)
    answer = app.test_client().post("/v1/sizing", json={"model_config": config, "gpu": "h100-80gb-sxm"})
    assert is_answer_or_problem(answer), (name, answer.json)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60), st.text(max_size=30))
def test_any_bytes_and_headers_are_answered(app, body, header):
    """Any bytes as a body and any text in the negotiated headers are answered."""
    sendable = header.encode("latin-1", "ignore").decode("latin-1").replace("\r", "").replace("\n", "")
    headers = {"Accept": sendable, "Accept-Language": sendable, "X-Request-ID": sendable}
    answer = app.test_client().post("/v1/sizing", data=body, content_type="application/json", headers=headers)
    assert is_answer_or_problem(answer)
    assert app.test_client().get("/v1/languages", headers=headers).status_code in (200, 406)


def _fits(value):
    """Whether orjson can write it: it stops at 64 bits, and at lone surrogates."""
    try:
        orjson.dumps(value)
    except (orjson.JSONEncodeError, UnicodeEncodeError):
        return False
    return True


def _plain(value):
    return list(value) if isinstance(value, tuple) else dict(value)
