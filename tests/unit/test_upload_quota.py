"""How many measurements of one key may wait for review: counted as they are stored, whoever stores beside."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from service.measurements import schema
from service.measurements.database import Database
from service.measurements.errors import TooManyPending
from service.measurements.keys import Key, Scope
from service.measurements.reading import count_pending, everything
from service.measurements.schema import SCHEMA, migrate
from service.measurements.store import Act, Once, import_rows, review, submit
from service.measurements.submission import Status
from service.measurements.tables import audit, idempotency, measurement
from tests.uploads import SUBMISSION, known_key

NOW = 1_796_000_000.0
LIMIT = 5


@pytest.fixture
def database(tmp_path):
    return Database(None, tmp_path / "state")


@pytest.fixture
def act(database):
    return Act(known_key(database), NOW, "request-1")


def lines(database, table):
    with database.read() as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()


def test_a_submission_that_exceeds_is_refused_as_a_whole(database, act):
    """Five may wait: three and two are stored, one more is not, of a batch that is too large nothing is."""
    submit(database, [SUBMISSION] * 3, act, most_pending=LIMIT)
    before = lines(database, audit)
    with pytest.raises(TooManyPending) as refused:
        submit(database, [SUBMISSION] * 3, act, Once("run", "a"), most_pending=LIMIT)
    assert refused.value.values == {"key": act.key.id, "limit": 5, "pending": 3, "submitted": 3}
    assert (len(everything(database)), lines(database, audit)) == (3, before)
    assert lines(database, idempotency) == 0  # the name is still free
    assert not submit(database, [SUBMISSION] * 2, act, Once("run", "b"), most_pending=LIMIT).replayed
    with pytest.raises(TooManyPending):
        submit(database, [SUBMISSION], act, most_pending=LIMIT)
    assert count_pending(database) == 5


def test_each_key_has_a_limit_of_its_own(database, act):
    submit(database, [SUBMISSION] * LIMIT, act, most_pending=LIMIT)
    other = Act(known_key(database), NOW)
    assert len(submit(database, [SUBMISSION] * LIMIT, other, most_pending=LIMIT).ids) == LIMIT


def test_a_repetition_is_answered_where_there_is_no_room(database, act):
    """What was stored once has its receipt for good, also when the key may store nothing more."""
    first = submit(database, [SUBMISSION] * LIMIT, act, Once("run", "a"), most_pending=LIMIT)
    again = submit(database, [SUBMISSION] * LIMIT, act, Once("run", "a"), most_pending=LIMIT)
    assert (again.ids, again.replayed) == (first.ids, True)


@pytest.mark.parametrize("status", [Status.PUBLISHED, Status.REJECTED, Status.WITHDRAWN])
def test_a_review_makes_room(database, act, status):
    """For as many as were reviewed, whatever the review came to."""
    names = submit(database, [SUBMISSION] * LIMIT, act, most_pending=LIMIT).ids
    for name in names[:2]:
        review(database, name, status, act, None, None)
    with pytest.raises(TooManyPending):
        submit(database, [SUBMISSION] * 3, act, most_pending=LIMIT)
    assert len(submit(database, [SUBMISSION] * 2, act, most_pending=LIMIT).ids) == 2


def test_more_than_the_limit_may_wait_already(database, act):
    """A limit that was lowered takes nothing away; what waits has to be reviewed first."""
    submit(database, [SUBMISSION] * LIMIT, act)
    with pytest.raises(TooManyPending) as refused:
        submit(database, [SUBMISSION], act, most_pending=2)
    assert refused.value.values["pending"] == LIMIT
    assert count_pending(database) == LIMIT


def test_an_import_is_not_limited(database, act):
    """Whoever runs the command line could write the file anyway."""
    operator = Act(Key("cli", "command line", frozenset(Scope), 0), NOW)
    submit(database, [SUBMISSION] * LIMIT, act, most_pending=LIMIT)
    assert import_rows(database, [SUBMISSION], operator) == 1


def test_submissions_at_the_same_time_never_exceed(database, act):
    """Sixteen threads submit three each, each with connections of its own: three find room."""

    def attempt(_number):
        own = Database(None, database.path.parent)
        try:
            return len(submit(own, [SUBMISSION] * 3, act, most_pending=10).ids)
        except TooManyPending:
            return 0
        finally:
            own.close()

    with ThreadPoolExecutor(16) as threads:
        stored = list(threads.map(attempt, range(16)))
    assert sorted(stored) == [0] * 13 + [3] * 3
    assert count_pending(database) == 9


def test_counting_reads_the_index_alone(database, act):
    """What other keys have, and what is long reviewed, costs a submission nothing."""
    submit(database, [SUBMISSION], act)
    count = (
        sa.select(sa.func.count())
        .select_from(measurement)
        .where(measurement.c.key_id == act.key.id, measurement.c.status == "pending")
    )
    with database.read() as connection:
        text = str(count.compile(connection, compile_kwargs={"literal_binds": True}))
        plan = [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}")]
    assert plan == ["SEARCH measurement USING COVERING INDEX measurement_by_key (key_id=? AND status=?)"]


def indexes(database):
    with database.read() as connection:
        return {index["name"] for index in sa.inspect(connection).get_indexes("measurement")}


def test_the_index_comes_and_goes_and_the_data_stays(database, act):
    """From 0002 forward and back, and forward again: every row is as it was, and counts."""
    rows = submit(database, [SUBMISSION] * 3, act, Once("run", "a")).ids
    before = everything(database)
    assert migrate(database, "0002") == (SCHEMA, 2)
    assert (indexes(database), everything(database)) == ({"measurement_by_status"}, before)
    assert migrate(database) == (2, SCHEMA)
    assert (indexes(database), everything(database)) == (
        {"measurement_by_status", "measurement_by_key"},
        before,
    )
    assert submit(database, [SUBMISSION] * 3, act, Once("run", "a"), most_pending=3).ids == rows
    with pytest.raises(TooManyPending):
        submit(database, [SUBMISSION], act, most_pending=3)


def test_what_the_version_before_stores_beside_counts(database, act, monkeypatch):
    """In a rolling update servers at 0002 do not count, but this one counts what they store."""
    submit(database, [SUBMISSION], act, most_pending=3)
    monkeypatch.setattr(schema, "SCHEMA", 2)
    submit(database, [SUBMISSION], act)
    monkeypatch.undo()
    with pytest.raises(TooManyPending):
        submit(database, [SUBMISSION] * 2, act, most_pending=3)
    assert len(submit(database, [SUBMISSION], act, most_pending=3).ids) == 1
