"""The operator's own facts: laid over the shipped ones, checked like them, and never taken for them."""

from pathlib import Path

import pytest
import yaml

from service.api.posted import known
from service.catalog import Catalog, load_catalog
from service.core.evidence import Evidence
from service.core.posted import Stated, build_model
from service.core.provenance import ProvidedBy
from service.errors import CatalogError, UnknownModel
from tests.operators import GPUS, MODEL, OFFERS, example, lay

CONFIG = Path(__file__).resolve().parents[2] / "config"
SHIPPED_MODEL = "models/qwen3-8b.yaml"


def shipped(name: str) -> str:
    return (CONFIG / name).read_text(encoding="utf-8")


def loaded(folder: Path, files: dict[str, str] | None = None) -> Catalog:
    return load_catalog(CONFIG, lay(folder, files))


def row_of(name: str, identifier: str) -> dict:
    return next(row for row in yaml.safe_load(shipped(name)) if row["id"] == identifier)


def test_the_documented_example_adds_a_model_a_gpu_and_an_offer(catalog: Catalog, tmp_path: Path) -> None:
    """The files that the document shows load as they stand, after everything that is shipped."""
    own = loaded(tmp_path)
    assert set(example()) == {MODEL, GPUS, OFFERS}
    assert list(own.models) == [*catalog.models, "support-8b"]
    assert list(own.gpus) == [*catalog.gpus, "rtx-a5000-24gb"]
    assert [offer.provider for offer in own.offers[len(catalog.offers) :]] == ["Acme on premises"]
    assert own.find_model("acme/support-8b").id == own.find_model("Support").id == "support-8b"
    assert own.find_gpu("A5000").memory_bytes == 24 * 1024**3
    assert own.find_gpu("A5000").memory_evidence is Evidence.ESTIMATE


def test_every_fact_says_who_provides_it(catalog: Catalog, tmp_path: Path) -> None:
    """The operator's are theirs, all others the catalog's; what the operator vouches for is not verified."""
    own = loaded(tmp_path)
    for before, after in ((catalog.models, own.models), (catalog.gpus, own.gpus)):
        assert {entry.provided_by for entry in before.values()} == {ProvidedBy.CATALOG}
        theirs = [name for name, entry in after.items() if entry.provided_by is ProvidedBy.OPERATOR]
        assert theirs == list(after)[len(before) :]
    assert own.models["support-8b"].evidence == "operator"
    assert own.offers[-1].provided_by is ProvidedBy.OPERATOR
    assert own.offers[0].provided_by is ProvidedBy.CATALOG


def test_the_shipped_facts_stay_as_they_are(catalog: Catalog, tmp_path: Path) -> None:
    """Additions change no other model, GPU or offer."""
    own = loaded(tmp_path)
    assert {name: own.models[name] for name in catalog.models} == dict(catalog.models)
    assert {name: own.gpus[name] for name in catalog.gpus} == dict(catalog.gpus)
    assert own.offers[: len(catalog.offers)] == catalog.offers
    assert own.measurements == catalog.measurements


def test_a_model_replaces_the_shipped_one_as_a_whole(catalog: Catalog, tmp_path: Path) -> None:
    """Nothing of the shipped entry is kept, and its place in the order is."""
    content = example()[MODEL].replace("id: support-8b", "id: qwen3-8b")
    own = loaded(tmp_path, {SHIPPED_MODEL: content})
    assert list(own.models) == list(catalog.models)
    found = own.models["qwen3-8b"]
    assert (found.publisher, found.license, found.released) == ("acme", None, "2026-10")
    assert dict(found.published_files) == {"q4_k_m": 5027783488}  # the shipped one has a q8_0 file too
    assert found.provided_by is ProvidedBy.OPERATOR
    with pytest.raises(UnknownModel):
        own.find_model("Qwen/Qwen3-8B-not")


def test_a_shipped_file_laid_over_itself_is_the_same_model(catalog: Catalog, tmp_path: Path) -> None:
    """Formats are the same: every shipped model and GPU is also an operator's, with the same numbers."""
    files = {f"models/{name}.yaml": shipped(f"models/{name}.yaml") for name in catalog.models}
    own = loaded(tmp_path, {**files, GPUS: shipped(GPUS), OFFERS: shipped(OFFERS)})
    for name, model in catalog.models.items():
        again = own.models[name]
        assert again.architecture == model.architecture, name
        assert (again.parameters_total, again.native_bytes) == (model.parameters_total, model.native_bytes)
        assert again.evidence == ("operator" if model.evidence == "verified" else model.evidence)
    assert [gpu.memory_bytes for gpu in own.gpus.values()] == [g.memory_bytes for g in catalog.gpus.values()]
    assert [offer.usd_per_hour for offer in own.offers] == [offer.usd_per_hour for offer in catalog.offers]
    assert {offer.provided_by for offer in own.offers} == {ProvidedBy.OPERATOR}


