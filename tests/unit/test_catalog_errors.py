"""A wrong fact stops the start and says where it is."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from service.catalog import load_catalog
from service.catalog.check import main
from service.errors import CatalogError

CONFIG = Path(__file__).resolve().parents[2] / "config"
MODEL = "models/qwen3-8b.yaml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The facts with one model only."""
    (tmp_path / "models").mkdir()
    for name in (
        MODEL,
        "gpus.yaml",
        "offers.yaml",
        "costs.yaml",
        "exchange_rates.yaml",
        "speed.yaml",
        "engines.yaml",
        "quantizations.yaml",
    ):
        shutil.copy(CONFIG / name, tmp_path / name)
    return tmp_path


def edit(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_the_folder_of_the_test_loads(folder: Path) -> None:
    """The cases below fail for the one change that each makes."""
    assert set(load_catalog(folder).models) == {"qwen3-8b"}


@pytest.mark.parametrize(
    ("file", "old", "new", "path", "reason"),
    [
        (MODEL, "family: Qwen3", "famly: Qwen3", "", ""),
        (MODEL, "released: 2025-04", "released: April", "released", "not valid"),
        (MODEL, "license: apache-2.0", "license: apache-2.0\nlicense: mit", "line", "repeated key"),
        (MODEL, "  exact: true", "  exact: yes", "parameters.exact", "true or false"),
        (MODEL, "  bytes: 16381470720", "  bytes: 16381470720.0", "native_weights.bytes", "whole number"),
        (MODEL, "  bytes: 16381470720", "  bytes: '16381470720'", "native_weights.bytes", "whole number"),
        (MODEL, "  bytes: 16381470720", "  bytes: null", "native_weights.bytes", "unknown"),
        (MODEL, "  q8_0:", "  q8_00:", "gguf_bytes", "q8_00"),
        (MODEL, "  vllm:", "  vlm:", "support", "vlm"),
        (MODEL, "status: 'yes'", "status: perhaps", "support.vllm.status", "yes, no, unknown"),
        (MODEL, "Qwen3ForCausalLM", "Qwen99ForCausalLM", "config", "Qwen99ForCausalLM"),
        (MODEL, "id: qwen3-8b", "id: qwen3-8", "id", "name of the file"),
        (MODEL, "id: qwen3-8b", "id: [qwen3-8b", "line", ""),
        (
            "gpus.yaml",
            "driver_mib: 12288",
            "driver_mib: -1",
            "[rtx-3060-12gb].memory.driver_mib",
            "at least 1",
        ),
        ("gpus.yaml", "driver_evidence: calibrated\n    ", "", "[rtx-3060-12gb].memory", "evidence"),
        ("gpus.yaml", "{engine: vllm, backend: cuda}", "{engine: vllm2, backend: cuda}", "engines", "vllm2"),
        ("gpus.yaml", "id: rtx-4060-ti-16gb", "id: rtx-3060-12gb", "id", "twice"),
        ("gpus.yaml", "kind: consumer", "kind: gaming", "kind", "consumer"),
        ("offers.yaml", "gpu: b300-288gb", "gpu: b301", "[0].gpu", "b301"),
        ("offers.yaml", "usd_per_hour: 55.52", "usd_per_hour: 0", "[0].usd_per_hour", "above zero"),
        ("offers.yaml", "as_of: '2026-11-05'", "as_of: '2026-11-31'", "[0].as_of", "not valid"),
        ("exchange_rates.yaml", "  CNY: 7.4326\n", "", "per_euro.CNY", "must be there"),
        ("exchange_rates.yaml", "USD: 1.1172", "USD: 0", "per_euro", "above zero"),
        ("exchange_rates.yaml", "as_of: '2026-10-30'", "as_of: '2026-12-24'", "as_of", "later than the day"),
        ("exchange_rates.yaml", "evidence: published", "evidence: guessed", "evidence", "published"),
        ("engines.yaml", "support_from: llama.cpp", "support_from: llamacpp", "[ollama]", "llamacpp"),
        ("quantizations.yaml", "engines: [mlx]", "engines: [mlx2]", "engines", "mlx2"),
    ],
)
def test_a_wrong_fact_is_named(folder: Path, file: str, old: str, new: str, path: str, reason: str) -> None:
    """The error says which file, where in it, and why; nothing is coerced, ignored or left out."""
    edit(folder, file, old, new)
    with pytest.raises(CatalogError) as error:
        load_catalog(folder)
    assert error.value.file == file
    assert path in error.value.path
    assert reason in error.value.reason


def test_a_fact_needs_a_source(folder: Path) -> None:
    """Facts without a source are not facts."""
    text = (folder / MODEL).read_text(encoding="utf-8")
    head, _, rest = text.partition("\nsources:")
    (folder / MODEL).write_text(
        head + "\nsources: []\nnotes:" + rest.partition("\nnotes:")[2], encoding="utf-8"
    )
    with pytest.raises(CatalogError) as error:
        load_catalog(folder)
    assert error.value.path == "sources"


@pytest.mark.parametrize(
    "file",
    [
        "gpus.yaml",
        "offers.yaml",
        "costs.yaml",
        "exchange_rates.yaml",
        "speed.yaml",
        "engines.yaml",
        "quantizations.yaml",
        MODEL,
    ],
)
def test_a_missing_file_is_named(folder: Path, file: str) -> None:
    """An empty catalog is never served."""
    (folder / file).unlink()
    with pytest.raises(CatalogError):
        load_catalog(folder)


def test_the_checker_fails_on_a_wrong_fact(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`make check` stops on it and prints the place."""
    edit(folder, MODEL, "total: ", "total: -")
    assert main([str(folder)]) == 1
    assert "parameters.total" in capsys.readouterr().err


def changed(folder: Path, change: Callable[[Path], object]) -> bool:
    before = load_catalog(folder).digest
    change(folder)
    return load_catalog(folder).digest != before


def test_the_digest_follows_every_fact_and_nothing_else(folder: Path) -> None:
    """A changed price changes every key; a file that holds no facts does not."""
    assert not changed(folder, lambda root: (root / "gunicorn.conf.py").write_text("workers = 2\n"))
    assert not changed(folder, lambda root: (root / MODEL).touch())
    assert changed(
        folder, lambda root: edit(root, "offers.yaml", "usd_per_hour: 55.52", "usd_per_hour: 55.53")
    )
    assert changed(folder, lambda root: edit(root, MODEL, "checked: '2026-11-30'", "checked: '2026-12-01'"))
    assert len(load_catalog(folder).digest) == 16
