"""Counts of workers that ended stay in the sums, in one file a type."""

import fcntl
from pathlib import Path

import pytest
from prometheus_client.mmap_dict import MmapedDict, mmap_key
from prometheus_client.multiprocess import MultiProcessCollector

from service.api import metric_files
from service.api.metric_files import fold_ended, reading

ASKED = mmap_key("asked", "asked_total", ["route"], ["a"], "Requests.")
OTHER = mmap_key("asked", "asked_total", ["route"], ["b"], "Requests.")


def write(folder: Path, name: str, counts: dict[str, float]) -> Path:
    path = folder / name
    values = MmapedDict(str(path))
    for key, value in counts.items():
        values.write_value(key, value, 0)
    values.close()
    return path


def total(folder: Path) -> dict[str, float]:
    """What a scrape would print, by route."""
    [metric] = MultiProcessCollector.merge([str(path) for path in folder.glob("*.db")])
    return {sample.labels["route"]: sample.value for sample in metric.samples}


def test_counts_of_ended_workers_are_kept_in_one_file(tmp_path: Path) -> None:
    """Sums before and after are the same, whatever number of workers has ended."""
    for pid in range(1, 41):
        write(tmp_path, f"counter_{pid}.db", {ASKED: pid, **({OTHER: 1} if pid % 2 else {})})
    before = total(tmp_path)
    assert before == {"a": 820, "b": 20}  # 40 × 41 / 2
    for pid in range(1, 40):
        fold_ended(str(tmp_path), pid)
        assert total(tmp_path) == before
    assert {path.name for path in tmp_path.glob("*.db")} == {"counter_40.db", "counter_ended.db"}


def test_gauges_and_running_workers_are_left_alone(tmp_path: Path) -> None:
    """Only counts of the worker that ended are moved."""
    kept = {"gauge_livesum_7.db", "counter_8.db", "histogram_8.db"}
    for name in (*kept, "histogram_7.db"):
        write(tmp_path, name, {ASKED: 1})
    fold_ended(str(tmp_path), 7)
    assert {path.name for path in tmp_path.glob("*.db")} == {*kept, "histogram_ended.db"}


def test_a_file_that_was_cut_off_stays(tmp_path: Path) -> None:
    """A worker that was killed while it wrote ends no server."""
    path = write(tmp_path, "counter_9.db", {ASKED: 1})
    path.write_bytes(b"\xff\x00\x00\x00" + path.read_bytes()[4:12] + b"\x7f" * 40)
    fold_ended(str(tmp_path), 9)
    assert path.exists()


def test_a_worker_without_files_changes_nothing(tmp_path: Path) -> None:
    """Nor does a folder that is gone."""
    fold_ended(str(tmp_path), 1)
    fold_ended(str(tmp_path / "gone"), 1)
    assert not list(tmp_path.glob("*.db"))


def test_a_scrape_and_a_fold_wait_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a scrape reads, nothing is moved; a fold gives up rather than hold the server."""
    monkeypatch.setattr(metric_files, "_PATIENCE_SECONDS", 0.05)
    path = write(tmp_path, "counter_3.db", {ASKED: 1})
    with reading(str(tmp_path)):
        fold_ended(str(tmp_path), 3)
        assert path.exists()
    fold_ended(str(tmp_path), 3)
    assert not path.exists()
    with (tmp_path / "lock").open("ab") as lock:  # free again
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_one_process_has_no_folder_to_lock() -> None:
    with reading(None):
        pass
