"""The peak of a prompt's chunk."""

from service.core.architecture.kinds import Kinds
from service.core.derivation.expressions import Expression, largest, lift, smallest
from service.core.derivation.facts import config, rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.mlx.cache import chunk_bytes
from service.core.engines.mlx.load import PROMPTS_AT_ONCE
from service.core.evidence import Evidence
from service.core.scenario import Scenario

_CACHE = rule("mlx-lm 0.32.2 models/cache.py")
_PROMPT = rule("mlx-lm 0.32.2 generate.py, widths of one prompt chunk", Evidence.ESTIMATE)
_HALF = 2
_HIDDEN_WIDTHS, _FEED_FORWARD_WIDTHS = 4, 3


def prompt(trace: Trace, scenario: Scenario, kept: Kinds, *, last: bool) -> Expression:
    """The peak of a prompt's chunk: 4 hidden and 3 feed-forward widths, logits, and the windows."""
    model = scenario.model.architecture
    sequences = trace.asked(scenario, "concurrent_sequences", Unit.SEQUENCES)
    context = trace.asked(scenario, "context_tokens", Unit.TOKENS)
    batch = trace.asked(scenario, "max_batched_tokens", Unit.TOKENS)
    trace.about(Topic.BUFFERS)
    chunk = trace.follows("prompt_chunk", smallest(batch, context), Unit.TOKENS, _PROMPT)
    values = _times(_HIDDEN_WIDTHS, _size(trace, scenario, "hidden_size", model.hidden_size)) + _feed_forward(
        trace, scenario
    )
    if last:
        values += _size(trace, scenario, "vocabulary", model.vocabulary)
    most = trace.given("prompts_at_once", PROMPTS_AT_ONCE, Unit.SEQUENCES, _PROMPT)
    one = chunk * values * _HALF
    if above := chunk_bytes(kept, scenario.context_tokens, int(chunk.value)):
        one += trace.given("chunk_windows", above, Unit.BYTES, _CACHE)
    return smallest(sequences, most) * one


def _feed_forward(trace: Trace, scenario: Scenario) -> Expression:
    """Values of one token in the widest feed-forward layer."""
    model = scenario.model.architecture
    widest = [_times(_FEED_FORWARD_WIDTHS, _size(trace, scenario, "dense_width", model.dense_width))]
    if (experts := model.experts) is not None:
        one = _times(_FEED_FORWARD_WIDTHS, _size(trace, scenario, "expert_width", experts.width))
        one += _size(trace, scenario, "expert_inputs", experts.latent_dim or model.hidden_size)
        widest.append(
            trace.given("experts_per_token", experts.per_token, Unit.COUNT, config(scenario.model)) * one
        )
    return largest(*widest)


def _size(trace: Trace, scenario: Scenario, name: str, value: int) -> Expression:
    return trace.given(name, value, Unit.ELEMENTS, config(scenario.model))


def _times(count: int, size: Expression) -> Expression:
    return lift(count) * size
