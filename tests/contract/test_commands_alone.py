"""Launch commands of a model before an accelerator is chosen."""

import json
from functools import cache
from pathlib import Path

import pytest

from service.catalog import load_catalog
from service.core.engines import ENGINES
from service.render.fragments import render

CONFIG = Path(__file__).parents[2] / "config"


@cache
def facts():
    return load_catalog(CONFIG)


def commands(model, language="en"):
    catalog = facts()
    found = render("commands", None, catalog, language, "application/json", catalog.models[model])
    return json.loads(found)


def row(model, engine):
    (found,) = [row for row in commands(model)["rows"] if row["engine"] == engine]
    return found


def test_the_published_repository_is_served():
    """Qwen3 8B: vLLM, SGLang and MLX take the repository as its publisher names it, with current options."""
    assert row("qwen3-8b", "vllm")["serve"][0]["words"] == [
        *("vllm", "serve", "Qwen/Qwen3-8B"),
        *("--max-model-len", "8192", "--max-num-seqs", "1", "--kv-cache-dtype", "auto"),
    ]
    serve = row("qwen3-8b", "sglang")["serve"][0]["words"]
    assert serve[:4] == ["sglang", "serve", "--model-path", "Qwen/Qwen3-8B"]
    convert = row("qwen3-8b", "mlx")["prepare"][0]["words"]
    assert convert[:3] == ["mlx_lm.convert", "--hf-path", "Qwen/Qwen3-8B"]


@pytest.mark.parametrize("model", sorted(facts().models))
def test_only_engines_that_run_it_have_a_command(model):
    """Every engine has a row; one that does not run the model, or of which nobody knows, has a reason."""
    found = commands(model)
    support = facts().models[model].support
    assert {row["engine"] for row in found["rows"]} == {*ENGINES}
    for entry in found["rows"]:
        stated = support.get(entry["engine"])
        if stated is None or stated.status != "yes":
            assert entry["serve"] is None
        assert bool(entry["serve"]) != bool(entry["reasons"])
    assert found["with_command"] == sum(entry["serve"] is not None for entry in found["rows"])


@pytest.mark.parametrize("model", sorted(facts().models))
def test_no_repository_is_made_up(model):
    """What an engine downloads is the model's own repository or its known GGUF repository, nothing else."""
    known = facts().models[model]
    allowed = {known.hf_repo, known.gguf_repo}
    for entry in commands(model)["rows"]:
        made = [command["words"] for command in entry["prepare"]]
        run = [*(entry["serve"] or []), *([entry["check"]] if entry["check"] else [])]
        loaded = [command["words"] for command in run]
        words = {word.removeprefix("hf.co/").split(":")[0] for text in (*made, *loaded) for word in text}
        repositories = {w for w in words if w.count("/") == 1 and not w.startswith(("/", "."))}
        assert repositories <= allowed
        # A local path is only there where a command before it has made it.
        if any(word.startswith("/path/") for text in loaded for word in text):
            assert made


def test_nothing_depends_on_hardware_that_is_not_known():
    """Options whose value follows from the GPU are left out."""
    for model in ("qwen3-8b", "llama-3.3-70b-instruct"):
        for entry in commands(model)["rows"]:
            words = {word for command in entry["serve"] or [] for word in command["words"]}
            assert not words & {"-ub", "--max-num-batched-tokens", "--mem-fraction-static", "-tp"}
