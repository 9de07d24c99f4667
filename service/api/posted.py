"""Models and accelerators that a POST describes instead of naming them."""

from collections.abc import Mapping
from typing import Any

from service.api.reading import checked
from service.api.schemas import GPU_SPEC
from service.catalog import Catalog
from service.core.catalogued import Model
from service.core.hardware import EngineOnGpu, Gpu
from service.core.identity import ByIdentity
from service.core.posted import Stated, build_gpu, build_model
from service.core.recognition import Known


def _known(catalog: Catalog) -> Known:
    configs = {name: file["config"] for name, file in catalog.model_files.items()}
    return Known(tuple(catalog.models.values()), configs)


# The catalog's models with their published configs.
known: ByIdentity[Catalog, Known] = ByIdentity(_known, capacity=8)


def posted_gpu(spec: Mapping[str, Any], catalog: Catalog) -> Gpu:
    """The accelerator that `gpu_spec` describes.

    Raises InvalidParameters that name `gpu_spec.<field>`.
    """
    facts = checked(GPU_SPEC, spec, prefix="gpu_spec.")
    pairs = dict.fromkeys((e.engine, e.backend) for gpu in catalog.gpus.values() for e in gpu.engines)
    return build_gpu(facts, tuple(EngineOnGpu(engine, backend) for engine, backend in pairs))


def posted_model(given: Mapping[str, Any], catalog: Catalog) -> Model:
    """The model that `model_config` and its siblings describe.

    Raises UnsupportedArchitecture for a config that no parser understands or whose values make no sense.
    """
    stated = Stated(given.get("model_name"), given.get("parameters_total"), given.get("weight_bytes"))
    return build_model(given["model_config"], stated, known(catalog))
