"""Whatever is damaged on its way in is answered or refused by name, soon, and never a failure."""

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from struct import pack
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from service.catalog.loader import FACT_FILES, build_catalog
from service.catalog.overlay import overlay
from service.catalog.yaml_files import read_files
from service.errors import CatalogError
from service.settings import Settings
from tests.damage import KINDS, MOST_CPU_SECONDS, Input, send
from tests.operators import example
from tests.published import models
from tests.unit.test_inspection import TINY, entry, text
from tests.uploads import Site

SEEDS = Path(__file__).parents[1] / "data" / "seeds"
SAMPLE = 40  # of each kind
LONG = 20_000
# What most of the damage is done to, as shares of the long run.
SHARES = {
    "config": 0.35,
    "index": 0.05,
    "gguf": 0.2,
    "csv": 0.1,
    "json": 0.1,
    "query": 0.15,
    "operator": 0.05,
}
MIB = 2**20


class Receiver:
    """A site for what is sent, a few shipped facts under what an operator mounts, and what came of it."""

    def __init__(self, folder: Path) -> None:
        self.site = Site(folder)
        self.site.app.config["PROPAGATE_EXCEPTIONS"] = False
        own = {name: content.encode() for name, content in example().items()}
        self.own: Mapping[str, bytes] = own
        self.shipped = {
            name: content
            for name, content in read_files(Settings().config_path, FACT_FILES).items()
            if not name.startswith(("models/", "measurements/"))
            or name in ("models/qwen3-8b.yaml", "measurements/sources.yaml")
        }
        self.outcomes: Counter[tuple[str, int | str]] = Counter()
        self.slowest: dict[str, tuple[float, str]] = {}

    def take(self, kind: str, number: int) -> None:
        """Make and take one input; raises AssertionError for a failure or a slow answer."""
        damaged = KINDS[kind](Random(f"{kind} {number}"))
        if damaged.path:
            outcome, cpu_seconds = self._send(damaged)
        else:
            outcome, cpu_seconds = self._mount(damaged)
        self.outcomes[kind, outcome] += 1
        self.slowest[kind] = max(self.slowest.get(kind, (0.0, "")), (cpu_seconds, f"{number} {damaged}"))
        assert cpu_seconds < MOST_CPU_SECONDS, (kind, number, str(damaged))

    def _send(self, damaged: Input) -> tuple[int, float]:
        status, media_type, cpu_seconds = send(self.site, damaged)
        assert status < 500, (status, str(damaged))
        assert status < 400 or media_type == "application/problem+json", (status, str(damaged))
        return status, cpu_seconds

    def _mount(self, damaged: Input) -> tuple[str, float]:
        began = time.process_time()
        try:
            build_catalog(self.shipped, overlay({**self.own, damaged.what: damaged.content}, "own"))
        except CatalogError:
            return "refused", time.process_time() - began
        return "taken", time.process_time() - began


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Receiver:
    return Receiver(tmp_path_factory.mktemp("site"))


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_input_is_answered_or_refused(receiver: Receiver, kind: str) -> None:
    """A config, an index, a GGUF header, uploads, queries, operators' files: no failure, none slow."""

    @settings(max_examples=SAMPLE, deadline=None, database=None, derandomize=True, phases=[Phase.generate])
    @given(st.integers(0, 2**32))
    def run(number: int) -> None:
        receiver.take(kind, number)

    run()
    assert len({outcome for of, outcome in receiver.outcomes if of == kind}) > 1


@pytest.mark.parametrize("seed", sorted(SEEDS.glob("*.yaml")), ids=lambda path: path.stem)
def test_yaml_that_once_failed_is_refused(seed: Path) -> None:
    """As an operator's file each names itself and is no failure; see tests/data/README.md."""
    with pytest.raises(CatalogError, match=seed.name):
        overlay({"models/x.yaml": seed.read_bytes()}, seed.name)


def _header(tensors: int, keys: int) -> bytes:
    return b"GGUF" + pack("<IQQ", 3, tensors, keys)


