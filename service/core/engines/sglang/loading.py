"""What a rank loads: weights under attention data parallelism, copies, and tables that stay on the host.

Source: SGLang 0.5.23 srt/layers/vocab_parallel_embedding.py and srt/layers/dp_attention.py (embeddings whole
on every rank, MLPs and the output matrix over all ranks), srt/models/deepseek_v2.py post_load_weights.
"""

from collections.abc import Mapping
from dataclasses import replace

from service.core.architecture.caches import StateKind
from service.core.architecture.kinds import kinds_of
from service.core.architecture.model import Architecture
from service.core.architecture.tensors import TensorClass
from service.core.engines.vllm.loading import absorbed_bytes
from service.core.identity import ByIdentity
from service.core.parallel import stage_weights
from service.core.scenario import Layout, Scenario
from service.core.weights.table import Weighed, WeightTable
from service.core.weights.weigh import weigh

_NGRAM_TABLE = frozenset({"per_layer_token_embd.weight"})
_ALL_RANKS = frozenset({TensorClass.DENSE_FFN, TensorClass.SHARED_EXPERTS, TensorClass.OUTPUT})


def weight_table(scenario: Scenario) -> WeightTable:
    """The tensors that SGLang loads: MTP layers for speculation only."""
    architecture = scenario.model.architecture
    drafting = bool(scenario.speculative_tokens and architecture.mtp)
    return weigh(scenario.model, scenario.quantization, mtp=drafting, vision=scenario.vision)


def hosted_roles(scenario: Scenario) -> frozenset[str]:
    """The n-gram table, which --ple-offload-embedding keeps in host memory by default on CUDA."""
    kept = kinds_of(scenario.model.architecture)
    ngrams = any(state.kind is StateKind.LOOKUP_CONV for (_, _, states), _ in kept for state in states)
    return _NGRAM_TABLE if ngrams and scenario.backend == "cuda" else frozenset()


def rank_weights(scenario: Scenario, table: WeightTable) -> tuple[int, ...]:
    """Bytes on a rank of each pipeline stage, what --cpu-offload-gb keeps on the host left out.

    With attention data parallelism, attention is divided by the attention ranks only, the embedding is whole
    on every rank, and MLPs, shared experts and the output matrix (without --enable-dp-lm-head) are divided
    by all ranks.
    """
    architecture, layout = scenario.model.architecture, scenario.layout
    hosted = hosted_roles(scenario)
    sizes = stage_weights(table, architecture, layout, hosted=hosted)
    if layout.data > 1:
        whole, everywhere, attention = _part(table, "whole"), _part(table, "all"), _part(table, "attention")
        stages = layout.pipeline
        parts = (
            stage_weights(whole, architecture, Layout(pipeline=stages)),
            stage_weights(everywhere, architecture, Layout(layout.tensor * layout.data, stages)),
            stage_weights(attention, architecture, layout, hosted=hosted),
        )
        sizes = tuple(sum(sizes) for sizes in zip(*parts, strict=True))
    return tuple(size - int(size * scenario.cpu_offload_percent / 100) for size in sizes)


def _by_ranks(table: WeightTable) -> Mapping[str, WeightTable]:
    """The table in three, by the ranks that share a tensor; the total keeps its proportions."""
    names = {
        TensorClass.EMBEDDING: "whole",
        **dict.fromkeys(_ALL_RANKS, "all"),
    }
    groups: dict[str, list[Weighed]] = {"whole": [], "all": [], "attention": []}
    for weighed in table.tensors:
        groups[names.get(weighed.tensor.tensor_class, "attention")].append(weighed)
    summed = table.sum or 1
    parts = {}
    for name, tensors in groups.items():
        size = sum(weighed.all_bytes for weighed in tensors)
        parts[name] = replace(table, tensors=tuple(tensors), total_bytes=size * table.total_bytes // summed)
    return parts


_parts: ByIdentity[WeightTable, Mapping[str, WeightTable]] = ByIdentity(_by_ranks)


def _part(table: WeightTable, name: str) -> WeightTable:
    return _parts(table)[name]


def copied_bytes(architecture: Architecture, stage: range, attention_parallel: int) -> int:
    """16-bit copies of the latent up-projections (w_kc, w_vc) that loading makes beside the checkpoint."""
    return absorbed_bytes(architecture, stage, attention_parallel)
