"""`trtllm-serve` and its client. Source: TensorRT-LLM tensorrt_llm/commands/serve.py, llmapi/llm_args.py."""

from service.core.commands.benchmark import random_load
from service.core.commands.command import Command, Launch, flag, not_carried
from service.core.commands.weights import checkpoint
from service.core.scenario import Scenario
from service.core.units import ceil_div

_CONFIG = "config.yml"
_NAMES = {"bf16": "bfloat16", "fp16": "float16"}


def launch(scenario: Scenario) -> Launch:
    """The server with the scenario's layout and context; what has no flag stands in a configuration file."""
    weights = checkpoint(scenario)
    layout = scenario.layout
    ranks = layout.tensor * layout.data
    serve = Command(
        ("trtllm-serve", weights.source),
        (
            *flag("--tp_size", ranks, when=ranks > 1),
            *flag("--pp_size", layout.pipeline, when=layout.pipeline > 1),
            *flag("--ep_size", layout.expert, when=layout.expert > 1),
            ("--max_seq_len", str(scenario.context_tokens)),
            ("--max_batch_size", str(ceil_div(scenario.concurrent_sequences, layout.data))),  # of each rank
            ("--max_num_tokens", str(scenario.max_batched_tokens)),
            *flag(
                "--kv_cache_free_gpu_memory_fraction",
                f"{scenario.memory_utilization or 0:g}",
                when=scenario.memory_utilization is not None,
            ),
            ("--config", _CONFIG),
        ),
        writes={_CONFIG: _config(scenario)},
    )
    names = ("speculative_tokens", "kv_cache_memory_bytes")
    missing = [name for name in names if getattr(scenario, name)]
    if layout.decode_context > 1:
        missing.append("decode_context_parallel")
    client = ("python", "-m", "tensorrt_llm.serve.scripts.benchmark_serving", "--backend", "openai")
    return Launch(
        serve=(serve,),
        check=random_load(scenario, client, weights.source, "--random-ids", "--ignore-eos"),
        notes=(*weights.notes, *not_carried(scenario.engine, tuple(missing))),
    )


def _config(scenario: Scenario) -> tuple[str, ...]:
    kv_type = "auto" if "kv_cache_dtype" in scenario.defaulted else scenario.kv_cache_dtype
    lines = ["kv_cache_config:", f"  dtype: {_NAMES.get(kv_type, kv_type)}"]
    if not scenario.prefix_caching:
        lines.append("  enable_block_reuse: false")
    if scenario.layout.data > 1:
        lines.append("enable_attention_dp: true")
    return tuple(lines)
