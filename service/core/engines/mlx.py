"""MLX (mlx-lm), until its own caches are modelled."""

from service.core.engines import llama_cpp
from service.core.engines.stand_in import StandIn

ENGINE = StandIn(
    id="mlx",
    version="0.32.2",
    preference=3,
    formats=frozenset({"mlx-3bit", "mlx-4bit", "mlx-5bit", "mlx-6bit", "mlx-8bit", "bf16", "fp16"}),
    default_format="mlx-4bit",
    kv_dtypes=("bf16", "fp16"),
    base=llama_cpp.ENGINE,
    splits_layers=True,
)
