"""Every part of two kinds of published page has its section: a model on one GPU, and a model alone.

The first kind is a configurator's report about one model on one accelerator, the second an encyclopedia's
entry about a model. Their parts are named here in our own words, with the section and fields that show each.
"""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from service.render.fragments import SECTIONS, render
from tests.contract.fragment_cases import facts, sized

TOO_LARGE = "kimi"  # 2.8T parameters on one accelerator: nothing fits
RUNS = "llama"  # 8B parameters on two accelerators
ALONE = "kimi-k3.1-pro"


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a page.

    fields: paths in the section's JSON, lists searched element by element. question: scenario or model id.
    """

    what: str
    section: str
    fields: tuple[str, ...]
    question: str = TOO_LARGE


def part(what: str, section: str, fields: str, question: str = TOO_LARGE) -> Part:
    return Part(what, section, tuple(fields.split()), question)


MODEL_ON_GPU = [
    part("heading: which model on which accelerator", "summary", "model.name gpu.name gpu.memory"),
    part(
        "size of the model in the opening sentence",
        "summary",
        "model.parameters_total model.parameters_active",
    ),
    part("total memory at the asked context", "summary", "memory.total"),
    part("total memory at four times the context", "context", "rows.context_tokens rows.total"),
    part("controls and their values", "scenario", "parameters.name parameters.value parameters.defaulted"),
    part("banner: more than the memory holds", "summary", "fit.verdict fit.reasons.message"),
    part(
        "where the figures are derived from", "memory", "evidence.weights.source evidence.kv_cache.evidence"
    ),
    part(
        "breakdown: weights, cache, buffers",
        "memory",
        "memory.weights memory.kv_cache memory.compute_buffers",
    ),
    part("breakdown: recurrent state, which the page forgets", "memory", "memory.recurrent_state"),
    part("breakdown: what lies in system RAM", "memory", "memory.host"),
    part("total in binary units, bytes for decimal ones", "memory", "memory.total.gib memory.total.bytes"),
    part("usable and physical memory", "memory", "fit.usable gpu.memory"),
    part("headroom and utilization", "memory", "fit.headroom fit.utilization_percent"),
    part("decode rate", "speed", "speed.decode_tokens_per_second.estimate", RUNS),
    part("prefill rate", "speed", "speed.prefill_tokens_per_second.estimate", RUNS),
    part("time to the first token", "speed", "speed.time_to_first_token_ms.estimate prompt_tokens", RUNS),
    part("no speed where it does not run, and why", "speed", "speed reasons"),
    part("cost of a million tokens", "cloud", "rows.usd_per_million_output_tokens.estimate", RUNS),
    part("name of the kind of attention", "about", "layer_kinds.kind layer_kinds.count"),
    part(
        "recommended hardware by kind, and best value",
        "recommendations",
        "rows.pick rows.gpu_name rows.gpu_count",
    ),
    part("cheapest cloud offer", "cloud", "cheapest_current.usd_per_hour cheapest_current.provider"),
    part("launch commands", "commands", "rows.serve.text rows.engine", RUNS),
    part("simulator of the answering speed, fed by these", "speed", "speed.per_sequence.estimate", RUNS),
    part("offers: instance, memory, rent", "cloud", "rows.instance rows.memory rows.usd_per_hour"),
    part("offers: monthly rent, billing", "cloud", "rows.usd_per_month rows.billing rows.provider"),
    part("date of the prices", "cloud", "as_of rows.as_of"),
    part("hours a day, price of electricity", "cloud", "hours_per_day electricity_usd_per_kwh"),
    part("electricity of a month", "cloud", "own_hardware.electricity.usd_per_month", RUNS),
    part("months until a purchase pays off", "cloud", "own_hardware.purchase.break_even_months", RUNS),
    part("fine-tuning: each method's memory", "finetuning", "methods.method methods.memory.total"),
    part(
        "fine-tuning: weights, gradients, optimizer",
        "finetuning",
        "methods.memory.weights methods.memory.optimizer",
    ),
    part("fine-tuning: activations", "finetuning", "methods.memory.activations"),
    part("fine-tuning: hardware for it", "finetuning", "methods.smallest_hardware methods.min_gpu_count"),
    part("verdict in words, and what would make it fit", "diagnosis", "findings.message changes.to"),
    part("what a smaller cache type saves", "recommendations", "kv_cache_types.name kv_cache_types.saved"),
    part("growth with the context", "context", "rows.kv_cache rows.recurrent_state"),
    part("formats: weights and total", "quantizations", "rows.quantization rows.weights rows.total"),
    part("formats: does it fit, where is it from", "quantizations", "rows.verdict rows.evidence rows.source"),
    part("formats: decode rate of each", "quantizations", "rows.speed.estimate rows.indicative", RUNS),
    part("formats: accelerator for each", "quantizations", "rows.smallest_gpu.name", RUNS),
    part("questions and answers", "faq", "items.question.message items.answer"),
    part("this model on other accelerators", "gpus", "rows.name rows.verdict"),
    part("other models on this accelerator", "models", "rows.name rows.verdict"),
]

MODEL_ALONE = [
    part("introduction: publisher, date, license", "about", "publisher released license hf_repo", ALONE),
    part("introduction: parameters, all and active", "about", "parameters_total parameters_active", ALONE),
    part("introduction: layers by kind", "about", "layers layer_kinds.kind layer_kinds.count", ALONE),
    part("introduction: experts", "about", "experts.count experts.per_token experts.shared_count", ALONE),
    part("introduction: vision, context", "about", "vision_parameters max_context_tokens", ALONE),
    part("introduction: published weights", "about", "native_format native_size native_evidence", ALONE),
    part(
        "what the facts rest on, what is unknown", "about", "sources warnings.message unknown remark", ALONE
    ),
    part(
        "cache of a token, derived",
        "architecture",
        "layer_groups.kv_formula layer_groups.index_formula",
        ALONE,
    ),
    part(
        "cache of a token, bytes",
        "architecture",
        "totals.bytes_per_token totals.index_bytes_per_token",
        ALONE,
    ),
    part("state of constant size", "architecture", "totals.state_bytes_per_sequence", ALONE),
    part("why the usual constants do not apply", "architecture", "usual_formula_bytes_per_token", ALONE),
    part(
        "measurements: hardware and format",
        "measurements",
        "rows.gpu_name rows.gpu_count rows.quantization",
        ALONE,
    ),
    part("measurements: context, engine, version", "measurements", "rows.context_tokens rows.engine", ALONE),
    part(
        "measurements: rates",
        "measurements",
        "rows.decode_tokens_per_second rows.prefill_tokens_per_second",
        ALONE,
    ),
    part("measurements: load and drafts", "measurements", "rows.concurrency rows.speculative", ALONE),
    part(
        "measurements: what a record leaves out",
        "measurements",
        "rows.missing rows.comparable rows.source",
        ALONE,
    ),
    part("overview of estimated speeds", "estimates", "rows.gpu_name rows.verdict rows.speed", ALONE),
    part(
        "context: cache and total from 4K to 128K",
        "context",
        "rows.context_tokens rows.kv_cache rows.total",
        ALONE,
    ),
    part(
        "context: within the watermark of a card",
        "context",
        "watermark watermark_percent rows.verdict",
        ALONE,
    ),
    part("tiers: best format", "memory-tiers", "rows.tier_gib rows.quantization", ALONE),
    part("tiers: total and largest context", "memory-tiers", "rows.total rows.max_context_tokens", ALONE),
    part("tiers: where the model sets the limit", "memory-tiers", "rows.limited_by_model", ALONE),
    part(
        "tiers: computed sizes beside published files",
        "memory-tiers",
        "formats.published_file formats.weights",
        ALONE,
    ),
    part(
        "estimated speed on each accelerator",
        "estimates",
        "rows.memory rows.gpu_count rows.indicative",
        ALONE,
    ),
    part("commands of each engine", "commands", "rows.engine rows.serve.text rows.check.text", ALONE),
    part("engines without a command, with the reason", "commands", "rows.reasons.message", ALONE),
    part(
        "tips: weights of the formats",
        "quantizations",
        "rows.quantization rows.weights rows.estimated",
        ALONE,
    ),
    part("tips: what a shorter context saves", "tips", "tips.code tips.saved short_context_tokens", ALONE),
    part("tips: options that save memory", "tips", "tips.option tips.engine", ALONE),
    part("tips: the model's own limit", "context", "native_context_tokens", ALONE),
    part("tips: memory by all parameters, speed by active ones", "about", "dense moe_layers", ALONE),
]


@cache
def answer(section: str, question: str) -> dict[str, Any]:
    """The section's JSON about a scenario, or about a model alone."""
    on_gpu = question in (TOO_LARGE, RUNS)
    model = None if on_gpu else facts().models[question]
    sizing = sized(question) if on_gpu else None
    return dict(json.loads(render(section, sizing, facts(), "en", "application/json", model)))


