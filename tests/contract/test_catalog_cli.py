"""`sizing catalog`: checks all facts, lists what is old, and writes model files that the server reads."""

import json
import re
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from service.catalog import Catalog, load_catalog
from service.catalog.ages import age
from service.cli import main
from service.settings import Settings
from tests.operators import GPUS, OFFERS, example, lay

CONFIG = Settings().config_path
TODAY = "2026-11-30"


@pytest.fixture(autouse=True)
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CATALOG_PATH", raising=False)


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["catalog", *map(str, words)])


def published(catalog: Catalog, name: str) -> dict:
    """The config.json of a shipped model, as its repository has it."""
    return yaml.safe_load((CONFIG / f"models/{name}.yaml").read_text(encoding="utf-8"))["config"]


def config_file(folder: Path, config: dict, total_size: int | None = None) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    if total_size is not None:
        index = {"metadata": {"total_size": total_size}, "weight_map": {}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    return path


def rows(output: str) -> list[list[str]]:
    """Cells of the tables' first lines."""
    return [
        [cell.strip() for cell in line.strip("│").split("│")] for line in output.splitlines() if "│" in line
    ]


# check


def test_check_counts_the_facts_and_names_the_digest(tmp_path: Path) -> None:
    """Shipped facts and the operator's are loaded as the server loads them."""
    result = run("check", "--folder", lay(tmp_path))
    assert result.exit_code == 0
    own = load_catalog(CONFIG, tmp_path)
    assert own.digest in result.output
    found = {row[0]: row[1:] for row in rows(result.output)}
    assert found["Models"] == [str(len(own.models)), "1"]
    assert found["GPUs"] == [str(len(own.gpus)), "1"]
    assert found["Offers"] == [str(len(own.offers)), "1"]


def test_check_takes_the_folder_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an option it checks what the server would serve."""
    monkeypatch.setenv("CATALOG_PATH", str(lay(tmp_path)))
    assert load_catalog(CONFIG, tmp_path).digest in run("check").output


def test_check_names_a_wrong_fact_and_fails(tmp_path: Path) -> None:
    """Status 1, file, place and reason, and no traceback."""
    lay(tmp_path, {GPUS: example()[GPUS].replace("gb: 24", "gb: much")})
    result = run("check", "--folder", tmp_path)
    assert result.exit_code == 1
    assert f"{tmp_path}/{GPUS}: [rtx-a5000-24gb].memory.gb: must be a whole number" in result.stderr
    assert "Traceback" not in result.output


def test_every_command_names_a_wrong_fact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that needs the facts ends with the same message."""
    lay(tmp_path, {GPUS: example()[GPUS].replace("gb: 24", "gb: much")})
    monkeypatch.setenv("CATALOG_PATH", str(tmp_path))
    monkeypatch.setattr("service.cli.openapi.configure_logs", lambda level: None)
    result = CliRunner().invoke(main, ["openapi"])
    assert result.exit_code == 1
    assert f"{tmp_path}/{GPUS}: [rtx-a5000-24gb].memory.gb" in result.stderr


def test_check_lists_a_price_by_its_age(tmp_path: Path) -> None:
    """A price of 2026-11-02 is listed where that is too long ago; only strictness fails on it."""
    lay(tmp_path)
    days = (datetime.now(UTC).date() - date(2026, 11, 2)).days
    result = run("check", "--folder", tmp_path, "--older-than", days - 1)
    assert result.exit_code == 0
    [row] = [row for row in rows(result.output) if row[1].startswith("Acme on premises")]
    assert row == [
        "offer",
        "Acme on premises: 1 × rtx-a5000-24gb, on-demand",
        "2026-11-02",
        str(days),
        "operator",
        "internal price list",
    ]
    assert "Acme on premises" not in run("check", "--folder", tmp_path, "--older-than", days).output
    assert run("check", "--folder", tmp_path, "--strict").exit_code == 1


def test_check_lists_undated_and_future_prices(tmp_path: Path) -> None:
    """What may be old, and what cannot be true, is not passed over."""
    undated = example()[OFFERS].replace("as_of: '2026-11-02'", "as_of: null\n  as_of_estimate: some time")
    later = example()[OFFERS].replace("'2026-11-02'", "'2999-01-01'").replace("count: 1", "count: 2")
    lay(tmp_path, {**example(), OFFERS: undated + later})
    result = run("check", "--folder", tmp_path, "--older-than", 36500)
    found = {row[2]: row[3] for row in rows(result.output) if row[1].startswith("Acme")}
    assert found == {"some time": "unknown", "2999-01-01": "in the future"}


def test_check_lists_measurements_by_source() -> None:
    """Every measurement is older than no days at all; a source stands once, with its count."""
    result = run("check", "--older-than", 0)
    catalog = load_catalog(CONFIG)
    total = sum(map(len, catalog.measurements.values()))
    assert f"Measurements older than 0 days, by source: {total}." in result.output
    counted = [int(row[1].split()[0]) for row in rows(result.output) if row[0] == "measurements"]
    assert sum(counted) == total
    assert len(counted) == len({m.source for found in catalog.measurements.values() for m in found})


@pytest.mark.parametrize(
    ("seen", "days"),
    [
        ("2026-11-29", 1),
        ("2026-11", 29),  # at most since the first of the month
        ("2026", 333),  # since 1 January: 365 - 32 days
        ("2025-11 to 2026-02 (undated)", 394),  # since the first of the months: 365 + 29
        ("2023-24", 1429),  # the year 2023: 2026-11-30 less 2023-01-01
        ("2026-11-31", None),
        ("yesterday", None),
        ("", None),
        ("2026-12-01", -1),
    ],
)
def test_an_age_is_the_greatest_that_a_date_allows(seen: str, days: int | None) -> None:
    """Counted from the first day of a period, so that no price looks younger than it may be."""
    assert age(seen, date.fromisoformat(TODAY)) == days


# add


def test_add_writes_a_model_that_the_server_reads(catalog: Catalog, tmp_path: Path) -> None:
    """The parameters and bytes of a shipped model come out of its config and index alone."""
    config = config_file(tmp_path, published(catalog, "qwen3-8b"), 16_381_470_720)
    folder = tmp_path / "catalog"
    result = run("add", config, "--repository", "acme/Support_8B", "--license", "mit", "--to", folder)
    assert result.exit_code == 0, result.output
    added = load_catalog(CONFIG, folder).models["support_8b"]
    shipped = catalog.models["qwen3-8b"]
    assert added.architecture == shipped.architecture
    # Qwen3 8B: 8,190,735,360 parameters in 16 bits.
    assert (added.parameters_total, added.parameters_active) == (8_190_735_360, 8_190_735_360)
    assert (added.native_bytes, added.native_evidence) == (2 * 8_190_735_360, "checkpoint")
    assert added.parameters_exact
    assert (added.license, added.released, added.publisher) == ("mit", None, "acme")
    assert added.evidence == "derived"
    assert added.support["vllm"].status == "yes"
    assert added.support["vllm"].note == "as other models of the class Qwen3ForCausalLM"
    assert "8,190,735,360" in result.output


@pytest.mark.parametrize(
    ("name", "total", "active"),
    [
        ("gpt-oss-20b", 20_914_757_184, 4_187_440_704),
        ("gemma-4-26b-a4b-it", None, None),
        ("deepseek-v3.2-685b", None, None),
    ],
)
def test_add_computes_what_the_catalog_states(
    catalog: Catalog, tmp_path: Path, name: str, total: int | None, active: int | None
) -> None:
    """Totals and active parameters are those of the shipped files, which come from the publishers."""
    config = config_file(tmp_path, published(catalog, name))
    result = run("add", config, "--repository", f"acme/{name}", "--id", "again", "--to", tmp_path / "catalog")
    assert result.exit_code == 0, result.output
    added, shipped = load_catalog(CONFIG, tmp_path / "catalog").models["again"], catalog.models[name]
    assert added.parameters_total == (total or shipped.parameters_total)
    assert added.parameters_active == (active or shipped.parameters_active)
    assert added.architecture == shipped.architecture
    # Without an index the bytes are computed and nothing is called exact.
    assert not added.parameters_exact
    assert added.native_evidence in ("config", "estimate")


def test_add_says_what_it_did_not_recognise(catalog: Catalog, tmp_path: Path) -> None:
    """A class without a parser is read by usual names; fields that it cannot use are named and kept."""
    config = {**published(catalog, "qwen3-8b"), "architectures": ["AcmeForCausalLM"], "model_type": "acme"}
    config |= {"mtp_layers": 2, "num_nextn_predict_layers": 1}
    result = run(
        "add", config_file(tmp_path, config), "--repository", "acme/x1", "--to", tmp_path / "catalog"
    )
    assert result.exit_code == 0, result.output
    text = re.sub(r"\s+", " ", result.output)
    assert "AcmeForCausalLM" in text
    assert "num_nextn_predict_layers" in text
    added = load_catalog(CONFIG, tmp_path / "catalog").models["x1"]
    assert "num_nextn_predict_layers" in (added.notes or "")
    assert added.architecture.generic


def test_add_tells_of_an_index_that_disagrees(catalog: Catalog, tmp_path: Path) -> None:
    """Half the bytes cannot be this checkpoint at 16 bits: the index counts, and is doubted aloud."""
    config = config_file(tmp_path, published(catalog, "qwen3-8b"), 8_190_735_360)
    result = run("add", config, "--repository", "acme/x2", "--to", tmp_path / "catalog")
    assert result.exit_code == 0
    assert "but the config gives" in re.sub(r"\s+", " ", result.output)
    added = load_catalog(CONFIG, tmp_path / "catalog").models["x2"]
    assert (added.native_bytes, added.parameters_exact) == (8_190_735_360, False)


def test_add_replaces_nothing_unasked(catalog: Catalog, tmp_path: Path) -> None:
    """An existing file, and a shipped model, need --force."""
    config = config_file(tmp_path, published(catalog, "qwen3-8b"))
    folder = tmp_path / "catalog"
    words = ("add", config, "--repository", "acme/x3", "--to", folder)
    assert run(*words, "--name", "First").exit_code == 0
    again = run(*words, "--name", "Second")
    assert again.exit_code == 1
    assert "--force" in again.stderr
    assert load_catalog(CONFIG, folder).models["x3"].name == "First"
    assert run(*words, "--name", "Second", "--force").exit_code == 0
    assert load_catalog(CONFIG, folder).models["x3"].name == "Second"
    hidden = run("add", config, "--repository", "acme/Qwen3-8B", "--to", folder)
    assert hidden.exit_code == 1
    assert "shipped model" in hidden.stderr


def test_add_repairs_its_own_file(catalog: Catalog, tmp_path: Path) -> None:
    """A broken file of the same id does not stand in the way of its replacement."""
    folder = lay(tmp_path / "catalog", {"models/x4.yaml": "id: x5\n"})
    config = config_file(tmp_path, published(catalog, "qwen3-8b"))
    assert run("add", config, "--repository", "acme/x4", "--to", folder, "--force").exit_code == 0
    assert "x4" in load_catalog(CONFIG, folder).models


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        ("{", ("--repository", "acme/x"), "is not JSON"),
        ("[]", ("--repository", "acme/x"), "is not a JSON object"),
        ("[" * 100_000, ("--repository", "acme/x"), "is not JSON"),
        ("{}", ("--repository", "acme/x"), "cannot be read"),
        ('{"architectures": ["Qwen3ForCausalLM"]}', ("--repository", "acme/x"), "hidden_size"),
        ("{}", (), "--repository owner/name"),
        ("{}", ("--repository", "acme"), "--repository owner/name"),
        ("{}", ("--repository", "acme/x", "--id", "Not An Id"), "--id"),
        ("{}", ("--repository", "acme/x", "--id", "../x"), "--id"),
        ("{}", ("--repository", "acme/模型"), "--id"),
    ],
)
def test_add_says_what_is_wrong(tmp_path: Path, content: str, words: tuple[str, ...], message: str) -> None:
    """A sentence and status 1; nothing is written."""
    path = tmp_path / "config.json"
    path.write_text(content, encoding="utf-8")
    result = run("add", path, *words, "--to", tmp_path / "catalog")
    assert result.exit_code == 1
    assert message in result.stderr
    assert not (tmp_path / "catalog").exists()


def test_add_writes_nothing_into_a_folder_that_does_not_load(catalog: Catalog, tmp_path: Path) -> None:
    """A wrong neighbour is named first: the new file could not be proven."""
    folder = lay(tmp_path / "catalog", {GPUS: "[]", "models/wrong.yaml": "id: wrong"})
    config = config_file(tmp_path, published(catalog, "qwen3-8b"))
    result = run("add", config, "--repository", "acme/x6", "--to", folder)
    assert result.exit_code == 1
    assert f"{folder}/models/wrong.yaml" in result.stderr
    assert [path.name for path in (folder / "models").iterdir()] == ["wrong.yaml"]


def test_add_needs_a_folder(catalog: Catalog, tmp_path: Path) -> None:
    """Neither --to nor CATALOG_PATH: nowhere to write."""
    config = config_file(tmp_path, published(catalog, "qwen3-8b"))
    result = run("add", config, "--repository", "acme/x7")
    assert result.exit_code == 1
    assert "CATALOG_PATH" in result.stderr
