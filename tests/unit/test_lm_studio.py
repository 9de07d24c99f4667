"""LM Studio: llama.cpp's bytes, with the certainty of a closed program."""

from service.core.engines import llama_cpp
from service.core.engines.base import Engine
from service.core.engines.lm_studio import ENGINE
from service.core.evidence import Evidence
from tests.unit.factories import make_architecture, make_gpu, make_scenario


def test_the_bytes_are_llama_cpps() -> None:
    """Its GGUF runtime is llama.cpp, so every term and limit is the same."""
    question = make_scenario(engine="lm-studio")
    ours, theirs = ENGINE.plan(question), llama_cpp.ENGINE.plan(question)
    assert ours.ranks == theirs.ranks
    assert ours.usable_bytes == theirs.usable_bytes
    assert ours.max_context_tokens == theirs.max_context_tokens


def test_only_the_weights_are_better_than_an_estimate() -> None:
    """No source of its guardrails and defaults is public."""
    question = make_scenario(engine="lm-studio")
    ours, theirs = ENGINE.plan(question).evidence, llama_cpp.ENGINE.plan(question).evidence
    assert ours["weights"] == theirs["weights"]
    assert {known.evidence for term, known in ours.items() if term != "weights"} == {Evidence.ESTIMATE}
    assert ours.keys() == theirs.keys()


def test_the_engine_has_the_shape_of_every_engine() -> None:
    """Its defaults are its own types and formats, and it runs what llama.cpp runs."""
    engine: Engine = ENGINE
    assert engine.formats == llama_cpp.ENGINE.formats
    assert engine.defaults(make_architecture(), make_gpu(), 1, 8192).kv_cache_dtype in engine.kv_dtypes
    assert engine.modelled
