"""`POST /v1/measurements`, one measurement, its review and its history."""

import re
from hashlib import sha256
from time import time
from typing import Any

from flask import Blueprint, Response, g, request

from service.api.accept import JSON
from service.api.answers import json_answer, negotiated
from service.api.documents.uploads import event_document, shipped_document, uploaded_document
from service.api.encoding import to_json
from service.api.rate_limits import count_key
from service.api.reading import read_body, read_query
from service.api.schemas import LANGUAGE_QUERY
from service.api.submission_fields import REVIEW_SCHEMA
from service.api.submitting import submissions
from service.catalog import Catalog
from service.core.measurements import UPLOADED, Measurement
from service.errors import InvalidParameters, ParameterError
from service.i18n import content_language, voice
from service.measurements import reading, store
from service.measurements.errors import (
    StorageUnavailable,
    UnknownMeasurement,
    VersionOutdated,
    VersionRequired,
)
from service.measurements.keys import Key, Scope, authenticate
from service.measurements.schema import Condition
from service.measurements.submission import Status, Stored
from service.measurements.uploads import Uploads

_ADDRESS = "/v1/measurements"
_IDEMPOTENCY_KEY = "Idempotency-Key"
_VISIBLE = re.compile(r"[!-~]{1,255}")
_ETAG = re.compile(r'"([0-9]{1,9})-[0-9A-Za-z-]+"')
_LONGEST_NAME = 200


def caller(uploads: Uploads, scope: Scope) -> Key:
    """The key of the request, which must have the scope.

    Raises KeyRequired and its kin, ScopeMissing; KeyExceeded for a key that writes too often.
    """
    key = _authenticated(uploads)
    if request.method not in ("GET", "HEAD"):
        count_key(key.id)
    key.demand(scope)
    return key


def _authenticated(uploads: Uploads) -> Key:
    """The key of the request, without waiting for a database that did not answer a moment ago."""
    header = request.headers.get("Authorization")
    if header and uploads.watched_state().condition is Condition.UNAVAILABLE:
        raise StorageUnavailable(reason="no answer at the last look")
    return authenticate(uploads.database, header)


def private_answer(
    document: object, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
) -> Response:
    """An answer for the caller alone: no cache keeps it."""
    negotiated((JSON,))
    response = Response(to_json(document), status, headers, mimetype=JSON)
    response.headers["Cache-Control"] = "private, no-store"
    response.headers["Content-Language"] = content_language(g.language)
    response.vary.update(("Accept", "Accept-Language", "Authorization"))
    return response


def blueprint(catalog: Catalog, uploads: Uploads, most_pending: int) -> Blueprint:
    """The resources over a catalog and the uploads. most_pending: of a key, measurements without a review."""
    resource = Blueprint("uploads", __name__)

    @resource.after_app_request
    def not_kept(response: Response) -> Response:
        """An answer without the newest measurements is given, but must not stand for the present revision."""
        if uploads.missed():
            response.headers["Cache-Control"] = "no-store"
        return response

    @resource.post(_ADDRESS)
    def submit() -> Response:
        key = caller(uploads, Scope.SUBMIT)
        read_query(LANGUAGE_QUERY, request)
        negotiated((JSON,))  # before anything is stored
        found, single = submissions(request, catalog, time())
        receipt = store.submit(uploads.database, found, _act(key), _once(), most_pending)
        return _received(receipt, single=single)

    @resource.get(f"{_ADDRESS}/<name>")
    def one(name: str) -> Response:
        read_query(LANGUAGE_QUERY, request)
        if request.headers.get("Authorization", "").lower().startswith("bearer"):
            return _seen(_private(name, uploads), catalog)
        return _open_answer(_public(name, catalog, uploads))

    @resource.patch(f"{_ADDRESS}/<name>")
    def review(name: str) -> Response:
        key = caller(uploads, Scope.REVIEW)
        read_query(LANGUAGE_QUERY, request)
        given = read_body(REVIEW_SCHEMA, request)
        negotiated((JSON,))  # before anything is changed
        found, revision = store.review(
            uploads.database,
            name[:_LONGEST_NAME],
            Status(given["status"]),
            _act(key),
            _version(),
            given.get("note"),
        )
        if revision is not None:
            uploads.advance(revision)
        return _seen(found, catalog)

    @resource.get(f"{_ADDRESS}/<name>/history")
    def history(name: str) -> Response:
        caller(uploads, Scope.REVIEW)
        read_query(LANGUAGE_QUERY, request)
        events = reading.events(uploads.database, name[:_LONGEST_NAME])
        items = [event_document(event) for event in events]
        return private_answer({"items": items, "total": len(items), "next_cursor": None})

    return resource


