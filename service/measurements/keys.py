"""API keys: random, shown once, kept as a digest; each with the scopes that it has.

A key is 256 random bits, so one round of SHA-256 keeps it: there is nothing to guess from a dictionary, and
a slow digest would only let strangers burn the processor (docs/adr/0010-storage-and-keys.md).
"""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from service.measurements.database import Database
from service.measurements.errors import KeyRequired, KeyRevoked, KeyUnknown, ScopeMissing
from service.measurements.schema import Condition, look, writing
from service.measurements.tables import api_key, audit

_ID_BYTES = 6
_SECRET_BYTES = 32
_FORM = re.compile(r"sizing_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_NOBODY = "0" * 64  # what the secret of an unknown key is compared with


class Scope(StrEnum):
    """What a key may do."""

    SUBMIT = "submit"
    REVIEW = "review"


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret. created_at, revoked_at: Unix seconds. last_used_on: day of the last write."""

    id: str
    name: str
    scopes: frozenset[Scope]
    created_at: int
    revoked_at: int | None = None
    last_used_on: str | None = None

    def demand(self, scope: Scope) -> None:
        """Raises ScopeMissing."""
        if scope not in self.scopes:
            raise ScopeMissing(scope=str(scope))


def create_key(database: Database, name: str, scopes: frozenset[Scope], now: float) -> tuple[Key, str]:
    """A new key and its text, which nothing can show again. Raises StorageFault."""
    key_id, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
    key = Key(key_id, name, scopes, int(now))
    with writing(database) as connection:
        connection.execute(
            sa.insert(api_key).values(
                id=key_id,
                name=name,
                digest=_digest(secret),
                scopes=" ".join(sorted(scopes)),
                created_at=int(now),
            )
        )
        record(connection, key_id, "create-key", (key_id,), now)
    return key, f"sizing_{key_id}_{secret}"


def revoke_key(database: Database, key_id: str, now: float) -> Key:
    """The key, revoked now or before. Raises KeyUnknown, StorageFault."""
    with writing(database) as connection:
        row = _row(connection, key_id)
        if row is None:
            raise KeyUnknown(name=key_id)
        if row.revoked_at is None:
            connection.execute(sa.update(api_key).where(api_key.c.id == key_id).values(revoked_at=int(now)))
            record(connection, key_id, "revoke-key", (key_id,), now)
        found = _row(connection, key_id)
        assert found is not None  # read in the same transaction
        return _key(found)


def list_keys(database: Database) -> list[Key]:
    """All keys, the oldest first; none where there is no database yet. Raises StorageUnavailable."""
    if not look(database).readable:
        return []
    with database.read() as connection:
        rows = connection.execute(sa.select(api_key).order_by(api_key.c.created_at, api_key.c.id))
        return [_key(row) for row in rows]


def authenticate(database: Database, header: str | None) -> Key:
    """The key of an Authorization header.

    Raises KeyRequired without one, KeyUnknown, KeyRevoked, StorageUnavailable.
    """
    if not header or not header.strip():
        raise KeyRequired()
    kind, _, text = header.strip().partition(" ")
    form = _FORM.fullmatch(text.strip()) if kind.lower() == "bearer" else None
    row = None if form is None else _known(database, form[1])
    known = compare_digest(_digest("" if form is None else form[2]), _NOBODY if row is None else row.digest)
    if row is None or not known:
        raise KeyUnknown()
    if row.revoked_at is not None:
        raise KeyRevoked()
    return _key(row)


def mark_used(connection: Connection, key: Key, now: float) -> bool:
    """Remember the day of a write, once a day; whether this was the key's first write of the day."""
    today = datetime.fromtimestamp(now, UTC).date().isoformat()
    if key.last_used_on == today:
        return False
    connection.execute(sa.update(api_key).where(api_key.c.id == key.id).values(last_used_on=today))
    return True


def record(
    connection: Connection,
    key_id: str,
    action: str,
    subjects: Sequence[str],
    now: float,
    request_id: str | None = None,
) -> None:
    """A line of the audit log for each subject, in the transaction of what it tells of."""
    common = {"at": int(now), "key_id": key_id, "action": action, "request_id": request_id}
    connection.execute(sa.insert(audit), [{**common, "subject": subject} for subject in subjects])


def _known(database: Database, key_id: str) -> Row[tuple[object, ...]] | None:
    if not database.exists():
        return None
    with database.read() as connection:
        if not sa.inspect(connection).has_table(api_key.name):
            return None
        return _row(connection, key_id)


def _row(connection: Connection, key_id: str) -> Row[tuple[object, ...]] | None:
    return connection.execute(sa.select(api_key).where(api_key.c.id == key_id)).one_or_none()


def _key(row: Row[tuple[object, ...]]) -> Key:
    values = row._mapping
    scopes = frozenset(Scope(text) for text in values["scopes"].split() if text in set(Scope))
    return Key(
        values["id"],
        values["name"],
        scopes,
        values["created_at"],
        values["revoked_at"],
        values["last_used_on"],
    )


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


__all__ = ["Condition", "Key", "Scope", "authenticate", "create_key", "list_keys", "mark_used", "revoke_key"]
