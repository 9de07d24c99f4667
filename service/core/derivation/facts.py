"""Leaves that several parts of a derivation lean on."""

from service.core.catalogued import Model
from service.core.derivation.expressions import Expression, lift
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.evidence import Evidence
from service.core.hardware import Gpu
from service.core.sizing import Sourced


def config(model: Model) -> Sourced:
    """The published config of a model as a source."""
    where = f"config.json of {model.hf_repo}" if model.hf_repo else "config.json as it was sent"
    return Sourced(Evidence.CONFIG, where)


def rule(source: str, evidence: Evidence = Evidence.CONFIG) -> Sourced:
    """An engine's rule as a source."""
    return Sourced(evidence, source)


def gpu_memory(trace: Trace, gpu: Gpu) -> Expression:
    """The total that the driver reports; the memory must be known."""
    assert gpu.memory_bytes is not None
    topic = trace.topic
    trace.about(Topic.FIT)
    source = Sourced(gpu.memory_evidence, gpu.sources[0] if gpu.sources else "GPU catalog")
    found = trace.follows("gpu_memory", lift(gpu.memory_bytes), Unit.BYTES, source, prints=("gpu.memory",))
    trace.about(topic)
    return found
