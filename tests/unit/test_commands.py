"""Launch commands: flags that the engines have today, carrying the scenario, safe to paste into a shell."""

import json
import shlex
from dataclasses import replace
from typing import Any

import pytest

from service.catalog import Catalog
from service.core.catalogued import Model
from service.core.commands import LAUNCHERS, launch
from service.core.commands.command import Command, Launch
from service.core.engines import ENGINES
from service.core.request import Request
from service.core.resolve import resolve
from service.core.scenario import Layout, Scenario
from tests.unit.factories import make_gpu, make_model, make_scenario


def asked(catalog: Catalog, model: str, gpu: str, **parameters: Any) -> Scenario:
    return resolve(Request(model=catalog.models[model], gpu=catalog.gpus[gpu], **parameters))


def started(scenario: Scenario) -> Launch:
    found = launch(scenario)
    assert found is not None
    return found


def options(command: Command) -> dict[str, str | None]:
    return {option[0]: (option[1] if len(option) > 1 else None) for option in command.options}


def codes(found: Launch) -> list[str]:
    return [note.code for note in found.notes]


def test_every_engine_has_a_launcher():
    assert {*LAUNCHERS} == {*ENGINES}


def test_llama_server_gets_the_context_of_all_slots(catalog: Catalog):
    """`-c` is divided by `-np`: four sequences of 8,192 tokens are `-c 32768 -np 4`."""
    scenario = asked(catalog, "qwen3-8b", "rtx-4090", concurrent_sequences=4, kv_cache_dtype="q8_0")
    serve = started(scenario).serve[0]
    assert serve.program == ("llama-server",)
    flags = options(serve)
    assert (flags["-c"], flags["-np"]) == ("32768", "4")
    assert (flags["-ctk"], flags["-ctv"]) == ("q8_0", "q8_0")


def test_flash_attention_has_its_value_and_layers_are_left_to_the_fit(catalog: Catalog):
    """A bare `-fa` takes the next word as its value; `-ngl 999` would switch the automatic fit off."""
    serve = started(asked(catalog, "qwen3-8b", "rtx-4090")).serve[0]
    assert options(serve)["-fa"] == "on"
    assert not {"-ngl", "--n-gpu-layers", "--flash-attn"} & {*serve.words}


def test_a_gguf_repository_is_named_only_where_it_is_known(catalog: Catalog):
    """Qwen/Qwen3-8B-GGUF publishes Q4_K_M; no repository is recorded that has its IQ4_XS."""
    known = started(asked(catalog, "qwen3-8b", "rtx-4090", quantization="q4_k_m"))
    assert options(known.serve[0])["-hf"] == "Qwen/Qwen3-8B-GGUF:Q4_K_M"
    unknown = started(asked(catalog, "qwen3-8b", "rtx-4090", engine="llama.cpp", quantization="iq4_xs"))
    assert options(unknown.serve[0])["-m"] == "/path/to/qwen3-8b-IQ4_XS.gguf"
    assert "-hf" not in options(unknown.serve[0])
    assert codes(unknown) == ["gguf_repository_unknown"]


def test_a_plain_gguf_type_is_made_from_a_16_bit_checkpoint(catalog: Catalog):
    """llama.cpp converts to bf16 and quantizes that; the server then loads what was written."""
    found = started(asked(catalog, "llama-3.1-8b-instruct", "rtx-4090", quantization="q4_k_m"))
    download, convert, quantize = found.prepare
    assert download.program == ("hf", "download", "meta-llama/Llama-3.1-8B-Instruct")
    assert convert.program[:2] == ("python", "convert_hf_to_gguf.py")
    assert quantize.program == (
        "llama-quantize",
        options(convert)["--outfile"],
        options(found.serve[0])["-m"],
        "Q4_K_M",
    )


def test_a_checkpoint_that_is_not_16_bit_is_not_converted(catalog: Catalog):
    """Kimi K3.1 Pro is published in MXFP4: there is a path and a reason, no conversion."""
    found = started(asked(catalog, "kimi-k3.1-pro", "h20-141gb", gpu_count=16))
    assert found.prepare == ()
    assert "gguf_repository_unknown" in codes(found)


