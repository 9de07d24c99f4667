"""Requests that schemathesis makes of the OpenAPI document, and what may come back."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, Response
from schemathesis.core import NotSet
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi import checks as documented

from tests.uploads import MEASUREMENTS, ROW, Site

CHECKS = (
    schemathesis.checks.not_a_server_error,
    documented.status_code_conformance,
    documented.content_type_conformance,
    documented.response_headers_conformance,
    documented.response_schema_conformance,
    documented.unsupported_method,
    documented.ignored_auth,
)
PLAIN = {"Accept-Encoding": "identity"}  # the in-process client does not decode
MOST_CPU_SECONDS = 5.0
_KNOWN = "KNOWN"
_KNOWN_VALUES: dict[str, Any] = {
    "model": st.sampled_from(["qwen3-8b", "deepseek-r1-0528-671b", "gemma-3-27b-it", "gpt-oss-120b"]),
    "gpu": st.sampled_from(["rtx-4090", "h100-80gb-sxm", "b200"]),
    "engine": st.sampled_from(["vllm", "llama.cpp", "sglang", "ollama", "mlx", "tensorrt-llm"]),
    "context_tokens": st.sampled_from([1, 4096, 131_072, 1_048_576]),
    "models": st.sampled_from(["qwen3-8b", "qwen3-8b,gpt-oss-20b"]),
    "gpus": st.sampled_from(["rtx-4090", "h100,b200"]),
}
_IDS = {
    "/v1/models/{id}": ["qwen3-8b", "Qwen/Qwen3-8B"],
    "/v1/gpus/{id}": ["rtx-4090", "H100"],
    "/v1/fragments/{section}": ["memory", "measured", "commands", "memory-tiers", "calculation"],
    "/problems/{slug}": ["unknown-model", "key-required"],
}
_MOST_PARAMETERS = 4


@dataclass
class Seen:
    """What the cases of a run came to: how many by status, and the one with the most CPU seconds."""

    statuses: Counter[int] = field(default_factory=Counter)
    cpu_seconds: float = 0.0
    worst: str = ""

    @property
    def cases(self) -> int:
        return self.statuses.total()

    def add(self, status: int, cpu_seconds: float, what: str) -> None:
        self.statuses[status] += 1
        if cpu_seconds > self.cpu_seconds:
            self.cpu_seconds, self.worst = cpu_seconds, what


class Conformance:
    """A site of its own, the document that it serves, and what was seen of it."""

    def __init__(
        self, folder: Path, change: Callable[[Any], None] = lambda _document: None, **limits: int
    ) -> None:
        self.site = Site(folder, **limits)
        document = self.site.client.get("/openapi.json").json
        change(document)
        # Not by its address: what is loaded from one leaves that address out.
        self.schema = schemathesis.openapi.from_dict(document)
        self.schema.app = self.site.app
        self.operations = {found.ok().label: found.ok() for found in self.schema.get_all_operations()}
        self.seen = Seen()
        pending = self.site.stored()
        self.ids = [self.site.published(), pending]

    def keys(self, path: str, method: str) -> dict[str, str]:
        """The key that an operation takes."""
        if not path.startswith(MEASUREMENTS):
            return {}
        return self.site.reviewer if method == "PATCH" or path.endswith("history") else self.site.submitter

    def check(self, label: str, mode: str, count: int, number: int = 0) -> None:
        """Send `count` cases of an operation and raise for the first whose answer is not as documented.

        mode: POSITIVE, NEGATIVE (against the document), or KNOWN: few parameters, names of the catalog.
        """
        operation = self.operations[label]
        known = mode == _KNOWN
        if mode == GenerationMode.NEGATIVE.name and not (operation.query or operation.body):
            return  # nothing that could be wrong
        generated = GenerationMode.POSITIVE if known else GenerationMode[mode]
        cases = operation.as_strategy(generation_mode=generated)

        @seed(number)
        @settings(
            max_examples=count,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(cases, st.fixed_dictionaries(_KNOWN_VALUES), st.data())
        def run(case: schemathesis.Case, values: dict[str, Any], data: st.DataObject) -> None:
            if known:
                self._make_known(case, values, data)
            self.send(case, against=mode == GenerationMode.NEGATIVE.name)

        run()

    def send(self, case: schemathesis.Case, *, against: bool) -> Response:
        """Send one case and compare the answer with the document; raises AssertionError."""
        headers = PLAIN | self.keys(case.operation.path, case.operation.method.upper())
        began = time.process_time()
        answer = case.call(headers=headers)
        cpu_seconds = time.process_time() - began
        what = f"{case.operation.label} {answer.status_code} {_short(case.query)} {_short(case.body)}"
        self.seen.add(answer.status_code, cpu_seconds, what)
        assert cpu_seconds < MOST_CPU_SECONDS, what
        # An empty parameter of a page's form is not wrong: it leads to the same address without it.
        rejects = against and answer.status_code != 302
        checks = [*CHECKS, documented.negative_data_rejection] if rejects else list(CHECKS)
        try:
            case.validate_response(answer, checks=checks, headers=headers)
        except FailureGroup as failures:
            raise AssertionError(str(failures)) from None
        return answer

    def _make_known(self, case: schemathesis.Case, values: dict[str, Any], data: st.DataObject) -> None:
        named = {p.name for p in case.operation.query}
        if case.operation.method == "get" and named:
            kept = data.draw(st.lists(st.sampled_from(sorted(named)), max_size=_MOST_PARAMETERS, unique=True))
            given_values = {name: value for name, value in (case.query or {}).items() if name in kept}
            case.query = {**given_values, **{n: v for n, v in values.items() if n in named}}
        path = case.operation.path
        if path in _IDS:
            place = next(iter(case.path_parameters))
            case.path_parameters = {place: data.draw(st.sampled_from(_IDS[path]))}
        elif path.startswith(f"{MEASUREMENTS}/"):
            case.path_parameters = {"id": data.draw(st.sampled_from([*self.ids, "upload-no"]))}
            case.headers = {**(case.headers or {}), "If-Match": "*"}
        if not isinstance(case.body, NotSet) and case.media_type == "application/json":
            case.body = _known_body(path, case.body, values, data)


def _known_body(path: str, body: Any, values: dict[str, Any], data: st.DataObject) -> Any:
    """The generated body with the right names in it, and most of the fields left out."""
    if path == "/v1/models/inspect":
        return {"config": data.draw(st.sampled_from(_configs()))}
    if not isinstance(body, dict) or path.startswith(f"{MEASUREMENTS}/"):
        return body
    if path == MEASUREMENTS:
        kept = data.draw(st.lists(st.sampled_from(sorted(ROW)), max_size=_MOST_PARAMETERS))
        return {**ROW, **{name: body.get(name) for name in kept if name not in ("model", "gpu")}}
    kept = data.draw(st.lists(st.sampled_from(sorted(body) or ["lang"]), max_size=_MOST_PARAMETERS))
    asked = ("model", "gpu", "engine")
    described = ("model_config", "gpu_spec", "model_name")
    return {
        **{name: body[name] for name in kept if name in body and name not in described},
        **{name: values[name] for name in asked},
    }


@cache
def _configs() -> list[Any]:
    from tests.published import models

    return [models()[name]["config"] for name in sorted(models())[::8]]


def _short(value: object) -> str:
    return "" if isinstance(value, NotSet) or not value else str(value)[:300]
