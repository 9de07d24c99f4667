"""Which parallel layout a scenario gets, and which degrees are valid."""

from service.core.architecture.model import Architecture, ParallelDimension
from service.core.architecture.tensors import TensorClass
from service.core.hardware import Gpu
from service.core.identity import ByIdentity
from service.core.request import Request
from service.core.scenario import Layout
from service.errors import InvalidParameters, ParameterError

MAX_TENSOR_PARALLEL = 8  # NVLink domains of ordinary nodes; larger degrees only when asked for
_EXPERT_WIDTH = "expert_width"
_PADDED_EXPERT_WIDTH = 256  # vLLM 0.33.0 pads MXFP4 experts narrower than this on a rank
# Rows of a weight that share one scale; a rank's slice must hold whole blocks.
_BLOCK_ROWS = {"fp8_block_128": 128, "fp8_block_32": 32, "int4": 128, "mxfp8": 32, "mxfp4": 32, "nvfp4": 16}
_FORMAT_ENCODING = {
    "fp8": "fp8_block_128",
    "awq-int4": "int4",
    "gptq-int4": "int4",
    "mxfp4": "mxfp4",
    "nvfp4": "nvfp4",
}


def divides(dimension: ParallelDimension, degree: int) -> bool:
    """Whether a degree splits the dimension evenly, or copies it evenly where that is allowed."""
    if dimension.size % degree == 0:
        return True
    return dimension.replicable and degree % dimension.size == 0


def valid_degrees(architecture: Architecture, limit: int, *, experts_whole: bool = False) -> tuple[int, ...]:
    """Tensor-parallel degrees up to `limit` that the model's sizes allow at 16 bit.

    experts_whole: expert parallelism keeps every expert on one rank, so their width need not divide.
    Source: vLLM 0.33.0 config/parallel.py verify_with_parallel_config and the layers' own assertions.
    """
    return _degrees(architecture, limit, experts_whole)


def _valid(architecture: Architecture, limit: int, experts_whole: bool) -> tuple[int, ...]:
    dimensions = [
        d for d in architecture.parallel_dimensions if not (experts_whole and d.name == _EXPERT_WIDTH)
    ]
    return tuple(t for t in range(1, limit + 1) if all(divides(d, t) for d in dimensions))


_degrees = ByIdentity(_valid)


def experts_need_whole(architecture: Architecture, quantization: str, tensor: int) -> bool:
    """Whether slicing an expert over `tensor` ranks would need padding or break a quantization block."""
    experts = architecture.experts
    if experts is None or tensor == 1:
        return False
    encoding = _FORMAT_ENCODING.get(quantization, "")
    if quantization == "native":
        encoding = architecture.native.encodings.get(TensorClass.ROUTED_EXPERTS, "")
    width, remainder = divmod(experts.width, tensor)
    if remainder or width % _BLOCK_ROWS.get(encoding, 1):
        return True
    return encoding == "mxfp4" and width < _PADDED_EXPERT_WIDTH


