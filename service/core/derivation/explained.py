"""What an engine may say about its own figures; everything it leaves out becomes a leaf."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from service.core.derivation.expressions import Expression
from service.core.derivation.steps import Trace
from service.core.sizing import Sizing


@dataclass(frozen=True, slots=True)
class Explained:
    """Formulas of an engine's figures over steps that it added to the trace.

    answers: `kv_bytes_per_token`, `kv_window_bytes_per_sequence`, `state_bytes_per_sequence`, `host_bytes`,
    `usable_bytes`, `kv_cache_capacity_tokens`. ranks: (number of the kind of GPU, term) -> formula; kinds as
    `derivation.ranks.kinds` numbers them. A formula that misses the engine's figure is dropped.
    """

    answers: Mapping[str, Expression] = field(default_factory=dict)
    ranks: Mapping[tuple[int, str], Expression] = field(default_factory=dict)


@runtime_checkable
class Explains(Protocol):
    """An engine that derives its own figures; the method is optional for an engine."""

    def explain(self, sizing: Sizing, trace: Trace) -> Explained:
        """Add the steps behind a sizing to the trace and name the formulas of its figures."""
        ...