def carries(data: Any, path: list[str]) -> bool:
    """Whether the path leads somewhere, in at least one element of each list on the way."""
    if not path:
        return True
    if isinstance(data, list):
        return any(carries(item, path) for item in data)
    return isinstance(data, dict) and path[0] in data and carries(data[path[0]], path[1:])


@pytest.mark.parametrize("wanted", [*MODEL_ON_GPU, *MODEL_ALONE], ids=lambda wanted: wanted.what)
def test_every_part_of_the_pages_has_its_section(wanted: Part):
    """The section exists and carries the fields that show the part."""
    assert wanted.section in SECTIONS
    found = answer(wanted.section, wanted.question)
    assert found["available"] is True
    for field in wanted.fields:
        assert carries(found, field.split(".")), field


def test_no_part_is_named_twice():
    """Each part of a page stands once in its list."""
    for page in (MODEL_ON_GPU, MODEL_ALONE):
        names = [wanted.what for wanted in page]
        assert len(set(names)) == len(names)


def test_a_missing_field_is_noticed():
    """The check of a path fails for a field that is not there, also inside lists."""
    data = {"rows": [{"total": None}, {"total": {"bytes": 1}}]}
    assert carries(data, ["rows", "total", "bytes"])
    assert not carries(data, ["rows", "total", "gib"])
    assert not carries(data, ["row"])
