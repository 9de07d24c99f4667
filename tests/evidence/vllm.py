"""vLLM's figures for a log."""

from dataclasses import replace

from service.core.engines.vllm import ENGINE, loading
from service.core.engines.vllm.budget import Stage, usable_bytes
from service.core.engines.vllm.buffers import DRIVER_RESERVE
from service.core.engines.vllm.generation import generation
from service.core.engines.vllm.stages import cache_config, drafting_layers, pipeline_stages
from service.core.scenario import Layout, Scenario
from service.core.units import GIB
from service.core.weights.table import WeightTable
from service.core.weights.weigh import weigh
from tests.evidence.cases import Case, gpu, model
from tests.evidence.releases import RELEASES, Release
from tests.unit.factories import make_scenario


def scenario(case: Case) -> Scenario:
    """The question that the log answers, engine defaults where it is silent."""
    ask, entry, card = case.ask, model(case), gpu(case)
    layout = Layout(tensor=ask.get("tensor", 1))
    defaults = ENGINE.defaults(entry.architecture, card, layout.tensor, ask["context_tokens"])
    dtype = ask.get("kv_cache_dtype", defaults.kv_cache_dtype)
    return make_scenario(
        model=entry,
        gpu=card,
        engine="vllm",
        quantization=ask["quantization"],
        kv_cache_dtype=dtype,
        kv_cache_dtype_v=dtype,
        context_tokens=ask["context_tokens"],
        layout=layout,
        gpu_count=layout.tensor,
        max_batched_tokens=ask.get("max_batched_tokens", defaults.max_batched_tokens),
        memory_utilization=ask.get("memory_utilization"),
        prefix_caching=ask.get("prefix_caching", defaults.prefix_caching),
        speculative_tokens=ask.get("speculative_tokens", 0),
        vision=bool(entry.architecture.vision),
    )


class Figures:
    """Every term that a log may print."""

    def __init__(self, case: Case) -> None:
        self.case, self.scenario = case, scenario(case)
        self.release: Release = RELEASES[case.ask.get("release", "newest")]
        self.table = self._table()
        self.stage: Stage = pipeline_stages(self.scenario, self.table, cache_config(self.scenario))[0]

    def _table(self) -> WeightTable:
        drafting = bool(drafting_layers(self.scenario))
        chosen = self.scenario
        return weigh(chosen.model, chosen.quantization, mtp=drafting, vision=chosen.vision)

    @property
    def loaded(self) -> int:
        """What "Model loading took" counts."""
        architecture, layout = self.scenario.model.architecture, self.scenario.layout
        total = self.stage.weights + self.stage.loaded_buffers
        if not self.release.padding:
            layers = range(len(architecture.layers))
            where = generation(self.scenario.gpu)
            total -= loading.padding_bytes(self.table, architecture, layout, where, layers)
        return total

    @property
    def activations(self) -> int:
        """The peak of the profiling run."""
        ours, release = self.stage.activations, self.release
        if release.sampler_bytes is not None:
            vocabulary = self.scenario.model.architecture.vocabulary
            ours = replace(ours, sampler=vocabulary * release.sampler_bytes)
        if release.sequences is not None:
            ours = replace(ours, sequences=release.sequences)
        if "sequences" in self.case.ask:
            ours = replace(ours, sequences=self.case.ask["sequences"])
        return ours.peak(1)

    @property
    def graphs(self) -> int:
        """What is set aside for CUDA graphs."""
        return self.stage.fixed_buffers if self.release.graphs else 0

    @property
    def pool(self) -> int:
        """The pool that the share of the GPU leaves."""
        usable = usable_bytes(self.scenario.gpu, self.scenario)
        assert usable is not None
        workspace = self.stage.workspace_per_token * self.scenario.context_tokens
        # A log prints CUDA's total, which is already without what the driver keeps.
        overhead = self.stage.overhead - (DRIVER_RESERVE if "memory_gib" in self.case.ask else 0)
        return usable - self.loaded - self.activations - self.graphs - workspace - overhead

    def printed(self, pool_gib: float) -> int:
        """Tokens that a pool of so many GiB prints."""
        tokens = self.stage.demand.printed_tokens(int(pool_gib * GIB), self.scenario.context_tokens)
        assert tokens is not None
        return tokens

    @property
    def token_bytes(self) -> float:
        """Bytes of the pool for each printed token, or of a request for each of its own."""
        reported = self.case.reported
        if "kv_cache_gib" in reported:
            return float(reported["kv_cache_gib"] * GIB / self.printed(reported["kv_cache_gib"]))
        if "kv_needed_gib" in reported:
            return self.request / self.scenario.context_tokens
        plan = ENGINE.plan(self.scenario, limits=False)
        return float(plan.kv_bytes_per_token)

    @property
    def request(self) -> int:
        """What one request of the whole context reserves."""
        return self.stage.demand.bytes_per_block * self.stage.demand.admission(self.scenario.context_tokens)

    @property
    def longest(self) -> int:
        """The longest context that the pool of the log admits."""
        pinned = int(self.case.reported["kv_available_gib"] * GIB)
        plan = ENGINE.plan(replace(self.scenario, kv_cache_memory_bytes=pinned))
        assert plan.max_context_tokens is not None
        return plan.max_context_tokens


def compare(case: Case, term: str) -> tuple[float, float]:
    """Reported and computed, in the unit of the term."""
    figures, reported = Figures(case), case.reported
    if term == "token bytes":
        return _reported_token_bytes(case), figures.token_bytes
    if term == "pool tokens":
        return _reported_tokens(case), figures.printed(reported["kv_cache_gib"])
    if term == "longest context":
        return reported["est_max_len"], figures.longest
    computed = {
        "weights": figures.loaded,
        "activations": figures.activations,
        "graphs": figures.graphs,
        "request": figures.request,
        "pool": figures.pool,
    }[term]
    return reported[_FIELDS[term]], computed / GIB


_FIELDS = {
    "weights": "weights_gib",
    "activations": "activation_peak_gib",
    "graphs": "cuda_graph_est_gib",
    "request": "kv_needed_gib",
    "pool": "kv_cache_gib",
}


def _reported_tokens(case: Case) -> float:
    """The printed tokens; releases up to 0.20.1 printed another figure, so concurrency x length there."""
    reported = case.reported
    if case.id == "vllm-kimi-linear-48b-awq-tp2":
        return float(reported["max_concurrency"] * case.log["max_model_len"])
    return float(reported["kv_cache_tokens"])


def _reported_token_bytes(case: Case) -> float:
    reported = case.reported
    if "kv_cache_gib" in reported:
        return float(reported["kv_cache_gib"] * GIB / reported["kv_cache_tokens"])
    if "kv_bytes_per_token" in reported:
        return float(reported["kv_bytes_per_token"])
    return float(reported["kv_needed_gib"] * GIB / reported["kv_needed_tokens"])