def _large(kind: str) -> bytes:
    """A body near the limit of 16 MiB, full of what takes the longest to read."""
    start = b"".join(
        entry(key, value)
        for key, value in {
            "general.architecture": "llama",
            "llama.block_count": 32,
            "llama.embedding_length": 4096,
            "llama.attention.head_count": 32,
            "llama.feed_forward_length": 11008,
            "llama.vocab_size": 32000,
        }.items()
    )
    match kind:
        case "numbers":  # as many as are kept of each array
            one = pack("<IIQ", 9, 0, 4096) + bytes(4096)
            count = 15 * MIB // (len(one) + 12)
            return _header(0, 6 + count) + start + b"".join(text(f"{n:04}") + one for n in range(count))
        case "texts":
            return _header(0, 7) + start + text("t") + pack("<IIQ", 9, 8, 2**40) + bytes(15 * MIB)
        case "keys":
            return _header(0, 65_000) + start + b"".join(entry(f"k{n}" + "x" * 200, 1) for n in range(64_994))
    start += entry("llama.context_length", 4096)
    names = list(_tensor_names(kind))
    shape = pack("<IQQIQ", 2, 4096, 4096, 0, 0)
    return _header(len(names), 7) + start + b"".join(text(f"{name}.weight") + shape for name in names)


def _tensor_names(kind: str) -> Iterator[str]:
    """As many as are read, in layers that are alike or, where they are `different`, in none that are."""
    layers = 4096 if kind == "too many layers" else 192
    count = (2048 if "different" in kind else 4096) + (kind.startswith("too many") and layers == 192)
    yield from ("token_embd", "blk.0.first")
    for number in range(count - 2):
        role = number if "different" in kind else number // layers
        yield f"blk.{number % layers}.ffn_down{role}"  # a recipe has a type for each of these


LARGEST = {
    "numbers": 422,
    "texts": 422,
    "keys": 422,
    "tensors": 200,
    "too many tensors": 422,
    "too many layers": 422,
    "different tensors": 200,
    "too many different tensors": 422,
}


@pytest.mark.parametrize("kind", LARGEST)
def test_the_largest_headers_are_read_soon(receiver: Receiver, kind: str) -> None:
    """GGUF headers that only a wicked writer makes: many MiB, or as much as the limits let through."""
    body = _large(kind)
    assert len(body) < 16 * MIB
    damaged = Input("GGUF header", kind, "/v1/models/inspect", body, "application/octet-stream")
    outcome, cpu_seconds = receiver._send(damaged)
    assert outcome == LARGEST[kind]
    assert cpu_seconds < MOST_CPU_SECONDS


MOST_LAYERS = 192
DEEP = ("gemma-4-e2b-it", "kimi-k3", "mistral-large-4", "step-5-preview")  # whose layers differ the most


def _deep(config: Mapping[str, Any]) -> dict[str, Any]:
    """A published config with as many layers as are read, each list of its layers as long."""
    inner = config.get("text_config")
    if isinstance(inner, dict):
        return {**config, "text_config": _deep(inner)}
    layers = config["num_hidden_layers"]
    longer = {
        name: (value * MOST_LAYERS)[:MOST_LAYERS]
        for name, value in config.items()
        if isinstance(value, list) and len(value) == layers
    }
    return {**config, **longer, "num_hidden_layers": MOST_LAYERS}


@pytest.mark.parametrize("model", DEEP)
@pytest.mark.parametrize("path", ["/v1/models/inspect", "/v1/sizing", "/v1/report"])
def test_the_largest_configs_are_answered_soon(receiver: Receiver, model: str, path: str) -> None:
    """Configs with as many layers as the limit lets through, in the answers that read the most of them."""
    config = _deep(models()[model]["config"])
    for engine in ("mlx", "sglang", "vllm"):
        asked = {"model_config": config, "gpu": "b200", "gpu_count": 64, "engine": engine}
        body = {"config": config} if path == "/v1/models/inspect" else asked
        outcome, cpu_seconds = receiver._send(Input("config", model, path, json.dumps(body).encode()))
        assert outcome == 200
        assert cpu_seconds < MOST_CPU_SECONDS


def test_the_damage_is_the_same_every_time() -> None:
    """A number names its input, so that what fails can be looked at."""
    for kind, make in KINDS.items():
        assert make(Random(f"{kind} 7")) == make(Random(f"{kind} 7"))
    assert KINDS["gguf"](Random(1)).content not in (TINY, KINDS["gguf"](Random(2)).content)


@pytest.mark.soak
def test_thousands_of_damaged_inputs(receiver: Receiver, capsys: pytest.CaptureFixture[str]) -> None:
    """20,000 inputs; prints the slowest of each kind with its CPU time."""
    for kind, share in SHARES.items():
        for number in range(round(LONG * share)):
            receiver.take(kind, 10**10 + number)
    with capsys.disabled():
        print(f"\n{receiver.outcomes.total()} damaged inputs: {sorted(receiver.outcomes.items(), key=str)}")
        for kind, (cpu_seconds, what) in receiver.slowest.items():
            print(f"slowest {kind}: {cpu_seconds:.3f} s CPU, {what[:300]}")
