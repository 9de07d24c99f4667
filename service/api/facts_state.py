"""Whether the facts that are served are those of the files."""

from dataclasses import dataclass


@dataclass(slots=True)
class FactsState:
    """current: false once a reload failed and the facts from before it are still served."""

    current: bool = True