def choose_layout(
    request: Request, quantization: str, engine: str, *, splits_layers: bool
) -> tuple[int, Layout]:
    """The GPU count and layout of a request: given degrees stand, the rest follows.

    Raises InvalidParameters that name the degree and the valid values.
    """
    if splits_layers:
        return _layer_layout(request, engine)
    data = request.data_parallel or 1
    count = request.gpu_count or _product(request)
    tensor = request.tensor_parallel or _default_tensor(request, count, data)
    _check_tensor(request, tensor, quantization)
    pipeline = request.pipeline_parallel or max(1, count // (tensor * data))
    _check_product(request, count, tensor * pipeline * data, data)
    _check_pipeline(request, pipeline)
    whole = experts_need_whole(request.model.architecture, quantization, tensor)
    expert = request.expert_parallel or (tensor * data if whole else 1)
    _check_expert(request, expert, tensor * data)
    decode_context = request.decode_context_parallel or 1
    if tensor % decode_context:
        raise _invalid("decode_context_parallel", decode_context, _divisors(tensor))
    return count, Layout(tensor, pipeline, expert, data, decode_context)


def largest_count(architecture: Architecture, gpu: Gpu, splits_layers: bool) -> int:
    """The most GPUs that share one copy of the model in a default layout: a layer each, times the ranks."""
    stages = len(architecture.layers)
    if splits_layers:
        return stages
    return stages * max(valid_degrees(architecture, min(MAX_TENSOR_PARALLEL, gpu.max_per_node)))


def _layer_layout(request: Request, engine: str) -> tuple[int, Layout]:
    names = ("tensor_parallel", "expert_parallel", "data_parallel", "decode_context_parallel")
    errors = [
        ParameterError(name, "not_supported_by_engine", (1,), {"engine": engine})
        for name in names
        if (getattr(request, name) or 1) != 1
    ]
    if request.tensor_parallel is not None:
        valid = valid_degrees(request.model.architecture, max(64, request.tensor_parallel))
        if request.tensor_parallel not in valid:  # no other engine would take it either
            errors.insert(0, _does_not_divide("tensor_parallel", request.tensor_parallel, valid))
    if errors:
        raise InvalidParameters(*errors)
    count = request.gpu_count or request.pipeline_parallel or 1
    if request.pipeline_parallel not in (None, count):
        raise _invalid("pipeline_parallel", request.pipeline_parallel or 1, (count,))
    _check_pipeline(request, count)
    return count, Layout(pipeline=count, split="layer")


def _product(request: Request) -> int:
    degrees = (request.tensor_parallel, request.pipeline_parallel, request.data_parallel)
    product = 1
    for degree in degrees:
        product *= degree or 1
    return product


def _default_tensor(request: Request, count: int, data: int) -> int:
    pipeline = request.pipeline_parallel or 1
    ranks = max(1, count // (data * pipeline))
    limit = min(MAX_TENSOR_PARALLEL, request.gpu.max_per_node, ranks)
    whole = (request.expert_parallel or 1) > 1
    valid = valid_degrees(request.model.architecture, limit, experts_whole=whole)
    fitting = [t for t in valid if ranks % t == 0]
    if request.pipeline_parallel:
        fitting = [t for t in fitting if t == ranks] or fitting
    return max(fitting, default=1)


def _check_tensor(request: Request, tensor: int, quantization: str) -> None:
    architecture = request.model.architecture
    whole = (request.expert_parallel or 1) > 1 or experts_need_whole(architecture, quantization, tensor)
    valid = valid_degrees(architecture, max(64, tensor), experts_whole=whole)
    if tensor not in valid:
        raise _invalid("tensor_parallel", tensor, valid)


def _check_product(request: Request, count: int, product: int, data: int) -> None:
    if product == count:
        return
    for name in ("tensor_parallel", "pipeline_parallel", "data_parallel"):
        given = getattr(request, name)
        if given and count % given:
            raise _invalid(name, given, _divisors(count))
    names = [n for n in ("pipeline_parallel", "tensor_parallel", "data_parallel") if getattr(request, n)]
    name = names[0] if names else "gpu_count"
    raise InvalidParameters(
        ParameterError(name, "layout_product", None, {"product": product, "gpu_count": count, "data": data})
    )


def _check_pipeline(request: Request, pipeline: int) -> None:
    layers = len(request.model.architecture.layers)
    if pipeline > layers:
        name = "pipeline_parallel" if request.pipeline_parallel else "gpu_count"
        raise InvalidParameters(
            ParameterError(name, "more_stages_than_layers", None, {"stages": pipeline, "layers": layers})
        )


def _check_expert(request: Request, expert: int, ranks: int) -> None:
    if expert == 1:
        return
    experts = request.model.architecture.experts
    if experts is None:
        raise _invalid("expert_parallel", expert, (1,))
    # vLLM, SGLang and TensorRT-LLM spread experts over all tensor x data ranks or not at all.
    if expert != ranks:
        raise _invalid("expert_parallel", expert, (1, ranks))


def _divisors(count: int) -> tuple[int, ...]:
    return tuple(d for d in range(1, count + 1) if count % d == 0)


def _does_not_divide(name: str, value: int, allowed: tuple[int, ...]) -> ParameterError:
    return ParameterError(name, "does_not_divide", allowed, {"value": value})


def _invalid(name: str, value: int, allowed: tuple[int, ...]) -> InvalidParameters:
    return InvalidParameters(_does_not_divide(name, value, allowed))
