"""Which formats of a model surely exceed an accelerator, so that nobody has to size them."""

from service.core.catalogued import Model
from service.core.hardware import Gpu
from service.core.planning.formats import least_bytes
from service.core.sizing import EnginePlan

_SURE = 0.95  # of the caches that another format surely needs too


class Reach:
    """What is known of one model on GPUs of one kind with one engine; each plan that is learnt tells more.

    offloads: weights may be kept in system RAM, so that none are sure to be on GPUs.
    """

    def __init__(self, model: Model, gpu: Gpu, *, offloads: bool = False) -> None:
        self._model = model
        self._usable = None if offloads else gpu.memory_bytes  # of one GPU at the most
        self._seen = self._beside = 0

    def exceeded_by(self, quantization: str, gpu_count: int) -> int | None:
        """Bytes that the weights take at least, where with what stands beside them they exceed all GPUs."""
        if self._usable is None:
            return None
        least = least_bytes(self._model, quantization)
        return least if least + self._beside > self._usable * gpu_count else None

    def learn(self, plan: EnginePlan) -> None:
        """The memory of a GPU, and the caches, which no further format or GPU makes smaller.

        Buffers may: a format whose experts no GPU can divide is kept whole, and needs less room to work.
        """
        total = plan.total
        beside = int(_SURE * (total.kv_cache + total.recurrent_state))
        self._beside = min(self._beside or beside, beside)
        if self._usable is not None:
            self._usable = max(self._seen, plan.usable_bytes or 0)
            self._seen = self._usable
