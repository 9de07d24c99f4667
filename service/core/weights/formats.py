"""Every weight format the service knows: its family, its recipe or encoding, and what its bytes rest on."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from service.core.evidence import Evidence


class Family(StrEnum):
    """The kind of file that holds the weights; it decides which tensors are stored and how."""

    GGUF = "gguf"
    SAFETENSORS = "safetensors"
    MLX = "mlx"


class Selection(StrEnum):
    """Which tensors a quantizer of checkpoints replaces; the rest stays as published."""

    NONE = "none"
    LINEAR = "linear"  # linear layers, without embeddings, head, norms and router
    EXPERTS = "experts"  # routed experts; every linear layer in a model without experts
    MODULES = "modules"  # as LINEAR, but only modules that are nn.Linear: fused expert tensors stay
    MLX = "mlx"  # also embeddings and head; routers at 8 bit


@dataclass(frozen=True, slots=True)
class Format:
    """One quantization id.

    family: where the format is at home; recipe: its llama-quantize file type in GGUF form, None when there is
    none; encoding and selection: its form in safetensors or MLX; neighbour: the format whose recipe stands in
    for one that has no rule, so that bytes without a published file are estimated.
    """

    id: str
    family: Family
    evidence: Evidence
    source: str
    recipe: str | None = None
    encoding: str | None = None
    selection: Selection = Selection.NONE
    neighbour: str | None = None


_RUN = "llama.cpp src/llama-quant.cpp (2026-10-01), file type {}; checked against llama-quantize --dry-run"
_READ = "llama.cpp src/llama-quant.cpp (2026-10-01), file type {}; not run, types as its selection code gives"
_OVERRIDES = "per-tensor overrides of the publisher without a rule; estimated from {}"


def _gguf(ids: str, source: str) -> list[Format]:
    return [
        Format(name, Family.GGUF, Evidence.RECIPE, source.format(name.upper()), recipe=name)
        for name in ids.split()
    ]


def _dynamic(**neighbours: str) -> list[Format]:
    return [
        Format(
            f"ud-{name}",
            Family.GGUF,
            Evidence.ESTIMATE,
            _OVERRIDES.format(near.upper()),
            recipe=near,
            neighbour=near,
        )
        for name, near in neighbours.items()
    ]


def _mlx(*widths: int) -> list[Format]:
    return [
        Format(
            f"mlx-{bits}bit",
            Family.MLX,
            Evidence.RECIPE,
            f"mlx-lm 0.32.2 utils.py quantize_model: affine {bits} bit, groups of 64, routers at 8 bit",
            encoding=f"affine_{bits}",
            selection=Selection.MLX,
        )
        for bits in widths
    ]


def _checkpoint(
    name: str, encoding: str, selection: Selection, source: str, recipe: str | None = None
) -> Format:
    evidence = Evidence.CONFIG if selection is Selection.NONE else Evidence.RECIPE
    return Format(name, Family.SAFETENSORS, evidence, source, recipe, encoding, selection)


_SIXTEEN = "two bytes a parameter, tensors published in 32 bit stay so"
_ROWS = [
    Format(
        "native",
        Family.SAFETENSORS,
        Evidence.CHECKPOINT,
        "the tensors of the config in the checkpoint's own formats",
        recipe="bf16",
    ),
    _checkpoint("bf16", "bf16", Selection.NONE, _SIXTEEN, recipe="bf16"),
    _checkpoint("fp16", "fp16", Selection.NONE, _SIXTEEN, recipe="fp16"),
    _checkpoint(
        "fp8",
        "fp8_block_128",
        Selection.LINEAR,
        "FP8 E4M3 with an f32 scale per 128 x 128 block of every linear layer",
    ),
    _checkpoint(
        "int8", "int8_channel", Selection.LINEAR, "W8A8: INT8 with a 16-bit scale per output channel"
    ),
    _checkpoint(
        "awq-int4",
        "awq_group_128",
        Selection.LINEAR,
        "AWQ: 4 bit, groups of 128 with a 16-bit scale and a 4-bit zero point",
    ),
    _checkpoint(
        "gptq-int4",
        "gptq_group_128",
        Selection.LINEAR,
        "GPTQ: 4 bit, groups of 128 with a 16-bit scale and a 4-bit zero point, g_idx per input",
    ),
    _checkpoint(
        "mxfp4",
        "mxfp4",
        Selection.EXPERTS,
        "OCP MXFP4: FP4 with an E8M0 scale per 32 values, on routed experts (all linear layers without them)",
        recipe="mxfp4_moe",
    ),
    _checkpoint(
        "nvfp4",
        "nvfp4",
        Selection.LINEAR,
        "NVFP4: FP4 with an E4M3 scale per 16 values and one f32 scale per matrix",
    ),
    _checkpoint(
        "bnb-nf4",
        "nf4",
        Selection.MODULES,
        "bitsandbytes NF4 with double quantization, nn.Linear modules only",
    ),
    *_mlx(3, 4, 5, 6, 8),
    *_gguf("q8_0 q6_k q5_k_m q4_k_m q4_k_s iq4_xs q3_k_m q2_k mxfp4_moe", _RUN),
    *_gguf("q5_k_s q5_0 q4_1 q4_0 iq4_nl q3_k_l q3_k_s iq3_s iq3_xxs", _READ),
    *_gguf("iq2_s iq2_xs iq2_xxs iq1_m iq1_s", _READ),
    *_dynamic(
        iq1_s="iq1_s",
        iq2_xxs="iq2_xxs",
        iq3_xxs="iq3_xxs",
        iq4_xs="iq4_xs",
        q2_k_xl="q2_k",
        q3_k_xl="q3_k_m",
        q4_k_xl="q4_k_m",
        q5_k_xl="q5_k_m",
        q6_k_xl="q6_k",
        q8_k_xl="q8_0",
    ),
]

FORMATS: Mapping[str, Format] = {row.id: row for row in _ROWS}


def published_names(chosen: Format) -> tuple[str, ...]:
    """Ids under which a published GGUF file of the format may be listed, the format's own first."""
    if chosen.neighbour or chosen.recipe in (None, chosen.id):
        names: tuple[str, ...] = (chosen.id,)
    else:
        names = (chosen.id, chosen.recipe or "")
    return (*names, "mxfp4") if chosen.id == "mxfp4_moe" else names


def gguf_source(chosen: Format) -> str:
    """What the bytes of a format rest on when it is a GGUF file, also where it is at home elsewhere."""
    if chosen.family is Family.GGUF:
        return chosen.source
    recipe = FORMATS.get(chosen.recipe or "")
    if recipe is not None and recipe.family is Family.GGUF:
        return recipe.source
    return "llama.cpp conversion/base.py (2026-10-01), the converter's own 16-bit output"
