"""How llama.cpp lays out its cells: context, sequences and streams (llama.cpp src/llama-context.cpp)."""

from dataclasses import dataclass

from service.core.arrays import larger, smaller
from service.core.units import pad

CELL_MULTIPLE = 256  # contexts and cache sizes are padded to this many cells
MAX_SEQUENCES = 256  # LLAMA_MAX_SEQ, llama.cpp src/llama-cparams.h
DEFAULT_MICRO_BATCH = 512  # -ub


@dataclass(frozen=True, slots=True)
class Pool:
    """The cells of one llama.cpp context, or of many at once where numbers of cells and tokens are arrays.

    stream_cells: cells of one stream (n_ctx_seq). streams: separate streams, one when unified.
    sequences: n_seq_max (`-np`). micro_batch: tokens of one graph (`-ub`).
    rollback: extra copies of the recurrent state that speculation can return to (n_rs_seq).
    """

    stream_cells: int
    streams: int
    sequences: int
    micro_batch: int
    type_k: str = "fp16"
    type_v: str = "fp16"
    unified: bool = False
    flash_attention: bool = True
    swa_full: bool = False
    rollback: int = 0

    @property
    def cells(self) -> int:
        """Cells of all streams: n_ctx, as the engine prints it."""
        return self.stream_cells * self.streams

    def window_cells(self, window: int) -> int:
        """Cells that one stream keeps for a layer that sees `window` tokens.

        The window of each sequence in the stream and one micro-batch, padded; everything with `--swa-full`
        (llama.cpp src/llama-kv-cache-iswa.cpp).
        """
        if self.swa_full:
            return self.stream_cells
        wanted = window * (self.sequences if self.unified else 1) + self.micro_batch
        return pad(smaller(self.stream_cells, wanted), CELL_MULTIPLE)


def pool(
    context_total: int,
    *,
    sequences: int = 1,
    unified: bool = False,
    micro_batch: int = DEFAULT_MICRO_BATCH,
    type_k: str = "fp16",
    type_v: str = "fp16",
    flash_attention: bool = True,
    swa_full: bool = False,
    rollback: int = 0,
) -> Pool:
    """The pool that `-c context_total -np sequences` makes, in tokens.

    Not unified, every sequence has its own stream of the padded share; unified (`-kvu`), all share one.
    A micro-batch never exceeds the context (n_batch is cut to it). context_total may be an array.
    """
    total = pad(context_total, CELL_MULTIPLE)
    streams = 1 if unified else sequences
    stream_cells = pad(larger(total // streams, 1), CELL_MULTIPLE)
    return Pool(
        stream_cells=stream_cells,
        streams=streams,
        sequences=sequences,
        micro_batch=smaller(micro_batch, stream_cells * streams),
        type_k=type_k,
        type_v=type_v,
        unified=unified,
        flash_attention=flash_attention,
        swa_full=swa_full,
        rollback=rollback,
    )
