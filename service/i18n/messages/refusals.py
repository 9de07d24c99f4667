"""Problem types of uploaded measurements: who may write, what was written before, whether it can be kept."""

from collections.abc import Mapping

from service.i18n.marking import mark

REFUSALS: Mapping[str, tuple[str, str]] = {
    "key-required": (
        mark("API key required"),
        mark(
            "This needs an API key, sent as “Authorization: Bearer …”; whoever runs the service issues them."
        ),
    ),
    "key-unknown": (
        mark("Unknown API key"),
        mark("The credentials are not an API key of this service."),
    ),
    "key-revoked": (
        mark("Revoked API key"),
        mark("The API key was revoked and is no longer valid."),
    ),
    "scope-missing": (
        mark("API key without the scope"),
        mark("The API key does not have the scope “%(scope)s”, which this needs."),
    ),
    "unknown-measurement": (
        mark("Unknown measurement"),
        mark("There is no measurement “%(name)s” that may be seen here."),
    ),
    "wrong-status": (
        mark("Status cannot change like this"),
        mark("The measurement has the status “%(status)s”; from there it can only become %(allowed)s."),
    ),
    "too-many-pending": (
        mark("Too many measurements wait for review"),
        mark(
            "Measurements of this API key that may wait for review: at most %(limit)s. Waiting now: "
            "%(pending)s; in this request: %(submitted)s. Nothing was stored; every review makes room."
        ),
    ),
    "version-outdated": (
        mark("Changed in the meantime"),
        mark(
            "“If-Match” does not name the present version of the measurement: someone has reviewed it since. "
            "Read it again and decide anew."
        ),
    ),
    "version-required": (
        mark("Version required"),
        mark(
            "A review must name the version that it was made on: send the “ETag” of the measurement as "
            "“If-Match”."
        ),
    ),
    "idempotency-conflict": (
        mark("Idempotency key used before"),
        mark("The “Idempotency-Key” was sent before with another body; a new submission takes a new one."),
    ),
    "storage-read-only": (
        mark("Storage is read-only"),
        mark("The database or its folder cannot be written. Nothing was stored."),
    ),
    "storage-unmigrated": (
        mark("Database not migrated"),
        mark(
            "The database does not have the tables of this version yet: “sizing migrate” brings them up to "
            "date."
        ),
    ),
    "storage-newer": (
        mark("Database of a newer version"),
        mark(
            "A newer version of the service has changed the database so that this one must not write to it."
        ),
    ),
    "storage-unavailable": (
        mark("Storage unavailable"),
        mark(
            "The database does not answer at the moment. Nothing was confirmed; please try again later, with "
            "the same Idempotency-Key if you sent one."
        ),
    ),
}
