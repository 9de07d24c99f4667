"""`llama-server`, and `llama-bench` to check it. Source: llama.cpp common/arg.cpp, tools/llama-bench."""

from service.core.commands.command import Command, Launch, flag, not_carried, switch
from service.core.commands.weights import Weights, gguf
from service.core.engines.llama_cpp.plan import arrange
from service.core.engines.llama_cpp.plan import weights as loaded
from service.core.scenario import Scenario

_NAMES = {"fp16": "f16", "fp32": "f32"}
_BATCH = 2048  # -b, which cuts -ub


def launch(scenario: Scenario) -> Launch:
    """The server with the whole context of all slots, and the benchmark of one sequence."""
    weights = gguf(scenario)
    missing = ("speculative_tokens",) if scenario.speculative_tokens else ()
    return Launch(
        serve=(_server(scenario, weights),),
        check=_bench(scenario, weights),
        prepare=weights.prepare,
        notes=(*weights.notes, *not_carried(scenario.engine, missing)),
    )


def placement(scenario: Scenario) -> tuple[tuple[str, ...], ...]:
    """What stays in system RAM, in the pieces that the sizing has moved there.

    `-ncmoe`: the experts of so many layers from the first. `-ngl`: so many layers from the last on the GPUs,
    the output matrix counted as one (`i_gpu_start`, src/llama-model.cpp).
    """
    if not scenario.cpu_offload_percent:
        return ()
    moved = arrange(scenario, loaded(scenario)).moved
    architecture = scenario.model.architecture
    drafts = sum(any(tensor.in_gguf for tensor in layer.tensors) for layer in architecture.mtp)
    blocks = len(architecture.layers) + drafts
    on_gpus = 0 if moved.output else blocks + 1 - moved.layers
    return (
        *flag("-ncmoe", moved.expert_layers, when=moved.expert_layers > 0),
        *flag("-ngl", on_gpus, when=moved.layers > 0 or moved.output),
    )


def cache_types(scenario: Scenario) -> tuple[tuple[str, ...], ...]:
    """`-ctk` and `-ctv`, under llama.cpp's own names."""
    keys, values = scenario.kv_cache_dtype, scenario.kv_cache_dtype_v
    return (("-ctk", _NAMES.get(keys, keys)), ("-ctv", _NAMES.get(values, values)))


def batches(scenario: Scenario) -> tuple[tuple[str, ...], ...]:
    """`-ub`, and `-b` where its default would cut it (n_ubatch, src/llama-context.cpp)."""
    tokens = scenario.max_batched_tokens
    return (*flag("-b", tokens, when=tokens > _BATCH), ("-ub", str(tokens)))


def _source(weights: Weights) -> tuple[str, ...]:
    return ("-hf" if weights.repository else "-m", weights.source)


def _server(scenario: Scenario, weights: Weights) -> Command:
    """`-c` is the sum over the slots; `-fa` takes a value; without offload `-ngl` is the engine's own fit."""
    sequences = scenario.concurrent_sequences
    vision = scenario.vision and not weights.repository
    return Command(
        ("llama-server",),
        (
            _source(weights),
            ("-c", str(scenario.context_tokens * sequences)),
            ("-np", str(sequences)),
            *batches(scenario),
            ("-fa", "on"),
            *cache_types(scenario),
            *placement(scenario),
            *flag("-sm", "layer", when=scenario.gpu_count > 1),
            *flag("--mmproj", "/path/to/mmproj.gguf", when=vision),
            *switch("--no-mmproj", when=weights.repository and not scenario.vision),
            ("--port", "8080"),
        ),
    )


def _bench(scenario: Scenario, weights: Weights) -> Command:
    """Prefill of the prompt, and decode at the depth that the estimate assumes."""
    depth = scenario.prompt_tokens + scenario.output_tokens // 2
    return Command(
        ("llama-bench",),
        (
            _source(weights),
            ("-p", str(scenario.prompt_tokens)),
            ("-n", str(scenario.output_tokens)),
            ("-d", f"0,{depth}"),
            *batches(scenario),
            ("-fa", "1"),
            *cache_types(scenario),
            *placement(scenario),
        ),
    )
