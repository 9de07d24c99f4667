"""The catalogs: lists with filter and pages, and everything about one model or accelerator."""

import pytest

LISTS = ["models", "gpus", "engines", "quantizations", "offers", "languages", "sections"]
MODEL_ITEM = {
    "id",
    "name",
    "family",
    "publisher",
    "hf_repo",
    "parameters_total",
    "parameters_active",
    "architecture",
    "max_context_tokens",
    "evidence",
    "provided_by",
}
GPU_ITEM = {"id", "name", "vendor", "kind", "memory", "memory_bandwidth_gbs", "evidence", "provided_by"}


def fetched(client, path, **query):
    answer = client.get(path, query_string=query)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.json


@pytest.mark.parametrize("name", LISTS)
def test_lists_have_items_total_and_cursor(client, name):
    """Every list answers items, total and next_cursor, and each item has an id of its own."""
    found = fetched(client, f"/v1/{name}", limit=500)
    assert list(found) == ["items", "total", "next_cursor"]
    assert found["total"] == len(found["items"]) > 0
    assert found["next_cursor"] is None
    assert len({item["id"] for item in found["items"]}) == found["total"]


def test_items_have_the_documented_fields(client):
    """Model and GPU items have at least the fields of the contract."""
    assert set(fetched(client, "/v1/models", limit=1)["items"][0]) == MODEL_ITEM
    assert set(fetched(client, "/v1/gpus", limit=1)["items"][0]) >= GPU_ITEM


@pytest.mark.parametrize("name", ["models", "offers"])
def test_pages_join_to_the_whole_list(client, name):
    """Following the cursors gives every item once, in the order of the whole list."""
    whole = [item["id"] for item in fetched(client, f"/v1/{name}", limit=500)["items"]]
    read, query = [], {"limit": 7}
    for _ in range(len(whole)):
        found = fetched(client, f"/v1/{name}", **query)
        read += [item["id"] for item in found["items"]]
        if found["next_cursor"] is None:
            break
        query["cursor"] = found["next_cursor"]
    assert read == whole


def test_search_and_family_filter(client):
    """`q` searches names in any case, `family` selects one family, and total counts what matches."""
    found = fetched(client, "/v1/models", q="KIMI")
    assert found["total"] >= 2
    assert all("kimi" in f"{item['id']} {item['name']} {item['hf_repo']}".lower() for item in found["items"])
    family = found["items"][0]["family"]
    same = fetched(client, "/v1/models", family=family.upper())
    assert {item["family"] for item in same["items"]} == {family}
    assert fetched(client, "/v1/models", q="no such model")["items"] == []


@pytest.mark.parametrize("cursor", ["abc", "YWZ0ZXI6bm8tc3VjaC1pZA", "%%%", "ä"])
def test_bad_cursor_is_an_error(client, cursor):
    """A cursor that the service did not give is a 422 that names it."""
    answer = client.get("/v1/models", query_string={"cursor": cursor})
    assert answer.status_code == 422
    assert answer.json["errors"][0]["parameter"] == "cursor"


def test_model_has_parameters_by_class_that_sum_to_its_total(client):
    """The table of parameters by tensor class sums to the published total: Qwen3-8B has 8,190,735,360."""
    model = fetched(client, "/v1/models/qwen3-8b")
    assert sum(model["parameters_by_class"].values()) == model["parameters_total"] == 8_190_735_360
    # 151,936 rows x 4,096 of an input embedding that is not tied to the output.
    assert model["parameters_active"] - model["parameters_read_per_token"] == 151_936 * 4_096


def test_model_has_bytes_in_every_format(client):
    """Every format has bytes, evidence and source; 16 bits are two bytes a parameter."""
    formats = fetched(client, "/v1/models/qwen3-8b")["weight_bytes_by_format"]
    assert {"native", "bf16", "fp8", "q4_k_m", "q8_0", "mlx-4bit", "ud-q4_k_xl", "iq1_s"} <= set(formats)
    for entry in formats.values():
        assert set(entry) == {"bytes", "published_file_bytes", "evidence", "source"}
        assert entry["bytes"] > 0
    assert formats["bf16"]["bytes"] == pytest.approx(2 * 8_190_735_360, rel=0.001)


def test_model_has_layers_support_and_cache_by_engine(client):
    """Layer groups count every layer; each engine has a support status; caches are per engine."""
    model = fetched(client, "/v1/models/qwen3-8b")
    assert sum(group["count"] for group in model["layer_groups"]) == 36
    assert set(model["support"]) == {
        "llama.cpp",
        "ollama",
        "lm-studio",
        "mlx",
        "vllm",
        "sglang",
        "tensorrt-llm",
    }
    assert model["cache_by_engine"]["llama.cpp"]["kv_bytes_per_token"] == 147_456
    assert model["cache_by_engine"]["vllm"]["state_bytes_per_sequence"] == 0
    assert model["valid_tensor_parallel"][:4] == [1, 2, 4, 8]
    assert model["sources"]


@pytest.mark.parametrize("section", ["models", "gpus"])
def test_every_entry_has_a_document(client, section):
    """Each entry of the list can be fetched by its id."""
    for item in fetched(client, f"/v1/{section}", limit=500)["items"]:
        assert fetched(client, f"/v1/{section}/{item['id']}")["id"] == item["id"]


def test_gpu_has_memory_rates_engines_and_offers(client):
    """An accelerator shows what its driver reports and who rents it out."""
    gpu = fetched(client, "/v1/gpus/h200-141gb")
    assert gpu["memory"]["bytes"] == 143_771 * 2**20  # nvidia-smi of an H200: 143771MiB
    assert {"vllm", "llama.cpp"} <= {engine["engine"] for engine in gpu["engines"]}
    assert all(offer["gpu"] == gpu["id"] for offer in gpu["offers"])


def test_engines_name_formats_and_version(client):
    """Each engine of the contract is listed with the formats that it loads."""
    engines = {engine["id"]: engine for engine in fetched(client, "/v1/engines")["items"]}
    assert set(engines) == {"llama.cpp", "ollama", "lm-studio", "mlx", "vllm", "sglang", "tensorrt-llm"}
    assert "q4_k_m" in engines["llama.cpp"]["formats"]
    assert "bnb-nf4" in engines["vllm"]["formats"]
    assert "bnb-nf4" not in engines["sglang"]["formats"]


def test_languages_name_themselves(client):
    """Languages have the tag to ask with and the tag that answers carry."""
    languages = {item["id"]: item for item in fetched(client, "/v1/languages")["items"]}
    assert set(languages) == {"de", "zh", "en"}
    assert languages["de"]["name"] == "Deutsch"
    assert languages["zh"]["content_language"] == "zh-Hans"
