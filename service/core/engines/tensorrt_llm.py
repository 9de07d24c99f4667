"""TensorRT-LLM, until its own pools are modelled."""

from service.core.engines import vllm
from service.core.engines.stand_in import StandIn

ENGINE = StandIn(
    id="tensorrt-llm",
    version="unknown",
    preference=2,
    formats=vllm.ENGINE.formats - {"bnb-nf4"},
    default_format="native",
    kv_dtypes=("bf16", "fp16", "fp8"),
    base=vllm.ENGINE,
)
