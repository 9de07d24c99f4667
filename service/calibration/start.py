"""Where the fit starts, the same for every class so that nothing is known beforehand, and what is free."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

from service.calibration.fit import Facts, Free, fit
from service.calibration.observations import SERVED, Observation, Quantity
from service.core.speed.constants import UNMEASURED

# Runtimes with the generations that they were measured on, and the grains that decode and prefill tell apart.
_RUNTIMES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "llama.cpp cuda": (("ada", "ampere", "ampere_hbm", "blackwell"), ("wide", "half"), ("half",)),
    "llama.cpp rocm": (("rdna35",), ("wide", "half", "codebook"), ()),
    "llama.cpp vulkan": (("rdna35",), ("wide", "half", "codebook"), ()),
    "llama.cpp metal": (("apple",), (), ()),
    "mlx": (("apple",), (), ()),
}
_LEAST_GROUPS = 5  # pairs of model and GPU below which a spread says nothing
ENGINES = ("vllm", "sglang", "tensorrt-llm")


def start() -> Facts:
    """Round figures for every constant; the two of the host tier are public reports, not fitted."""
    return {
        "as_of": "",
        "hop_us": 200.0,
        "host_expert_efficiency": 0.30,
        "host_dense_efficiency": 0.45,
        "runtimes": {
            **{name: _runtime(generations) for name, (generations, *_) in _RUNTIMES.items()},
            UNMEASURED: _runtime(()),
        },
        "serving": {
            "efficiency": 0.7,
            "cache_efficiency": 0.95,
            "layer_us": 20.0,
            "expert_layer_factor": 3.0,
            "exchange_us": 10.0,
            "interference_mfu": 0.4,
            "factors": dict.fromkeys(ENGINES, 1.0),
            "first_token_layer_ms": dict.fromkeys(ENGINES, 1.0),
            "prompt_mfu": 0.5,
            "expert_prompt_mfu": 0.3,
            "attention_mfu": 0.5,
        },
        "intervals": {},
        "calibrated": {},
        "sources": [],
    }


def _runtime(generations: Iterable[str]) -> dict[str, Any]:
    names = (*generations, "other")
    return {
        "layer_us": 100.0,
        "expert_layer_factor": 2.0,
        "efficiency": dict.fromkeys(names, 0.8),
        "cache_efficiency": 0.8,
        "grains": {"wide": 1.0, "half": 1.0, "codebook": 0.8},
        "mfu": dict.fromkeys(names, 0.3),
        "expert_mfu": 0.5,
        "attention_mfu": 0.5,
        "prefill_grains": {"half": 1.0},
    }


def calibrate(rows: Iterable[Observation]) -> Facts:
    """All constants, fitted class by class; users' reports count only where a runtime has little else."""
    found, rows = start(), list(rows)
    for name in _RUNTIMES:
        own = [row for row in rows if row.run.runtime == name and (not row.reported or name == "mlx")]
        found = fit(found, [*_decode(name)], [row for row in own if row.quantity is Quantity.DECODE])
        found = fit(found, [*_prefill(name)], [row for row in own if row.quantity is Quantity.PREFILL])
    served = [row for row in rows if not row.run.layer_split and not row.reported]
    found = fit(found, [*_serving()], [row for row in served if row.quantity is Quantity.DECODE])
    found = fit(found, [*_first_token()], [row for row in served if row.quantity is Quantity.FIRST_TOKEN])
    _complete(found, rows)
    return found


def _decode(name: str) -> Iterator[Free]:
    place, (generations, grains, _) = ("runtimes", name), _RUNTIMES[name]
    yield Free((*place, "layer_us"), 10, 500)
    yield Free((*place, "expert_layer_factor"), 0.8, 6)
    for generation in generations:
        yield Free((*place, "efficiency", generation), 0.2, 1)
    for grain in grains:
        yield Free((*place, "grains", grain), 0.4, 1.2)
    if name != "llama.cpp metal":  # no row with a long context
        yield Free((*place, "cache_efficiency"), 0.1, 1.4)
    if name == "llama.cpp cuda":
        yield Free(("hop_us",), 10, 2000)


def _prefill(name: str) -> Iterator[Free]:
    place, (generations, _, grains) = ("runtimes", name), _RUNTIMES[name]
    for generation in generations:
        yield Free((*place, "mfu", generation), 0.02, 1.5)
    for grain in grains:
        yield Free((*place, "prefill_grains", grain), 0.2, 3)
    yield Free((*place, "expert_mfu"), 0.05, 2)
    yield Free((*place, "attention_mfu"), 0.05, 3)


def _serving() -> Iterator[Free]:
    yield Free(("serving", "efficiency"), 0.3, 1)
    yield Free(("serving", "layer_us"), 1, 100)
    yield Free(("serving", "expert_layer_factor"), 1, 8)
    yield Free(("serving", "exchange_us"), 0.5, 60)
    yield Free(("serving", "interference_mfu"), 0.05, 1.5)
    for engine in ENGINES[1:]:
        yield Free(("serving", "factors", engine), 0.6, 2)


def _first_token() -> Iterator[Free]:
    for engine in ENGINES:
        yield Free(("serving", "first_token_layer_ms", engine), 0.05, 10)
    for name in ("prompt_mfu", "expert_prompt_mfu", "attention_mfu"):
        yield Free(("serving", name), 0.05, 1)


def _complete(found: Facts, rows: Iterable[Observation]) -> None:
    """What no row tells: generations without rows, and backends that were never measured."""
    benchmarks = [row for row in rows if not row.reported]
    kinds = {(row.run.runtime, row.run.generation) for row in benchmarks}
    groups = {(row.run.runtime, row.group) for row in benchmarks}
    for name, (generations, *_) in _RUNTIMES.items():
        known = [one for one in generations if (name, one) in kinds]
        for constant in ("efficiency", "mfu"):
            values = found["runtimes"][name][constant]
            values["other"] = _middle([values[one] for one in known or generations])
            for one in generations:
                values[one] = values[one] if one in known else values["other"]
        enough = sum(runtime == name for runtime, _ in groups) >= _LEAST_GROUPS
        found["calibrated"][name] = known if enough else []
    for engine in ENGINES:
        found["calibrated"][engine] = sorted(SERVED & {one for name, one in kinds if name == engine})
    cuda = found["runtimes"]["llama.cpp cuda"]
    for constant in ("efficiency", "mfu"):  # memory of the same kind, read by the same kernels
        cuda[constant]["hopper"] = cuda[constant]["blackwell_hbm"] = cuda[constant]["ampere_hbm"]
    found["runtimes"][UNMEASURED] = _blend(found)


def _blend(found: Facts) -> dict[str, Any]:
    """The middle of llama.cpp's measured backends."""
    backends = [row for name, row in found["runtimes"].items() if name in _RUNTIMES and name != "mlx"]
    blended = deepcopy(_runtime(()))
    for name in ("layer_us", "expert_layer_factor", "cache_efficiency", "expert_mfu", "attention_mfu"):
        blended[name] = _middle([row[name] for row in backends])
    for name in ("efficiency", "mfu"):
        blended[name]["other"] = _middle([row[name]["other"] for row in backends])
    return blended


def _middle(values: list[float]) -> float:
    """The median, the lower one of two."""
    return sorted(values)[(len(values) - 1) // 2]