def test_a_gpu_replaces_the_shipped_one(catalog: Catalog, tmp_path: Path) -> None:
    """The same id is one accelerator: the operator's."""
    row = {**row_of(GPUS, "rtx-4090"), "tdp_watts": 320, "aliases": []}
    own = loaded(tmp_path, {GPUS: yaml.safe_dump([row])})
    assert list(own.gpus) == list(catalog.gpus)
    assert own.gpus["rtx-4090"].tdp_watts == 320
    assert own.gpus["rtx-4090"].aliases == ()
    assert own.gpus["rtx-4080-super"] == catalog.gpus["rtx-4080-super"]


def test_an_offer_replaces_the_one_for_the_same(catalog: Catalog, tmp_path: Path) -> None:
    """Provider, GPU, count and commitment are an offer's identity; another count is another offer."""
    first = yaml.safe_load(shipped(OFFERS))[0]
    cheaper = {**first, "usd_per_hour": 1.0, "region": "here"}
    other = {**cheaper, "count": first["count"] + 1}
    own = loaded(tmp_path, {OFFERS: yaml.safe_dump([cheaper, other])})
    assert len(own.offers) == len(catalog.offers) + 1
    assert (own.offers[0].usd_per_hour, own.offers[0].region, own.offers[0].id) == (1.0, "here", "offer-1")
    assert own.offers[-1].count == first["count"] + 1
    assert own.offers[1:-1] == catalog.offers[1:]


def test_a_later_price_ages_the_others_and_is_not_younger_than_today(tmp_path: Path) -> None:
    """Shipped prices were collected on 2026-11-30; a price of 31 days later makes them 31 days older."""
    content = example()[OFFERS].replace("as_of: '2026-11-02'", "as_of: '2026-12-31'")
    own = loaded(tmp_path, {OFFERS: content, GPUS: example()[GPUS]})
    before = load_catalog(CONFIG)
    assert before.costs.as_of == "2026-11-30"
    assert own.costs.as_of == "2026-12-31"
    assert own.offers[-1].age_days == 0
    for shipped_offer, offer in zip(before.offers, own.offers[:-1], strict=True):
        known = shipped_offer.age_days
        assert offer.age_days == (None if known is None else known + 31)


def test_an_earlier_price_moves_no_day(tmp_path: Path) -> None:
    """28 days before the day of collection is an age of 28 days."""
    assert loaded(tmp_path).offers[-1].age_days == 28


def test_a_model_of_an_unknown_class_is_read_by_usual_names(tmp_path: Path) -> None:
    """An operator's model needs no parser of its own: it is read as a caller's would be, and says so."""
    content = (
        example()[MODEL]
        .replace("Qwen3ForCausalLM", "AcmeForCausalLM")
        .replace("model_type: qwen3", "model_type: acme")
    )
    model = loaded(tmp_path, {MODEL: content}).models["support-8b"]
    assert model.architecture.generic
    assert {note.code for note in (*model.architecture.remarks, *model.remarks)} >= {"model_by_operator"}
    assert len(model.architecture.layers) == 36


def test_an_empty_folder_changes_nothing(catalog: Catalog, tmp_path: Path) -> None:
    """The digest too: the same facts are the same cache."""
    own = loaded(tmp_path, {})
    assert (own.models, own.gpus, own.offers, own.digest) == (
        catalog.models,
        catalog.gpus,
        catalog.offers,
        catalog.digest,
    )


def test_the_digest_contains_the_operators_files(catalog: Catalog, tmp_path: Path) -> None:
    """Each change of a file is another digest, also where the file equals a shipped one."""
    digests = {catalog.digest, loaded(tmp_path / "1").digest}
    changed = example()[OFFERS].replace("0.42", "0.43")
    digests.add(loaded(tmp_path / "2", {**example(), OFFERS: changed}).digest)
    digests.add(loaded(tmp_path / "3", {SHIPPED_MODEL: shipped(SHIPPED_MODEL)}).digest)
    assert len(digests) == 4
    assert loaded(tmp_path / "4").digest in digests


