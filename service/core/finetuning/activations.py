"""What a forward pass keeps for the backward pass.

Bytes of 16-bit tensors per GPU with a fused attention kernel, which never stores the scores. Source: the
count of Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models"
(arXiv:2205.05198), without its attention-score term.
"""

from service.core.architecture.model import Architecture, Experts, FeedForward, Layer, LayerKind
from service.core.architecture.tensors import TensorClass
from service.core.finetuning.modules import Linear, layer_linears
from service.core.finetuning.training import Training

_HALF = 2
# 16-bit logits, their 32-bit copy for the loss, and its gradient.
_LOGIT_BYTES = 2 + 4 + 4
_OUTPUTS = frozenset({"attn_output", "attn_output_b", "ssm_out", "shortconv.out_proj"})
_FEED_FORWARD = frozenset({TensorClass.DENSE_FFN, TensorClass.SHARED_EXPERTS, TensorClass.ROUTED_EXPERTS})
_WIDTHS_PER_BLOCK = 2  # the residual and the normed input of a mixer or an MLP, in hidden sizes


def activation_bytes(training: Training) -> int:
    """Activations of one micro-batch on one GPU, logits included.

    With gradient checkpointing 2*b*s*d for every layer, and one layer recomputed; else every layer's own.
    """
    architecture = training.model.architecture
    tokens = training.micro_batch * training.sequence_tokens
    widths = [layer_width(layer, architecture) for layer in architecture.layers]
    if training.gradient_checkpointing:
        kept = architecture.hidden_size * len(widths) + max(widths, default=0)
    else:
        kept = sum(widths)
    return tokens * (_HALF * kept + _LOGIT_BYTES * architecture.vocabulary)


def layer_width(layer: Layer, architecture: Architecture) -> int:
    """Elements per token that one layer keeps: 4d + 2*H*h + 2*K*h + 4f for a plain transformer layer.

    Every projection keeps its outputs, the last one its input; an MLP also the activated and the multiplied
    vector. Of routed experts the chosen ones count, with their k outputs.
    """
    blocks = (layer.kind is not LayerKind.FEED_FORWARD) + (layer.feed_forward is not FeedForward.NONE)
    own = sum(_width(linear, architecture.experts) for linear in layer_linears(layer.tensors))
    return _WIDTHS_PER_BLOCK * blocks * architecture.hidden_size + own


def _width(linear: Linear, experts: Experts | None) -> int:
    if linear.tensor_class in _FEED_FORWARD:
        inward = not linear.role.startswith("ffn_down")
        width = linear.rows if inward else 2 * linear.columns
        if linear.tensor_class is not TensorClass.ROUTED_EXPERTS or experts is None:
            return width
        return experts.per_token * (width if inward else width + linear.rows)
    return linear.columns if linear.role in _OUTPUTS else linear.rows
