"""Ollama, until its own defaults are modelled: it launches llama.cpp's server."""

from service.core.engines import llama_cpp
from service.core.engines.stand_in import StandIn

ENGINE = StandIn(
    id="ollama",
    version="unknown",
    preference=5,
    formats=llama_cpp.ENGINE.formats,
    default_format="q4_k_m",
    kv_dtypes=("fp16", "q8_0", "q4_0"),
    base=llama_cpp.ENGINE,
    splits_layers=True,
    offloads=True,
)