def test_vllm_carries_layout_context_and_memory(catalog: Catalog):
    scenario = asked(
        catalog,
        "gpt-oss-120b",
        "h100-80gb-sxm",
        engine="vllm",
        gpu_count=4,
        tensor_parallel=2,
        context_tokens=32768,
        concurrent_sequences=16,
        memory_utilization=0.85,
        kv_cache_dtype="fp8",
    )
    serve = started(scenario).serve[0]
    assert serve.program == ("vllm", "serve", "openai/gpt-oss-120b")
    flags = options(serve)
    assert (flags["-tp"], flags["-pp"]) == ("2", "2")
    assert (flags["--max-model-len"], flags["--max-num-seqs"]) == ("32768", "16")
    assert (flags["--gpu-memory-utilization"], flags["--kv-cache-dtype"]) == ("0.85", "fp8")


def test_experts_and_data_parallelism_have_each_engines_own_flags():
    """vLLM switches expert parallelism on; SGLang and TensorRT-LLM count tensor ranks over attention data."""
    layout = Layout(tensor=2, expert=8, data=4)
    scenario = make_scenario(layout=layout, gpu_count=8, memory_utilization=0.9, quantization="native")
    scenario = replace(scenario, concurrent_sequences=10)
    vllm = options(started(replace(scenario, engine="vllm")).serve[0])
    assert (vllm["-tp"], vllm["-dp"]) == ("2", "4")
    assert "--enable-expert-parallel" in vllm
    assert vllm["--max-num-seqs"] == "3"  # of each of the four ranks
    sglang = options(started(replace(scenario, engine="sglang")).serve[0])
    assert sglang["--max-running-requests"] == "10"  # of the server
    assert (sglang["--tp-size"], sglang["--attn-dp-size"], sglang["--ep-size"]) == ("8", "4", "8")
    trt = started(replace(scenario, engine="tensorrt-llm")).serve[0]
    assert (options(trt)["--tp_size"], options(trt)["--ep_size"]) == ("8", "8")
    assert "enable_attention_dp: true" in trt.writes["config.yml"]


def test_a_fixed_pool_replaces_the_fraction():
    scenario = make_scenario(
        engine="vllm", quantization="native", memory_utilization=0.92, kv_cache_memory_bytes=2**30
    )
    flags = options(started(scenario).serve[0])
    assert flags["--kv-cache-memory-bytes"] == "1073741824"
    assert "--gpu-memory-utilization" not in flags


def test_a_format_without_a_known_checkpoint_has_a_path_and_a_reason(catalog: Catalog):
    scenario = asked(catalog, "qwen3-8b", "rtx-4090", engine="vllm", quantization="awq-int4")
    found = started(scenario)
    assert found.serve[0].program[2] == "/path/to/qwen3-8b-awq-int4"
    assert codes(found) == ["checkpoint_repository_unknown"]


def test_the_benchmark_asks_for_the_scenarios_load(catalog: Catalog):
    scenario = asked(
        catalog,
        "qwen3-8b",
        "h100-80gb-sxm",
        engine="vllm",
        concurrent_sequences=8,
        prompt_tokens=2000,
        output_tokens=100,
    )
    check = started(scenario).check
    assert check is not None
    flags = options(check)
    assert check.program == ("vllm", "bench", "serve")
    assert (flags["--random-input-len"], flags["--random-output-len"]) == ("2000", "100")
    assert flags["--max-concurrency"] == "8"
    bench = started(asked(catalog, "qwen3-8b", "rtx-4090", prompt_tokens=2000, output_tokens=100)).check
    assert bench is not None
    assert options(bench)["-d"] == "0,2050"  # the prompt and half of the output


def test_mtp_layers_draft_and_other_drafts_are_not_carried(catalog: Catalog):
    """DeepSeek V3.2 publishes a prediction layer; Qwen3 8B has none."""
    drafting = asked(
        catalog, "deepseek-v3.2-685b", "h200-141gb-sxm", engine="vllm", gpu_count=8, speculative_tokens=2
    )
    value = options(started(drafting).serve[0])["--speculative-config"]
    assert json.loads(value or "") == {"method": "mtp", "num_speculative_tokens": 2}
    without = started(asked(catalog, "qwen3-8b", "rtx-4090", engine="vllm", speculative_tokens=2))
    assert "--speculative-config" not in options(without.serve[0])
    note = next(note for note in without.notes if note.code == "command_without_parameters")
    assert note.parameters["fields"] == ["speculative_tokens"]


