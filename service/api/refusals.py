"""What refused writes and reviews are answered with: type of the problem and headers that belong to it."""

from collections.abc import Mapping

from service.measurements import errors

_REALM = 'Bearer realm="llm-sizing"'
_RETRY = ("Retry-After", "5")
SLUGS: Mapping[type[errors.Refused], str] = {
    errors.KeyRequired: "key-required",
    errors.KeyUnknown: "key-unknown",
    errors.KeyRevoked: "key-revoked",
    errors.ScopeMissing: "scope-missing",
    errors.UnknownMeasurement: "unknown-measurement",
    errors.WrongStatus: "wrong-status",
    errors.TooManyPending: "too-many-pending",
    errors.VersionOutdated: "version-outdated",
    errors.VersionRequired: "version-required",
    errors.IdempotencyConflict: "idempotency-conflict",
    errors.StorageReadOnly: "storage-read-only",
    errors.StorageUnmigrated: "storage-unmigrated",
    errors.StorageNewer: "storage-newer",
    errors.StorageUnavailable: "storage-unavailable",
}
# Status of each type, beside those of `problems.STATUSES`.
STATUSES: Mapping[str, int] = {
    "key-required": 401,
    "key-unknown": 401,
    "key-revoked": 401,
    "scope-missing": 403,
    "unknown-measurement": 404,
    "wrong-status": 409,
    "too-many-pending": 409,
    "version-outdated": 412,
    "version-required": 428,
    "idempotency-conflict": 422,
    "storage-read-only": 503,
    "storage-unmigrated": 503,
    "storage-newer": 503,
    "storage-unavailable": 503,
}
# Values that are members of the problem too, for programs.
MEMBERS: Mapping[str, tuple[str, ...]] = {"too-many-pending": ("limit", "pending", "submitted")}


def headers(error: errors.Refused) -> tuple[tuple[str, str], ...]:
    """Headers of the answer: how to authenticate (RFC 6750), when to come again."""
    match error:
        case errors.KeyRequired():
            return (("WWW-Authenticate", _REALM),)
        case errors.KeyUnknown() | errors.KeyRevoked():
            return (("WWW-Authenticate", f'{_REALM}, error="invalid_token"'),)
        case errors.ScopeMissing(values={"scope": scope}):
            return (("WWW-Authenticate", f'{_REALM}, error="insufficient_scope", scope="{scope}"'),)
        case errors.StorageUnavailable():
            return (_RETRY,)
        case _:
            return ()
