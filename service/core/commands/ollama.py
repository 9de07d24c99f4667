"""Ollama from a local GGUF file. Source: Ollama docs/faq.mdx, docs/modelfile.mdx, envconfig/config.go."""

from service.core.commands.command import Command, Launch, not_carried
from service.core.commands.llama_cpp import cache_types
from service.core.commands.weights import gguf, slug
from service.core.notes import Note
from service.core.scenario import Scenario

_NOT_THERE = ("cpu_offload_percent", "speculative_tokens", "vision")


def launch(scenario: Scenario) -> Launch:
    """Server settings are environment variables; the model is made from a file, as no tag is known."""
    weights = gguf(scenario)
    name = f"{slug(scenario)}-{scenario.quantization}"
    origin = f"hf.co/{weights.source}" if weights.repository else weights.source
    server = Command(
        ("ollama", "serve"),
        environment={
            "OLLAMA_CONTEXT_LENGTH": str(scenario.context_tokens),
            "OLLAMA_NUM_PARALLEL": str(scenario.concurrent_sequences),
            "OLLAMA_FLASH_ATTENTION": "1",
            "OLLAMA_KV_CACHE_TYPE": cache_types(scenario)[0][1],
        },
    )
    lines = [f"FROM {origin}"]
    if "max_batched_tokens" not in scenario.defaulted:
        lines.append(f"PARAMETER num_batch {scenario.max_batched_tokens}")
    create = Command(("ollama", "create", name), (("-f", "Modelfile"),), writes={"Modelfile": tuple(lines)})
    missing = tuple(parameter for parameter in _NOT_THERE if getattr(scenario, parameter))
    return Launch(
        serve=(server, create, Command(("ollama", "run", name))),
        check=Command(("ollama", "run", name, "--verbose")),
        prepare=weights.prepare,
        notes=(
            Note("ollama_tag_unknown"),
            *weights.notes,
            *not_carried(scenario.engine, missing),
        ),
    )