def test_more_gpus_than_a_machine_has_are_remarked():
    scenario = make_scenario(gpu=make_gpu(max_per_node=8), gpu_count=16)
    assert "command_spans_machines" in codes(started(scenario))
    assert "command_spans_machines" not in codes(started(replace(scenario, gpu_count=8)))


def posted() -> Model:
    name = "x'; rm -rf ~ #"
    return make_model(id=name, name=name, hf_repo="", catalogued=False)


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_a_caller_wrote_reaches_the_shell(engine: str):
    """A posted model has no repository; its name stands nowhere in the commands."""
    default = ENGINES[engine].default_format
    found = started(
        make_scenario(model=posted(), engine=engine, quantization=default, memory_utilization=0.9)
    )
    for command in (*found.prepare, *found.serve, *([found.check] if found.check else [])):
        assert "rm -rf" not in command.text


def test_words_survive_the_shell():
    """What a POSIX shell reads from the text are the words themselves, whatever they contain."""
    words = ("a b", "$(id)", "it's", "`x`", '{"k":1}', "\\", "*")
    command = Command(("program", *words[:3]), tuple((word,) for word in words[3:]), {"V": "1; id"})
    read = shlex.split(command.text.replace("\\\n", " "))
    assert read == ["V=1; id", "program", *words]


def test_offloaded_experts_stay_in_ram_layer_by_layer(catalog: Catalog):
    """All 48 layers of Qwen3 30B-A3B have experts: a third of the weights is about a third of the layers.

    The experts are 96 % of a layer, so 30 % of the weights are the experts of 15 or 16 of 48 layers.
    """
    scenario = asked(
        catalog,
        "qwen3-30b-a3b-instruct-2507",
        "rtx-3060-12gb",
        engine="llama.cpp",
        quantization="q4_k_m",
        cpu_offload_percent=30,
    )
    found = started(scenario)
    assert found.check is not None
    for command in (found.serve[0], found.check):
        flags = options(command)
        assert flags["-ncmoe"] in ("15", "16")
        assert "-ngl" not in flags
    assert "command_without_parameters" not in codes(found)


@pytest.mark.parametrize(("percent", "on_gpus"), [(100, range(1)), (50, range(38, 43)), (1, range(80, 81))])
def test_a_dense_model_leaves_whole_layers_in_ram(catalog: Catalog, percent: float, on_gpus: range):
    """Llama 3.3 70B has 80 layers and an output matrix, which `-ngl` counts as one: 81 are all.

    One percent takes the first layer, half about half of the layers, everything all of them.
    """
    scenario = asked(
        catalog,
        "llama-3.3-70b-instruct",
        "rtx-4090",
        engine="llama.cpp",
        quantization="q4_k_m",
        cpu_offload_percent=percent,
    )
    flags = options(started(scenario).serve[0])
    assert int(flags["-ngl"] or -1) in on_gpus
    assert "-ncmoe" not in flags


@pytest.mark.parametrize(
    ("engine", "gpu"),
    [(name, "mac-studio-m3-ultra-512gb" if name == "mlx" else "b200-180gb") for name in ENGINES],
)
def test_a_given_batch_is_carried_or_named(catalog: Catalog, engine: str, gpu: str):
    """3,000 tokens of a pass reach the engine, by an option or a line of a file, or the reader is told."""
    found = started(asked(catalog, "qwen3-8b", gpu, engine=engine, max_batched_tokens=3000))
    unsaid = [note.parameters.get("fields", []) for note in found.notes]
    assert ("3000" in " ".join(command.text for command in found.serve)) is not any(
        "max_batched_tokens" in str(names) for names in unsaid
    )


def test_llama_cpps_batch_does_not_cut_its_micro_batch(catalog: Catalog):
    """`-ub` above the 2,048 of `-b` would be 2,048 (n_ubatch = min(n_batch, n_ubatch))."""
    for tokens, batch in ((512, None), (2048, None), (8192, "8192")):
        found = started(asked(catalog, "qwen3-8b", "rtx-4090", engine="llama.cpp", max_batched_tokens=tokens))
        assert found.check
        for command in (found.serve[0], found.check):
            given = options(command)
            assert (given.get("-b"), given["-ub"]) == (batch, str(tokens))
