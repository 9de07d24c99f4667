"""Models and accelerators that a POST describes instead of naming them."""

from collections.abc import Iterator, Mapping
from typing import Any

from service.api.reading import checked
from service.api.schemas import GPU_SPEC
from service.catalog import Catalog
from service.core.architecture.model import Architecture
from service.core.architecture.parse import parse
from service.core.architecture.summary import active_parameters, total_parameters
from service.core.catalogued import Model
from service.core.evidence import Evidence
from service.core.hardware import EngineOnGpu, Gpu, GpuKind, Tflops
from service.core.units import GIB
from service.core.weights.encodings import ENCODINGS
from service.errors import UnsupportedArchitecture

POSTED_ID = "posted"
_POSTED = "posted"  # evidence of facts that the caller gave
_GPUS_PER_NODE = 8
# A published config.json has a few hundred layers at most; more would only burn time.
_MOST_LAYERS = 2000
_COUNTS = ("layer", "depth", "block")
# What a parser may raise for values that no published config has.
_NONSENSE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def posted_gpu(spec: Mapping[str, Any], catalog: Catalog) -> Gpu:
    """The accelerator that `gpu_spec` describes; every engine may run on it, by any of its backends.

    Raises InvalidParameters that name `gpu_spec.<field>`.
    """
    facts = checked(GPU_SPEC, spec, prefix="gpu_spec.")
    memory_bytes = round(facts["memory_gib"] * GIB)
    return Gpu(
        id=POSTED_ID,
        name=facts["name"],
        vendor=_POSTED,
        family=_POSTED,
        kind=GpuKind.DATACENTER,
        memory_bytes=memory_bytes,
        memory_evidence=Evidence.CONFIG,
        label_gb=round(facts["memory_gib"]),
        memory_bandwidth_gbs=facts["memory_bandwidth_gbs"],
        tflops=Tflops(
            fp16=facts["fp16_tflops"],
            fp8=facts.get("fp8_tflops"),
            int8=facts.get("int8_tflops"),
            fp4=facts.get("fp4_tflops"),
        ),
        tdp_watts=facts.get("tdp_watts"),
        interconnect=None,
        interconnect_gbs=facts.get("interconnect_gbs"),
        max_per_node=_GPUS_PER_NODE,
        engines=_every_engine(catalog),
        evidence=_POSTED,
        sources=(),
        price_usd=facts.get("price_usd"),
    )


def _every_engine(catalog: Catalog) -> tuple[EngineOnGpu, ...]:
    pairs = dict.fromkeys((e.engine, e.backend) for gpu in catalog.gpus.values() for e in gpu.engines)
    return tuple(EngineOnGpu(engine, backend) for engine, backend in pairs)


def posted_model(given: Mapping[str, Any]) -> Model:
    """The model that `model_config` and its siblings describe.

    Raises UnsupportedArchitecture for a config that no parser understands or whose values make no sense.
    """
    config = given["model_config"]
    excessive = tuple(_excessive(config))
    if excessive:
        raise UnsupportedArchitecture(_engine_class(config), excessive)
    try:
        architecture = parse(config)
        total, active = total_parameters(architecture), active_parameters(architecture)
    except _NONSENSE:
        raise UnsupportedArchitecture(_engine_class(config)) from None
    _check(architecture)
    return Model(
        id=POSTED_ID,
        name=given.get("model_name", architecture.engine_class),
        family=architecture.model_type,
        publisher="",
        hf_repo="",
        architecture=architecture,
        parameters_total=given.get("parameters_total", total),
        parameters_active=active,
        parameters_exact=False,
        evidence=_POSTED,
        sources=(),
        native_bytes=given.get("weight_bytes"),
    )


def _check(architecture: Architecture) -> None:
    """Refuse models without layers, tensors without elements, quantizations that no rule knows."""
    if not architecture.layers:
        raise UnsupportedArchitecture(architecture.engine_class, ("num_hidden_layers",))
    unknown = set(architecture.native.encodings.values()) - set(ENCODINGS)
    if unknown:
        raise UnsupportedArchitecture(architecture.engine_class, ("quantization_config",))
    tensors = (*architecture.checkpoint_tensors(), *architecture.text_tensors())
    if not all(isinstance(size, int) and size > 0 for tensor in set(tensors) for size in tensor.shape):
        raise UnsupportedArchitecture(architecture.engine_class)


def _engine_class(config: Mapping[str, Any]) -> str:
    names = config.get("architectures")
    return str(names[0]) if isinstance(names, list) and names else str(config.get("model_type") or "")


def _excessive(config: Mapping[str, Any]) -> Iterator[str]:
    """Fields that count layers beyond what any model has."""
    for name, value in config.items():
        if isinstance(value, dict):
            yield from (f"{name}.{inner}" for inner in _excessive(value))
        elif isinstance(value, int | float) and value > _MOST_LAYERS and any(c in name for c in _COUNTS):
            yield name
