"""The load that a benchmark puts on a running server: the scenario's prompts, outputs and sequences."""

from service.core.commands.command import Command
from service.core.scenario import Scenario

_ROUNDS = 4  # requests for each concurrent sequence, so that start and end weigh little


def random_load(scenario: Scenario, program: tuple[str, ...], source: str, *extra: str) -> Command:
    """`--dataset-name random`, the same in the benchmark clients of vLLM, SGLang and TensorRT-LLM.

    extra: further switches without values.
    """
    sequences = scenario.concurrent_sequences
    return Command(
        program,
        (
            ("--model", source),
            ("--dataset-name", "random"),
            ("--random-input-len", str(scenario.prompt_tokens)),
            ("--random-output-len", str(scenario.output_tokens)),
            ("--max-concurrency", str(sequences)),
            ("--num-prompts", str(_ROUNDS * sequences)),
            *((word,) for word in extra),
        ),
    )
