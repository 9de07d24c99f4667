"""What can be refused when measurements are written or reviewed; sentences are made at the edge.

Refused
├── KeyRequired           no API key was sent                                    -> 401
├── KeyUnknown            no such key                                            -> 401
├── KeyRevoked            the key was revoked                                    -> 401
├── ScopeMissing          the key may not do this                                -> 403
├── UnknownMeasurement    no measurement has the id, or the caller may not see it -> 404
├── WrongStatus           the measurement cannot go to that status from its own  -> 409
├── TooManyPending        the key has no room left for what is to wait for review   -> 409
├── VersionOutdated       someone reviewed it in between                         -> 412
├── VersionRequired       a review without If-Match                              -> 428
├── IdempotencyConflict   the Idempotency-Key stands for another body            -> 422
└── StorageFault
    ├── StorageUnavailable  the database does not answer                         -> 503
    ├── StorageReadOnly     the database or its folder cannot be written         -> 503
    ├── StorageUnmigrated   the database has an older layout than this server    -> 503
    └── StorageNewer        the database demands a newer server                  -> 503
"""

from service.errors import SizingError


class Refused(SizingError):
    """The root of what is refused; `values` are what the sentence names."""

    def __init__(self, **values: object) -> None:
        super().__init__(", ".join(f"{name}={value}" for name, value in values.items()))
        self.values = values


class KeyRequired(Refused):
    """Writing, and reading what is not published, takes a key."""


class KeyUnknown(Refused):
    """The credentials are no key of this service."""


class KeyRevoked(Refused):
    """The key was valid once."""


class ScopeMissing(Refused):
    """The key lacks the scope; values: `scope`."""


class UnknownMeasurement(Refused):
    """No measurement that the caller may see has the id; values: `name`."""


class WrongStatus(Refused):
    """No way leads from the present status to the one asked for; values: `status`, `wanted`, `allowed`."""


class TooManyPending(Refused):
    """A key may not have so many wait for review; values: `key`, `limit`, `pending` by now, `submitted`."""


class VersionOutdated(Refused):
    """If-Match names another version than the present one."""


class VersionRequired(Refused):
    """A change must name the version that it changes."""


class IdempotencyConflict(Refused):
    """The same Idempotency-Key came with another body."""


class StorageFault(Refused):
    """The database cannot do it now; nothing was confirmed."""


class StorageUnavailable(StorageFault):
    """No answer from the database, or it is full."""


class StorageReadOnly(StorageFault):
    """The database's file or folder cannot be written."""


class StorageUnmigrated(StorageFault):
    """`sizing migrate` has to be run first."""


class StorageNewer(StorageFault):
    """A newer version of the service owns the database."""
