"""LM Studio, until its own defaults are modelled: its GGUF runtime is llama.cpp."""

from service.core.engines import llama_cpp
from service.core.engines.stand_in import StandIn

ENGINE = StandIn(
    id="lm-studio",
    version="unknown",
    preference=6,
    formats=llama_cpp.ENGINE.formats,
    default_format="q4_k_m",
    kv_dtypes=llama_cpp.ENGINE.kv_dtypes,
    base=llama_cpp.ENGINE,
    separate_value_dtype=True,
    splits_layers=True,
    offloads=True,
)
