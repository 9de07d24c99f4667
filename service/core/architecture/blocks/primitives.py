"""The few kinds of tensor that every block is built from."""

from service.core.architecture.tensors import Dtype, Split, Tensor, TensorClass


def linear(
    role: str,
    rows: int,
    columns: int,
    tensor_class: TensorClass,
    split: Split = Split.SHARDED,
) -> Tensor:
    """The weight of an `nn.Linear` from `columns` inputs to `rows` outputs; `role` without its suffix."""
    return Tensor(f"{role}.weight", (rows, columns), tensor_class, split, linear=True)


def expert_linear(role: str, experts: int, rows: int, columns: int) -> Tensor:
    """The same linear layer of all routed experts, stacked: (experts, rows, columns)."""
    shape = (experts, rows, columns)
    return Tensor(f"{role}.weight", shape, TensorClass.ROUTED_EXPERTS, Split.EXPERTS, linear=True)


def vector(
    role: str,
    width: int,
    tensor_class: TensorClass,
    split: Split = Split.REPLICATED,
    dtype: Dtype = Dtype.BF16,
) -> Tensor:
    """A one-dimensional tensor; `role` is the whole name, such as `attn_q.bias` or `ssm_a`."""
    return Tensor(role, (width,), tensor_class, split, dtype=dtype)


def norm(role: str, width: int, dtype: Dtype = Dtype.BF16) -> Tensor:
    """The scale of an RMS or layer norm, which every rank keeps; `role` without its suffix."""
    return vector(f"{role}.weight", width, TensorClass.NORM, dtype=dtype)


def embeddings(vocabulary: int, hidden: int, *, tied: bool) -> tuple[Tensor, ...]:
    """Input embedding, final norm and, unless it is the embedding itself, the output matrix."""
    table = Tensor("token_embd.weight", (vocabulary, hidden), TensorClass.EMBEDDING, Split.VOCABULARY)
    head = linear("output", vocabulary, hidden, TensorClass.OUTPUT, Split.VOCABULARY)
    final = norm("output_norm", hidden)
    return (table, final) if tied else (table, final, head)


def rope_factors(width: int) -> Tensor:
    """Frequency factors that llama.cpp's converter writes and no checkpoint holds, f32."""
    return Tensor("rope_freqs.weight", (width,), TensorClass.OTHER, dtype=Dtype.F32, in_checkpoint=False)
