"""Where an engine finds the weights of a scenario: a repository that is known, or a local path."""

from dataclasses import dataclass

from service.core.commands.command import Command
from service.core.notes import Note
from service.core.scenario import Scenario

# Formats that llama-quantize writes from a 16-bit GGUF without an importance matrix.
_PLAIN = frozenset(
    [
        "q8_0",
        "q6_k",
        "q5_k_m",
        "q5_k_s",
        "q5_0",
        "q4_k_m",
        "q4_k_s",
        "q4_1",
        "q4_0",
        "q3_k_l",
        "q3_k_m",
        "q3_k_s",
        "q2_k",
        "bf16",
        "fp16",
    ]
)
_SIXTEEN_BIT = {"bf16": "bfloat16", "fp16": "float16"}
_LLAMA_NAMES = {"fp16": "f16"}
# Formats that an engine makes from a 16-bit checkpoint while loading it, and its name for them.
_ON_LOADING = {
    "vllm": {"fp8": "fp8", "bnb-nf4": "bitsandbytes"},
    "sglang": {"fp8": "fp8"},
}


@dataclass(frozen=True, slots=True)
class Weights:
    """What to load.

    source: a repository or a path. options: flags that give the format. repository: the source is one, as
    published. prepare: commands that make the files at the path. notes: why a path stands there.
    """

    source: str
    options: tuple[tuple[str, ...], ...] = ()
    repository: bool = True
    prepare: tuple[Command, ...] = ()
    notes: tuple[Note, ...] = ()


def slug(scenario: Scenario) -> str:
    """A name for files of the model; never what a caller wrote."""
    return scenario.model.id if scenario.model.catalogued else "model"


def checkpoint(scenario: Scenario) -> Weights:
    """A safetensors checkpoint: the published repository where it serves the format, else a path."""
    model, wanted = scenario.model, scenario.quantization
    published = model.architecture.native.name
    if model.hf_repo and (wanted in ("native", published)):
        return Weights(model.hf_repo)
    sixteen = published in _SIXTEEN_BIT
    if model.hf_repo and sixteen and wanted in _SIXTEEN_BIT:
        return Weights(model.hf_repo, (("--dtype", _SIXTEEN_BIT[wanted]),))
    on_loading = _ON_LOADING.get(scenario.engine, {}).get(wanted)
    if model.hf_repo and sixteen and on_loading:
        note = Note("quantized_on_loading", {"format": wanted})
        return Weights(model.hf_repo, (("--quantization", on_loading),), notes=(note,))
    code = "checkpoint_repository_unknown" if model.hf_repo else "model_repository_unknown"
    path = f"/path/to/{slug(scenario)}" if wanted == "native" else f"/path/to/{slug(scenario)}-{wanted}"
    return Weights(path, repository=False, notes=(Note(code, {"format": wanted}),))


def gguf(scenario: Scenario) -> Weights:
    """A GGUF file: `repository:TYPE` where it is known to be published, else a path and how to make it."""
    model, wanted = scenario.model, scenario.quantization
    if model.gguf_repo and wanted in model.published_files:
        return Weights(f"{model.gguf_repo}:{wanted.upper()}")
    name = _file_type(scenario)
    path = f"/path/to/{slug(scenario)}-{name}.gguf"
    prepare = _conversion(scenario, path, name)
    code = "gguf_repository_unknown" if not prepare else "gguf_made_from_checkpoint"
    return Weights(path, repository=False, prepare=prepare, notes=(Note(code, {"format": wanted}),))


def _file_type(scenario: Scenario) -> str:
    wanted = scenario.quantization
    native = scenario.model.architecture.native.name
    name = native if wanted == "native" else wanted
    return _LLAMA_NAMES.get(name, name).upper()


def _conversion(scenario: Scenario, path: str, name: str) -> tuple[Command, ...]:
    """llama.cpp's own way from the published checkpoint; only where that is 16-bit and the type is plain."""
    model = scenario.model
    wanted = model.architecture.native.name if scenario.quantization == "native" else scenario.quantization
    if not model.hf_repo or model.architecture.native.name not in _SIXTEEN_BIT or wanted not in _PLAIN:
        return ()
    folder = f"/path/to/{slug(scenario)}"
    direct = wanted in _SIXTEEN_BIT
    whole = path if direct else f"{folder}-BF16.gguf"
    outtype = _LLAMA_NAMES.get(wanted, wanted) if direct else "bf16"
    commands = [
        Command(("hf", "download", model.hf_repo), (("--local-dir", folder),)),
        Command(("python", "convert_hf_to_gguf.py", folder), (("--outtype", outtype), ("--outfile", whole))),
    ]
    if not direct:
        commands.append(Command(("llama-quantize", whole, path, name)))
    return tuple(commands)
