"""The commands around uploads: keys are shown once, imports can be repeated, backups are whole."""

import json
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner

from service.cli import main
from service.measurements.database import Database
from service.measurements.keys import Scope, authenticate, list_keys
from service.measurements.reading import everything
from service.measurements.schema import look
from service.measurements.store import Act, submit
from service.measurements.submission import Status
from tests.uploads import ROW, SUBMISSION, known_key


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("STATE_PATH", str(tmp_path / "state"))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    return Database(None, tmp_path / "state")


def run(*arguments, status=0):
    done = CliRunner().invoke(main, list(map(str, arguments)), env={"COLUMNS": "200"})
    assert done.exit_code == status, done.output
    return done


def test_a_key_is_shown_once(state):
    """Its text is the one line of the output; no list shows it again."""
    done = run("keys", "create", "Benchmark lab", "--scope", "submit", "--scope", "review")
    [text] = done.stdout.splitlines()
    key = authenticate(state, f"Bearer {text}")
    assert (key.name, key.scopes) == ("Benchmark lab", frozenset(Scope))
    listed = run("keys", "list").stdout
    assert key.id in listed
    assert "Benchmark lab" in listed
    assert text.split("_", 2)[2] not in listed
    assert run("keys", "revoke", key.id).exit_code == 0
    assert list_keys(state)[0].revoked_at is not None
    assert "no key" in run("keys", "revoke", "nothing", status=1).output


def test_a_key_submits_by_default(state):
    [text] = run("keys", "create", "lab").stdout.splitlines()
    assert authenticate(state, f"Bearer {text}").scopes == {Scope.SUBMIT}
    run("keys", "create", "two\nlines", status=1)
    run("keys", "create", "lab", "--scope", "admin", status=2)


def test_looking_makes_nothing(state, tmp_path):
    run("keys", "list")
    run("audit")
    run("backup", tmp_path / "copy", status=1)
    run("export-measurements", tmp_path / "none.json")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("form", ["json", "csv"])
def test_an_import_can_be_repeated_and_names_what_it_refuses(state, tmp_path, form):
    """Good rows are stored once, wrong ones named with number and reason, and the status says so."""
    rows = [
        {"model": "qwen3-8b", "gpu": "rtx-4090", "decode_tokens_per_second": 100, "note": "=1+1"},
        {"model": "qwen3-8b", "gpu": "rtx-4090", "quantization": "q4_k_m", "decode_tokens_per_second": 9000},
        {"model": "qwen3-8", "gpu": "rtx-4090", "decode_tokens_per_second": 10},
    ]
    file = tmp_path / f"rows.{form}"
    if form == "json":
        file.write_text(json.dumps({"measurements": rows}))
    else:
        header = ["model", "gpu", "quantization", "decode_tokens_per_second", "note"]
        lines = [header, *([str(row.get(name, "")) for name in header] for row in rows)]
        file.write_text("\n".join(",".join(line) for line in lines))
    done = run("import-measurements", file, status=1)
    assert "1 stored, 0 there already, 2 refused" in done.output
    assert f"{file.name}, row 2: " in done.output
    assert "GB/s" in done.output
    assert f"{file.name}, row 3: " in done.output
    assert "qwen3-8b" in done.output
    assert "0 stored, 1 there already, 2 refused" in run("import-measurements", file, status=1).output
    [found] = everything(state)
    assert (found.status, found.submission.note) == (Status.PENDING, "=1+1")


@pytest.mark.parametrize("content", ["{", '"text"', "[1"])
def test_files_that_are_no_measurements_are_refused(state, tmp_path, content):
    file = tmp_path / "rows.json"
    file.write_text(content)
    assert "Traceback" not in run("import-measurements", file, status=1).output


@pytest.mark.parametrize("form", ["json", "csv"])
def test_an_export_is_what_an_import_takes(state, tmp_path, form, monkeypatch):
    """Every stated field survives export and import; formulas are guarded in between."""
    source = tmp_path / "in.json"
    source.write_text(json.dumps([{**ROW, "note": "=1+1", "log": "a\nb"}]))
    run("import-measurements", source)
    file = tmp_path / f"out.{form}"
    assert "0 measurements" in run("export-measurements", file).output  # published ones only
    run("export-measurements", "--status", "all", file)
    assert ("'=1+1" in file.read_text()) == (form == "csv")
    monkeypatch.setenv("STATE_PATH", str(tmp_path / "other"))
    run("import-measurements", file)
    [before], [after] = everything(state), everything(Database(None, tmp_path / "other"))
    names = {"published_model", "published_gpu"}
    for name in SUBMISSION.__slots__:
        if name not in names:
            assert getattr(before.submission, name) == getattr(after.submission, name), name


def test_writes_can_be_audited(state):
    """Every write with key, row and request, as a table and as JSON lines, from a day on."""
    key = known_key(state, name="[red]lab")
    [name] = submit(state, [SUBMISSION], Act(key, 1_796_000_000.0, "request-7")).ids
    shown = run("audit").stdout
    for text in ("[red]lab", key.id, "create-key", "submit", name, "2026-11-30T00:53:20Z", "request-7"):
        assert text in shown
    lines = [json.loads(line) for line in run("audit", "--json").stdout.splitlines()]
    assert lines[-1] == {
        "at": "2026-11-30T00:53:20Z",
        "key_id": key.id,
        "key_name": "[red]lab",
        "action": "submit",
        "subject": name,
        "request_id": "request-7",
    }
    assert len(lines) == 2
    assert run("audit", "--json", "--limit", "1").stdout.splitlines() == [json.dumps(lines[-1])]
    assert run("audit", "--json", "--since", "2200-01-01").stdout == ""
    run("audit", "--since", "yesterday", status=2)


def test_a_backup_is_a_whole_database(state, tmp_path):
    """One checked file, with everything that was acknowledged, taken while connections are open."""
    key = known_key(state)
    with state.read():
        run("backup", tmp_path / "copy.sqlite3")
    with closing(sqlite3.connect(tmp_path / "copy.sqlite3")) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert copy.execute("SELECT id FROM api_key").fetchall() == [(key.id,)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.sqlite3", "state"]
    assert (tmp_path / "copy.sqlite3").stat().st_mode & 0o077 == 0
    assert "exists already" in run("backup", tmp_path / "copy.sqlite3", status=1).output


def test_migrations_are_run_by_hand_too(state):
    """Forward, back, and twice without harm; each says what it did."""
    assert "from nothing to 0003" in run("migrate").output
    assert "Nothing to do" in run("migrate").output
    assert "from 0003 to 0001" in run("migrate", "--to", "0001").output
    assert "from 0001 to 0003" in run("migrate").output
    for wrong in ("0004", "base", "abc"):
        run("migrate", "--to", wrong, status=2)
    assert look(state).schema == 3