@pytest.mark.parametrize(
    ("file", "old", "new", "place", "reason"),
    [
        (MODEL, "publisher: acme", "publsher: acme", "", ""),
        (MODEL, "total: 8190735360", "total: many", "parameters.total", "whole number"),
        (MODEL, "active: 8190735360", "active: 8190735361", "parameters.active", "above the total"),
        (MODEL, "q4_k_m: ", "q4_k_x: ", "gguf_bytes", "q4_k_x"),
        (MODEL, "vllm:", "vlm:", "support", "vlm"),
        (MODEL, "id: support-8b", "id: support-9b", "id", "name of the file"),
        (MODEL, "hidden_size: 4096", "hidden_size: -4096", "config", ""),
        (MODEL, "id: support-8b", "id: [support-8b", "line", ""),
        (MODEL, "evidence: verified", "evidence: certain", "evidence", "verified, derived"),
        (GPUS, "gb: 24", "gb: '24'", "[rtx-a5000-24gb].memory.gb", "whole number"),
        (GPUS, "engine: vllm", "engine: vllm2", "[rtx-a5000-24gb].engines", "vllm2"),
        (GPUS, "sources: [NVIDIA RTX A5000 datasheet]", "sources: []", "sources", "source"),
        (GPUS, "id: rtx-a5000-24gb", "id: RTX A5000", "[RTX A5000].id", "not valid"),
        (GPUS, "id: rtx-a5000-24gb", "id: rtx_4090", "[rtx_4090].id", "spelled like 'rtx-4090'"),
        (GPUS, "id: rtx-a5000-24gb", "id: posted", "[posted].id", "not valid"),
        (OFFERS, "gpu: rtx-a5000-24gb", "gpu: rtx-a5001", "[0].gpu", "rtx-a5001"),
        (OFFERS, "usd_per_hour: 0.42", "usd_per_hour: free", "[0].usd_per_hour", "number"),
        (OFFERS, "as_of: '2026-11-02'", "as_of: '2026-11-31'", "[0].as_of", "not valid"),
    ],
)
def test_a_wrong_fact_names_the_operators_file(
    tmp_path: Path, file: str, old: str, new: str, place: str, reason: str
) -> None:
    """The error names the path of the mounted file, the place in it, and why."""
    files = example()
    assert old in files[file]
    with pytest.raises(CatalogError) as error:
        loaded(tmp_path, {**files, file: files[file].replace(old, new, 1)})
    assert error.value.file == f"{tmp_path}/{file}"
    assert place in error.value.path
    assert reason in error.value.reason


@pytest.mark.parametrize(
    "name",
    ["quantizations.yaml", "engines.yaml", "README.md", "models/notes.txt", "models/more/a.yaml", "gpus.yml"],
)
def test_a_file_that_is_not_expected_is_an_error(tmp_path: Path, name: str) -> None:
    """A misspelt name is not a file that nobody reads."""
    with pytest.raises(CatalogError) as error:
        loaded(tmp_path, {**example(), name: ""})
    assert error.value.file.startswith(f"{tmp_path}/")
    assert name.startswith(error.value.file.removeprefix(f"{tmp_path}/"))
    assert "not expected" in error.value.reason


def test_two_entries_with_one_identity_are_an_error(tmp_path: Path) -> None:
    """The operator's own list may not contradict itself."""
    files = example()
    for name, place in ((GPUS, "[rtx-a5000-24gb].id"), (OFFERS, "[1]")):
        with pytest.raises(CatalogError) as error:
            loaded(tmp_path / name, {**files, name: files[name] * 2})
        assert error.value.path == place


@pytest.mark.parametrize("name", [GPUS, OFFERS, MODEL])
def test_an_empty_file_is_an_error(tmp_path: Path, name: str) -> None:
    """A file that was emptied by accident does not pass for no facts."""
    with pytest.raises(CatalogError) as error:
        loaded(tmp_path, {**example(), name: ""})
    assert error.value.file == f"{tmp_path}/{name}"


def test_a_mounted_config_map_is_read_through_its_link(catalog: Catalog, tmp_path: Path) -> None:
    """Kubernetes keeps versions in folders with two dots and links the current one; only that is read."""
    lay(tmp_path / "..2026_11_29", {"models/broken.yaml": "no model"})
    lay(tmp_path / "..2026_11_30")
    (tmp_path / "..data").symlink_to("..2026_11_30")
    for name in ("models", GPUS, OFFERS):
        (tmp_path / name).symlink_to(f"..data/{name}")
    assert list(load_catalog(CONFIG, tmp_path).models) == [*catalog.models, "support-8b"]


def test_the_kubernetes_example_puts_the_files_where_they_are_read() -> None:
    """The documented items of the ConfigMap give exactly the paths of the example."""
    text = (CONFIG.parent / "docs/catalog.md").read_text(encoding="utf-8")
    block = text.rpartition("```yaml\n")[2].partition("```")[0]
    pod = yaml.safe_load(
        block.replace("        volumeMounts", "      volumeMounts", 1).replace("          -", "        -", 1)
    )
    [volume] = pod["volumes"]
    assert {item["path"] for item in volume["configMap"]["items"]} == set(example())
    [mount] = pod["volumeMounts"]
    assert mount["name"] == volume["name"]


def test_a_fine_tune_does_not_hide_the_shipped_model(tmp_path: Path) -> None:
    """A posted config that both models have is the shipped model's, whatever their dates."""
    content = example()[MODEL].replace("released: 2026-10 ", "released: 2020-01 ")
    own = loaded(tmp_path, {MODEL: content})
    config = yaml.safe_load(shipped(SHIPPED_MODEL))["config"]
    assert own.models["support-8b"].released == "2020-01"
    found = build_model(config, Stated(), known(own))
    assert (found.id, found.provided_by) == ("qwen3-8b", ProvidedBy.CATALOG)
