"""mlx-lm's server on a model that its own converter makes. Source: mlx-lm 0.32.2 server.py, convert.py."""

from service.core.commands.command import Command, Launch, flag, not_carried
from service.core.commands.weights import slug
from service.core.notes import Note
from service.core.scenario import Scenario

_SIXTEEN_BIT = {"bf16": "bfloat16", "fp16": "float16"}
_KV_BITS = {"int8-g64": "8", "int4-g64": "4"}


def launch(scenario: Scenario) -> Launch:
    """The converted model at a local path; the cache grows with the conversation, up to no fixed context."""
    model, wanted = scenario.model, scenario.quantization
    path = f"/path/to/{slug(scenario)}-{wanted}"
    notes = [
        Note("mlx_made_from_checkpoint" if model.hf_repo else "model_repository_unknown", {"format": wanted})
    ]
    bits = _KV_BITS.get(scenario.kv_cache_dtype)
    server = Command(
        ("mlx_lm.server",),
        (
            ("--model", path),
            *flag("--kv-bits", bits, when=bits is not None),
            *flag("--kv-group-size", "64", when=bits is not None),
            ("--decode-concurrency", str(scenario.concurrent_sequences)),
            *flag(
                "--prefill-step-size",
                scenario.max_batched_tokens,
                when="max_batched_tokens" not in scenario.defaulted,
            ),
            ("--port", "8080"),
        ),
    )
    missing = ["context_tokens"]
    missing += [name for name in ("speculative_tokens", "vision") if getattr(scenario, name)]
    if scenario.gpu_count > 1:  # `mlx.launch` needs the names of the machines
        missing.append("gpu_count")
    return Launch(
        serve=(server,),
        check=_bench(scenario, path),
        prepare=(_conversion(scenario, path),) if model.hf_repo else (),
        notes=(*notes, *not_carried(scenario.engine, tuple(missing))),
    )


def _conversion(scenario: Scenario, path: str) -> Command:
    wanted = scenario.quantization
    how: tuple[tuple[str, ...], ...]
    if wanted in _SIXTEEN_BIT:
        how = (("--dtype", _SIXTEEN_BIT[wanted]),)
    else:
        how = (
            ("-q",),
            ("--q-bits", wanted.removeprefix("mlx-").removesuffix("bit")),
            ("--q-group-size", "64"),
        )
    return Command(("mlx_lm.convert",), (("--hf-path", scenario.model.hf_repo), *how, ("--mlx-path", path)))


def _bench(scenario: Scenario, path: str) -> Command:
    return Command(
        ("mlx_lm.benchmark",),
        (
            ("--model", path),
            ("-p", str(scenario.prompt_tokens)),
            ("-g", str(scenario.output_tokens)),
            ("-b", str(scenario.concurrent_sequences)),
        ),
    )
