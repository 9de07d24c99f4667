"""How much of one API key may wait for review at once: what a leaked key can fill the database with."""

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from service.measurements.errors import TooManyPending
from service.measurements.submission import Status
from service.measurements.tables import api_key, measurement


def demand_room(connection: Connection, key_id: str, more: int, limit: int) -> None:
    """Of a key there are at most `limit` pending measurements once `more` have been stored.

    Whoever submits with the same key waits until this transaction ends: two that count before either commits
    would both find room. With SQLite there is one writer anyway. Raises TooManyPending.
    """
    key = sa.select(api_key.c.id).where(api_key.c.id == key_id)
    connection.execute(key.with_for_update(key_share=True))
    pending = connection.execute(
        sa.select(sa.func.count())
        .select_from(measurement)
        .where(measurement.c.key_id == key_id, measurement.c.status == str(Status.PENDING))
    ).scalar_one()
    if pending + more > limit:
        raise TooManyPending(key=key_id, limit=limit, pending=pending, submitted=more)
