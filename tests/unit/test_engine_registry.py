"""A new engine is one module and one row of the catalog."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
# What a contributor writes: the engine's own rules, here the plainest that can be.
MODULE = '''
"""A made-up engine: 16-bit weights, nothing but weights, half of the memory."""
from dataclasses import dataclass, replace

from service.core.engines import vllm


@dataclass(frozen=True)
class MadeUp:
    id: str = "made-up"
    version: str = "1"
    preference: int = 99
    modelled: bool = True
    formats: frozenset[str] = frozenset({"bf16"})
    default_format: str = "bf16"
    kv_dtypes: tuple[str, ...] = ("bf16",)
    separate_value_dtype: bool = False
    splits_layers: bool = False
    offloads: bool = False

    def loads_native(self, architecture):
        return True

    def defaults(self, *given):
        return vllm.ENGINE.defaults(*given)

    def plan(self, scenario, *, limits=True):
        return replace(vllm.ENGINE.plan(scenario, limits=limits), usable_bytes=scenario.gpu.memory_bytes // 2)


ENGINE = MadeUp()
'''


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the service with the module written and the row added, and nothing else changed."""
    root = tmp_path_factory.mktemp("made-up")
    for folder in ("service", "config", "translations"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "service/core/engines/made_up.py").write_text(MODULE)
    rows = yaml.safe_load((root / "config/engines.yaml").read_text())
    like = next(row for row in rows if row["id"] == "vllm")
    row = {**like, "id": "made-up", "name": "Made-up", "backends_from": ["vllm"], "support_from": "vllm"}
    (root / "config/engines.yaml").write_text(yaml.safe_dump([*rows, row], sort_keys=False))
    return root


def answer(tree: Path, **parameters: str) -> dict[str, Any]:
    """What `sizing size` of the copied tree prints."""
    words = [word for name, value in parameters.items() for word in (f"--{name}", value)]
    command = [sys.executable, "-P", "-m", "service.cli", "size", *words]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    return dict(json.loads(done.stdout))


def test_a_made_up_engine_takes_one_module_and_one_row(tree: Path):
    """Its own budget decides: half of an H100's 81,559 MiB is usable; weights are 2 B a parameter."""
    sized = answer(tree, model="llama-3.1-8b-instruct", gpu="h100-80gb-sxm", engine="made-up")
    assert sized["scenario"]["engine"] == "made-up"
    assert sized["scenario"]["quantization"] == "bf16"
    assert sized["fit"]["verdict"] == "fits"
    assert sized["fit"]["usable"]["bytes"] == 81_559 * 2**20 // 2
    assert sized["per_gpu"]["weights"]["bytes"] == 2 * 8_030_261_248


def test_its_formats_are_refused_like_those_of_any_engine(tree: Path):
    """The problem names what the made-up engine loads."""
    problem = answer(
        tree, model="llama-3.1-8b-instruct", gpu="h100-80gb-sxm", engine="made-up", quantization="q4_k_m"
    )
    assert problem["errors"][0]["code"] == "format_not_supported"
    assert problem["errors"][0]["allowed"] == ["bf16"]


MATRIX = """
import json
from service.catalog import load_catalog
from service.core.matrix.cells import Facts
from service.core.matrix.compute import compute
from service.core.matrix.question import Question
from service.settings import Settings

catalog = load_catalog(Settings().config_path)
question = Question(
    models=(catalog.models["llama-3.1-8b-instruct"],),
    gpus=(catalog.gpus["rtx-4090"], catalog.gpus["h100-80gb-sxm"]),
    contexts=(8192, 65_536),
    values={"engine": "made-up"},
)
found = compute(question, Facts(catalog.speed, catalog.costs.offers)).measures
print(json.dumps({name: measure.over(question.shape).tolist() for name, measure in found.items()}))
"""


def test_a_made_up_engine_is_in_a_matrix_without_a_line_of_its_own(tree: Path):
    """Each accelerator has half of its own memory, and the cells say what `size` says."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, "-P", "-c", MATRIX]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)
    ((small,), (large,)) = found["usable_bytes"][0]
    assert small == [24_564 * 2**20 // 2] * 2
    assert large == [81_559 * 2**20 // 2] * 2
    for column, context in enumerate((8192, 65_536)):
        asked = {"model": "llama-3.1-8b-instruct", "gpu": "h100-80gb-sxm", "engine": "made-up"}
        sized = answer(tree, **asked, **{"context-tokens": str(context)})
        assert found["per_gpu_bytes"][0][1][0][column] == sized["per_gpu"]["total"]["bytes"]
        assert found["max_context_tokens"][0][1][0][column] == sized["limits"]["max_context_tokens"]