def _act(key: Key) -> store.Act:
    return store.Act(key, time(), request.environ.get("sizing.request_id"))


def _once() -> store.Once | None:
    """What makes a repetition of the request the same request. Raises InvalidParameters."""
    name = request.headers.get(_IDEMPOTENCY_KEY)
    if name is None:
        return None
    if not _VISIBLE.fullmatch(name):
        raise InvalidParameters(ParameterError(_IDEMPOTENCY_KEY, "malformed"))
    digest = sha256(request.mimetype.encode() + b"\0" + request.get_data())
    return store.Once(name, digest.hexdigest())


def _received(receipt: store.Receipt, *, single: bool) -> Response:
    status = str(Status.PENDING)
    items = [{"id": name, "status": status, "location": f"{_ADDRESS}/{name}"} for name in receipt.ids]
    document: dict[str, Any] = {"ids": list(receipt.ids), "items": items, "total": len(items)}
    where = f"{_ADDRESS}?status={status}"
    if single:
        document = {"id": receipt.ids[0], "status": status, **document}
        where = f"{_ADDRESS}/{receipt.ids[0]}"
    headers = [("Location", where)]
    if receipt.replayed:
        headers.append(("Idempotency-Replayed", "true"))
    return private_answer(document, 201, tuple(headers))


def _seen(found: Stored, catalog: Catalog) -> Response:
    """A submission for whoever may see it, with the validator that a review has to send."""
    document = uploaded_document(found, catalog, voice(g.language))
    return private_answer(document, headers=(("ETag", f'"{found.version}-{content_language(g.language)}"'),))


def _open_answer(document: dict[str, Any]) -> Response:
    """The published record; its validator begins with the version that a review has to send."""
    answer = json_answer(document)
    answer.vary.add("Authorization")
    uploaded = document["uploaded"]
    if uploaded is not None:
        answer.set_etag(f"{uploaded['version']}-{answer.get_etag()[0]}")
    return answer


def _private(name: str, uploads: Uploads) -> Stored:
    """A submission of any status, for reviewers and for the key that submitted it."""
    key = _authenticated(uploads)
    found = reading.find(uploads.database, name[:_LONGEST_NAME])
    if Scope.REVIEW not in key.scopes and found.key_id != key.id and found.status is not Status.PUBLISHED:
        raise UnknownMeasurement(name=found.id)
    return found


def _public(name: str, catalog: Catalog, uploads: Uploads) -> dict[str, Any]:
    speaker = voice(g.language)
    if name.startswith(UPLOADED):
        found = uploads.published().by_id.get(name)
        if found is not None:
            return uploaded_document(found, catalog, speaker)
    rows = (row for of_model in catalog.measurements.values() for row in of_model)
    shipped: Measurement | None = next((row for row in rows if row.id == name), None)
    if shipped is None:
        raise UnknownMeasurement(name=name[:_LONGEST_NAME])
    return shipped_document(shipped, catalog, speaker)


def _version() -> int | None:
    """The version of If-Match, None for `*`. Raises VersionRequired, VersionOutdated."""
    header = request.headers.get("If-Match")
    if header is None or not header.strip():
        raise VersionRequired()
    if header.strip() == "*":
        return None
    known = [_ETAG.fullmatch(tag.strip()) for tag in header.split(",")]
    versions = {int(match[1]) for match in known if match is not None}
    if len(versions) != 1:
        raise VersionOutdated()
    return versions.pop()
