"""`vllm serve` and `vllm bench serve`. Source: vLLM 0.33.0 engine/arg_utils.py, benchmarks/serve.py."""

from service.core.commands.benchmark import random_load
from service.core.commands.command import Command, Launch, flag, not_carried, switch
from service.core.commands.weights import checkpoint
from service.core.scenario import Scenario
from service.core.units import ceil_div

_KV_NAMES = {"bf16": "bfloat16", "fp16": "float16"}


def launch(scenario: Scenario) -> Launch:
    """The server with the scenario's layout, context and pool."""
    weights = checkpoint(scenario)
    drafts = scenario.speculative_tokens and not scenario.model.architecture.mtp
    missing = [*(["speculative_tokens"] if drafts else [])]
    if scenario.cpu_offload_percent:
        missing.append("cpu_offload_percent")
    serve = Command(
        ("vllm", "serve", weights.source),
        (
            *weights.options,
            *_layout(scenario),
            ("--max-model-len", str(scenario.context_tokens)),
            (
                "--max-num-seqs",
                str(ceil_div(scenario.concurrent_sequences, scenario.layout.data)),
            ),  # of each rank
            ("--max-num-batched-tokens", str(scenario.max_batched_tokens)),
            ("--kv-cache-dtype", _kv_name(scenario)),
            *_memory(scenario),
            *switch("--no-enable-prefix-caching", when=not scenario.prefix_caching),
            *switch(
                "--language-model-only", when=bool(scenario.model.architecture.vision) and not scenario.vision
            ),
            *_drafts(scenario),
        ),
    )
    return Launch(
        serve=(serve,),
        check=random_load(scenario, ("vllm", "bench", "serve"), weights.source, "--ignore-eos"),
        notes=(*weights.notes, *not_carried(scenario.engine, tuple(missing))),
    )


def _kv_name(scenario: Scenario) -> str:
    """`auto` where nothing was given: it means this very type here."""
    if "kv_cache_dtype" in scenario.defaulted:
        return "auto"
    return _KV_NAMES.get(scenario.kv_cache_dtype, scenario.kv_cache_dtype)


def _layout(scenario: Scenario) -> tuple[tuple[str, ...], ...]:
    layout = scenario.layout
    return (
        *flag("-tp", layout.tensor, when=layout.tensor > 1),
        *flag("-pp", layout.pipeline, when=layout.pipeline > 1),
        *flag("-dp", layout.data, when=layout.data > 1),
        *switch("--enable-expert-parallel", when=layout.expert > 1),
        *flag("--decode-context-parallel-size", layout.decode_context, when=layout.decode_context > 1),
    )


def _memory(scenario: Scenario) -> tuple[tuple[str, ...], ...]:
    if scenario.kv_cache_memory_bytes is not None:
        return (("--kv-cache-memory-bytes", str(scenario.kv_cache_memory_bytes)),)
    return flag(
        "--gpu-memory-utilization",
        f"{scenario.memory_utilization or 0:g}",
        when=scenario.memory_utilization is not None,
    )


def _drafts(scenario: Scenario) -> tuple[tuple[str, ...], ...]:
    """The model's own prediction layers as drafter."""
    count = scenario.speculative_tokens
    value = f'{{"method":"mtp","num_speculative_tokens":{count}}}'
    return flag("--speculative-config", value, when=bool(count and scenario.model.architecture.mtp))
