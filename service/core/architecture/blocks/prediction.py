"""Multi-token prediction (MTP): what joins one more decoder layer to the end of the model."""

from collections.abc import Iterable
from dataclasses import replace

from service.core.architecture.blocks.primitives import linear, norm
from service.core.architecture.tensors import Split, Tensor, TensorClass


def prediction_tensors(
    hidden: int, *, embedding_rows: int = 0, head_rows: int = 0, final_norm: bool = True
) -> tuple[Tensor, ...]:
    """The projection of embedding and hidden state, their norms, and own copies of embedding and head.

    embedding_rows, head_rows: vocabulary size where the checkpoint stores a copy, else 0.
    """
    tensors = [
        linear("nextn.eh_proj", hidden, 2 * hidden, TensorClass.OTHER, Split.REPLICATED),
        norm("nextn.enorm", hidden),
        norm("nextn.hnorm", hidden),
    ]
    if final_norm:
        tensors.append(norm("nextn.shared_head_norm", hidden))
    if embedding_rows:
        shape = (embedding_rows, hidden)
        tensors.append(Tensor("nextn.embed_tokens.weight", shape, TensorClass.EMBEDDING, Split.VOCABULARY))
    if head_rows:
        shape = (head_rows, hidden)
        tensors.append(Tensor("nextn.shared_head_head.weight", shape, TensorClass.OUTPUT, Split.VOCABULARY))
    return tuple(tensors)


def left_out_of_gguf(tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """The same tensors, marked as dropped by llama.cpp's converter."""
    return tuple(replace(tensor, in_gguf=False) for tensor in tensors)
