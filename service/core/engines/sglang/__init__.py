"""SGLang 0.5.23: pools sized from mem_fraction_static, as its own configurators do."""

from collections.abc import Hashable
from dataclasses import dataclass, replace

from service.core.architecture.model import Architecture
from service.core.derivation.explained import Explained
from service.core.derivation.steps import Trace
from service.core.engines.base import EngineDefaults
from service.core.engines.sglang.classes import TEXT_BY_DEFAULT
from service.core.engines.sglang.dtypes import KV_DTYPES, auto_dtype
from service.core.engines.sglang.explain import explain
from service.core.engines.sglang.fraction import default_chunk, mem_fraction_static
from service.core.engines.sglang.plan import plan, settle
from service.core.engines.vllm.generation import generation
from service.core.hardware import Gpu, Platform
from service.core.request import Request
from service.core.scenario import Layout, Scenario
from service.core.sizing import EnginePlan, Sizing

_FORMATS = frozenset({"native", "bf16", "fp16", "fp8", "int8", "awq-int4", "gptq-int4", "mxfp4", "nvfp4"})


@dataclass(frozen=True, slots=True)
class SGLang:
    """The engine as the registry sees it.

    API parameters are SGLang's flags: memory_utilization --mem-fraction-static, max_batched_tokens
    --chunked-prefill-size, prefix_caching the radix cache, data_parallel --attn-dp-size,
    speculative_tokens --speculative-num-draft-tokens, decode_context_parallel --dcp-size, context_tokens
    --context-length, vision --enable-multimodal.
    """

    id: str = "sglang"
    version: str = "0.5.23"
    preference: int = 1
    modelled: bool = True
    formats: frozenset[str] = _FORMATS
    default_format: str = "native"
    kv_dtypes: tuple[str, ...] = KV_DTYPES
    separate_value_dtype: bool = False
    splits_layers: bool = False
    offloads: bool = True

    def loads_native(self, architecture: Architecture) -> bool:  # noqa: ARG002 - any published checkpoint
        """Published safetensors checkpoints load as they are."""
        return True

    def defaults(
        self,
        architecture: Architecture,
        gpu: Gpu,
        tensor_parallel: int,
        context_tokens: int,  # noqa: ARG002 - nothing depends on it here
    ) -> EngineDefaults:
        """Server defaults; the fraction is that of the plain layout, which `settle` makes exact."""
        chunk, multimodal = default_chunk(gpu), self._multimodal(architecture)
        return EngineDefaults(
            kv_cache_dtype=auto_dtype(architecture, generation(gpu)),
            memory_utilization=mem_fraction_static(
                architecture, gpu, Layout(tensor_parallel), chunk, multimodal=multimodal
            ),
            max_batched_tokens=chunk,
            prefix_caching=True,
            vision=multimodal,
        )

    def _multimodal(self, architecture: Architecture) -> bool:
        """Whether the tower is loaded unless --enable-multimodal says otherwise."""
        return bool(architecture.vision) and architecture.engine_class not in TEXT_BY_DEFAULT

    def read(self, request: Request) -> Request:
        """`--tp-size 8 --attn-dp-size 8` means 8 GPUs: the ranks of attention DP are part of the degree.

        Only where the number of GPUs says so: tensor_parallel x pipeline_parallel of them, or none named.
        """
        size, data = request.tensor_parallel or 1, request.data_parallel or 1
        ranks = size * (request.pipeline_parallel or 1)
        if data == 1 or size % data or request.gpu_count not in (None, ranks):
            return request
        return replace(request, gpu_count=ranks, tensor_parallel=size // data)

    def settle(self, scenario: Scenario) -> Scenario:
        """The scenario with what SGLang derives from all of its values."""
        return settle(scenario)

    def peers(self, gpu: Gpu, platform: Platform, backend: str) -> Hashable:  # noqa: ARG002 - one rule for all
        """The generation; the memory, from which pools follow; the backend, which may keep tables outside."""
        return generation(gpu), gpu.memory_bytes, gpu.exists, backend

    def plan(self, scenario: Scenario, *, limits: bool = True) -> EnginePlan:
        """The allocation for a scenario, computed whatever the verdict."""
        return plan(scenario, limits=limits)

    def explain(self, sizing: Sizing, trace: Trace) -> Explained:
        """The steps behind the plan."""
        return explain(sizing, trace)


ENGINE = SGLang()
