"""Rules of older releases, by the name that a scenario gives; the service models the newest only."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    """What differs from vLLM 0.33.0.

    sampler_bytes: for each logit of the profiled sampler step, None = today's. sequences: max_num_seqs where
    the default was another. graphs: whether CUDA graphs are set aside before the pool. padding: whether the
    experts of MXFP4 were padded. runtime_bytes: non-torch memory that counted against the pool.
    """

    sampler_bytes: int | None = None
    sequences: int | None = None
    graphs: bool = True
    padding: bool = True


# 2024 and 2025: the sampler sorted f32 logits with 64-bit indices for top-k and top-p: values, indices,
# sorted values, probabilities and their sums, about 40 B a logit; four logs agree within 4 %.
_SORTING_SAMPLER = 40

RELEASES = {
    "newest": Release(),
    # V0: the whole context in one batch, 256 sequences on every GPU.
    "v0": Release(sampler_bytes=_SORTING_SAMPLER, sequences=256, graphs=False),
    # V1 before 0.21: CUDA graphs not set aside.
    "v1": Release(sampler_bytes=_SORTING_SAMPLER, graphs=False),
    # August 2025: MXFP4 experts as they are in the checkpoint.
    "unpadded": Release(padding=False),
}
