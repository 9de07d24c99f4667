"""LM Studio's command line. Source: lmstudio.ai/docs/cli (import, get, load, server start)."""

from service.core.commands.command import Command, Launch, not_carried
from service.core.commands.weights import Weights, gguf
from service.core.scenario import Scenario


def launch(scenario: Scenario) -> Launch:
    """`lms load` asks which model to load; everything but the context is set in the application."""
    weights: Weights = gguf(scenario)
    origin = (
        Command(("lms", "get", weights.source))
        if weights.repository
        else Command(("lms", "import", weights.source))
    )
    load = Command(("lms", "load"), (("--gpu", "max"), ("--context-length", str(scenario.context_tokens))))
    missing = [
        name for name in ("cpu_offload_percent", "speculative_tokens", "vision") if getattr(scenario, name)
    ]
    if scenario.concurrent_sequences > 1:
        missing.append("concurrent_sequences")
    if (scenario.kv_cache_dtype, scenario.kv_cache_dtype_v) != ("fp16", "fp16"):
        missing.append("kv_cache_dtype")
    if "max_batched_tokens" not in scenario.defaulted:
        missing.append("max_batched_tokens")
    return Launch(
        serve=(origin, load, Command(("lms", "server", "start"))),
        prepare=weights.prepare,
        notes=(*weights.notes, *not_carried(scenario.engine, tuple(missing))),
    )
