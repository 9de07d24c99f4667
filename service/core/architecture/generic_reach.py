"""How far each layer looks back, by the usual config fields; what is not understood is read as everything."""

from service.core.architecture.caches import Reach
from service.core.architecture.common import positive
from service.core.architecture.config import Config
from service.core.architecture.unread import Direction
from service.errors import UnsupportedArchitecture

Window = tuple[int | None, Reach]  # tokens that a layer sees, None for all of them

_EVERYTHING: Window = (None, Reach.FULL)
_FULL = frozenset({"full_attention", "attention", "global_attention", "full", "global"})
_SLIDING = frozenset({"sliding_attention", "sliding_window_attention", "local_attention", "sliding", "local"})
_CHUNKED = frozenset({"chunked_attention", "chunked"})


def windows(config: Config, layers: int, noticed: dict[str, Direction]) -> tuple[Window, ...]:
    """The window of each layer; fields that could not be used are added to `noticed`.

    A model that states its layers' types is read by them, a layer of another type as full attention, whose
    cache is the larger. A sliding window without types counts for all layers only if use_sliding_window says
    so; otherwise, as with chunks, some layers may see everything, and all are read so.
    """
    kinds = config.strings("layer_types")
    if kinds is None:
        return (_without_types(config, noticed),) * layers
    if len(kinds) < layers:  # types of draft layers may stand behind
        raise UnsupportedArchitecture(config.engine_class or config.model_type, ("layer_types",))
    reach = {kind: _of_type(config, kind, noticed) for kind in set(kinds)}
    return tuple(reach[kind] for kind in kinds[:layers])


def _of_type(config: Config, kind: str, noticed: dict[str, Direction]) -> Window:
    if kind in _FULL:
        return _EVERYTHING
    field = "sliding_window" if kind in _SLIDING else "attention_chunk_size" if kind in _CHUNKED else None
    if field is None or config.get(field) is None:
        noticed["layer_types"] = Direction.CACHE_TOO_LARGE
        return _EVERYTHING
    return positive(config, field), Reach.SLIDING if kind in _SLIDING else Reach.CHUNKED


def _without_types(config: Config, noticed: dict[str, Direction]) -> Window:
    if config.get("attention_chunk_size") is not None:
        noticed["attention_chunk_size"] = Direction.CACHE_TOO_LARGE
    if config.get("sliding_window") is None or config.get("use_sliding_window") is False:
        return _EVERYTHING
    window = positive(config, "sliding_window")
    if config.get("use_sliding_window") is True and config.get("max_window_layers") is None:
        return window, Reach.SLIDING
    if window < positive(config, "max_position_embeddings"):
        noticed["sliding_window"] = Direction.CACHE_TOO_LARGE
    return _EVERYTHING
