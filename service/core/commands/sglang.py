"""`sglang serve` and `sglang.bench_serving`. Source: SGLang 0.5.23 srt/server_args.py, bench_serving.py."""

from service.core.commands.benchmark import random_load
from service.core.commands.command import Command, Launch, flag, not_carried, switch
from service.core.commands.weights import checkpoint
from service.core.scenario import Scenario

_KV_NAMES = {"fp8": "fp8_e4m3"}
_NOT_THERE = ("cpu_offload_percent", "speculative_tokens", "kv_cache_memory_bytes")


def launch(scenario: Scenario) -> Launch:
    """The server with the scenario's layout, context and fraction."""
    weights = checkpoint(scenario)
    serve = Command(
        ("sglang", "serve"),
        (
            ("--model-path", weights.source),
            *weights.options,
            *_layout(scenario),
            ("--context-length", str(scenario.context_tokens)),
            ("--max-running-requests", str(scenario.concurrent_sequences)),
            ("--chunked-prefill-size", str(scenario.max_batched_tokens)),
            ("--kv-cache-dtype", _kv_name(scenario)),
            *flag(
                "--mem-fraction-static",
                f"{scenario.memory_utilization or 0:g}",
                when=scenario.memory_utilization is not None,
            ),
            *switch("--disable-radix-cache", when=not scenario.prefix_caching),
            *switch("--enable-multimodal", when=scenario.vision),
        ),
    )
    missing = tuple(name for name in _NOT_THERE if getattr(scenario, name))
    return Launch(
        serve=(serve,),
        check=random_load(
            scenario,
            ("python", "-m", "sglang.bench_serving", "--backend", "sglang", "--random-range-ratio", "1.0"),
            weights.source,
        ),
        notes=(*weights.notes, *not_carried(scenario.engine, missing)),
    )


def _kv_name(scenario: Scenario) -> str:
    """`auto` where nothing was given: it means this very type here."""
    if "kv_cache_dtype" in scenario.defaulted:
        return "auto"
    return _KV_NAMES.get(scenario.kv_cache_dtype, scenario.kv_cache_dtype)


def _layout(scenario: Scenario) -> tuple[tuple[str, ...], ...]:
    """`--tp-size` counts the ranks of attention data parallelism too; experts spread over all of them."""
    layout = scenario.layout
    ranks = layout.tensor * layout.data
    return (
        *flag("--tp-size", ranks, when=ranks > 1),
        *flag("--pp-size", layout.pipeline, when=layout.pipeline > 1),
        *flag("--attn-dp-size", layout.data, when=layout.data > 1),
        *flag("--ep-size", layout.expert, when=layout.expert > 1),
        *flag("--dcp-size", layout.decode_context, when=layout.decode_context > 1),
    )
