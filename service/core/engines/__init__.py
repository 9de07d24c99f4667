"""Every engine by its id; a new engine is one module and one line here."""

from collections.abc import Mapping
from types import MappingProxyType

from service.core.engines import llama_cpp, vllm
from service.core.engines.base import Engine
from service.core.engines.stand_in import StandIn

_GGUF = llama_cpp.ENGINE.formats
_SERVED = vllm.ENGINE.formats - {"bnb-nf4"}
_MLX = frozenset({"mlx-3bit", "mlx-4bit", "mlx-5bit", "mlx-6bit", "mlx-8bit", "bf16", "fp16"})

_ALL: tuple[Engine, ...] = (
    llama_cpp.ENGINE,
    StandIn(
        id="ollama",
        version="unknown",
        formats=_GGUF,
        default_format="q4_k_m",
        kv_dtypes=("fp16", "q8_0", "q4_0"),
        base=llama_cpp.ENGINE,
        splits_layers=True,
        offloads=True,
    ),
    StandIn(
        id="lm-studio",
        version="unknown",
        formats=_GGUF,
        default_format="q4_k_m",
        kv_dtypes=llama_cpp.ENGINE.kv_dtypes,
        base=llama_cpp.ENGINE,
        separate_value_dtype=True,
        splits_layers=True,
        offloads=True,
    ),
    StandIn(
        id="mlx",
        version="0.32.2",
        formats=_MLX,
        default_format="mlx-4bit",
        kv_dtypes=("bf16", "fp16"),
        base=llama_cpp.ENGINE,
        splits_layers=True,
    ),
    vllm.ENGINE,
    StandIn(
        id="sglang",
        version="0.5.23",
        formats=_SERVED,
        default_format="native",
        kv_dtypes=("bf16", "fp8"),
        base=vllm.ENGINE,
    ),
    StandIn(
        id="tensorrt-llm",
        version="unknown",
        formats=_SERVED,
        default_format="native",
        kv_dtypes=("bf16", "fp16", "fp8"),
        base=vllm.ENGINE,
    ),
)

ENGINES: Mapping[str, Engine] = MappingProxyType({engine.id: engine for engine in _ALL})
