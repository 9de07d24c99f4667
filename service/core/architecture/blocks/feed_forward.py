"""What follows the mixer: a dense MLP, or a router with routed and shared experts."""

from dataclasses import dataclass

from service.core.architecture.blocks.primitives import expert_linear, linear, vector
from service.core.architecture.model import Experts
from service.core.architecture.tensors import Dtype, Split, Tensor, TensorClass


@dataclass(frozen=True, slots=True)
class RouterShape:
    """What a family adds to the router.

    correction_bias: the f32 bias that steers selection only (`e_score_correction_bias`).
    bias: a bias on the logits (gpt-oss).
    """

    correction_bias: bool = False
    bias: bool = False
    dtype: Dtype = Dtype.BF16


def dense(
    hidden: int, width: int, *, gated: bool = True, fused: bool = False, bias: bool = False
) -> tuple[Tensor, ...]:
    """A dense MLP from `hidden` to `width` and back.

    gated: gate beside up (SwiGLU, GeGLU). fused: gate and up stacked in `ffn_up` (Phi-3, GLM-4).
    """
    up_rows = 2 * width if gated and fused else width
    rows = {"ffn_gate": width} if gated and not fused else {}
    rows |= {"ffn_up": up_rows}
    return _mlp(hidden, rows, "ffn_down", width, TensorClass.DENSE_FFN, bias)


def shared_experts(hidden: int, width: int, *, gated: bool = True, gate: bool = False) -> tuple[Tensor, ...]:
    """Experts that every token passes, stored as one MLP of their summed `width`.

    gate: one logit that scales their output (Qwen MoE).
    """
    rows = {"ffn_gate_shexp": width} if gated else {}
    rows |= {"ffn_up_shexp": width}
    tensors = _mlp(hidden, rows, "ffn_down_shexp", width, TensorClass.SHARED_EXPERTS, False)
    if not gate:
        return tensors
    # A vector in GGUF, where a matrix of one row loses its second dimension.
    logit = Tensor("ffn_gate_inp_shexp.weight", (hidden,), TensorClass.SHARED_EXPERTS)
    return (*tensors, logit)


def router(hidden: int, experts: int, shape: RouterShape | None = None) -> tuple[Tensor, ...]:
    """The matrix that scores the experts, (experts, hidden), replicated and never quantized."""
    shape = shape or RouterShape()
    size = (experts, hidden)
    tensors = [Tensor("ffn_gate_inp.weight", size, TensorClass.ROUTER, dtype=shape.dtype)]
    if shape.bias:
        tensors.append(vector("ffn_gate_inp.bias", experts, TensorClass.ROUTER))
    if shape.correction_bias:
        tensors.append(vector("exp_probs_b.bias", experts, TensorClass.ROUTER, dtype=Dtype.F32))
    return tuple(tensors)


def routed_experts(
    width_in: int, count: int, width: int, *, gated: bool = True, bias: bool = False, fused: bool = False
) -> tuple[Tensor, ...]:
    """The stacked MLPs of `count` experts, from `width_in` (hidden or latent) to `width` and back.

    fused: gate and up in one tensor `ffn_gate_up_exps`, as a checkpoint stores them and llama.cpp keeps.
    """
    rows = {"ffn_gate_up_exps": 2 * width} if fused else {"ffn_gate_exps": width} if gated else {}
    if not fused:
        rows |= {"ffn_up_exps": width}
    tensors = [expert_linear(role, count, size, width_in) for role, size in rows.items()]
    tensors.append(expert_linear("ffn_down_exps", count, width_in, width))
    if bias:
        sizes = {**rows, "ffn_down_exps": width_in}
        tensors.extend(_expert_bias(role, count, size) for role, size in sizes.items())
    return tuple(tensors)


def moe(
    hidden: int,
    experts: Experts,
    *,
    gated: bool = True,
    bias: bool = False,
    shared_gate: bool = False,
    fused: bool = False,
    routing: RouterShape | None = None,
) -> tuple[Tensor, ...]:
    """Router, routed experts and, when `experts` names any, shared experts of one layer.

    Latent experts (`experts.latent_dim`) work in the narrower width; their projections are the
    family's own. shared_width: of one shared expert times their number, as GGUF stores them.
    """
    tensors = (
        *router(hidden, experts.count, routing),
        *routed_experts(
            experts.latent_dim or hidden, experts.count, experts.width, gated=gated, bias=bias, fused=fused
        ),
    )
    if not experts.shared_count:
        return tensors
    shared = shared_experts(
        hidden, experts.shared_count * experts.shared_width, gated=gated, gate=shared_gate
    )
    return (*tensors, *shared)


def _mlp(
    hidden: int, rows: dict[str, int], down: str, width: int, part: TensorClass, bias: bool
) -> tuple[Tensor, ...]:
    """The inward matrices `rows` and the outward `down`, with their biases."""
    tensors = [linear(role, size, hidden, part) for role, size in rows.items()]
    tensors.append(linear(down, hidden, width, part))
    if bias:
        tensors.extend(vector(f"{role}.bias", size, part, Split.SHARDED) for role, size in rows.items())
        tensors.append(vector(f"{down}.bias", hidden, part))
    return tuple(tensors)


def _expert_bias(role: str, experts: int, width: int) -> Tensor:
    """The biases of one linear layer of all experts, (experts, width)."""
    return Tensor(f"{role}.bias", (experts, width), TensorClass.ROUTED_EXPERTS, Split.EXPERTS)
