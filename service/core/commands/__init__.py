"""Launch commands: how each engine is started for a scenario."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from service.core.commands import llama_cpp, lm_studio, mlx, ollama, sglang, tensorrt_llm, vllm
from service.core.commands.command import Launch
from service.core.notes import Note
from service.core.scenario import Scenario

Launcher = Callable[[Scenario], Launch]

LAUNCHERS: Mapping[str, Launcher] = MappingProxyType(
    {
        "llama.cpp": llama_cpp.launch,
        "ollama": ollama.launch,
        "lm-studio": lm_studio.launch,
        "mlx": mlx.launch,
        "vllm": vllm.launch,
        "sglang": sglang.launch,
        "tensorrt-llm": tensorrt_llm.launch,
    }
)
"""What starts an engine, by its id."""


def launch(scenario: Scenario) -> Launch | None:
    """How the scenario is started; None for an engine whose commands are not known.

    More GPUs than one machine holds get a note: each engine joins machines in its own way.
    """
    launcher = LAUNCHERS.get(scenario.engine)
    if launcher is None:
        return None
    found = launcher(scenario)
    most = scenario.gpu.max_per_node
    if scenario.gpu_count <= most:
        return found
    note = Note("command_spans_machines", {"gpu_count": scenario.gpu_count, "per_machine": most})
    return Launch(found.serve, found.check, found.prepare, (*found.notes, note))
