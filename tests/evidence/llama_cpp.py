"""llama.cpp's figures for a log, also for the engines that launch it."""

from typing import Any

from service.core.architecture.caches import CompressedCache, KeyValueCache, Reach
from service.core.engines.llama_cpp.cache import cache_bytes, layer_cache_bytes
from service.core.engines.llama_cpp.compute import graph, layer_stage_bytes, output_stage_bytes
from service.core.engines.llama_cpp.pool import Pool, pool
from service.core.engines.llama_cpp.state import state_bytes
from service.core.units import GIB, MIB
from tests.evidence.cases import Case, model


def _pool(case: Case) -> Pool:
    """`-c -np -ub` of the log; `context` is the total, as the log prints it."""
    ask = case.ask
    options: dict[str, Any] = {
        "sequences": ask.get("sequences", 1),
        "unified": ask.get("unified", False),
        "micro_batch": ask.get("micro_batch", 512),
        "flash_attention": ask.get("flash_attention", True),
        "swa_full": ask.get("swa_full", False),
        "rollback": ask.get("rollback", 0),
    }
    kind = ask.get("type", "fp16")
    return pool(ask["context"], type_k=kind, type_v=kind, **options)


def _cache(case: Case) -> int:
    cells = _pool(case)
    return cache_bytes(
        model(case).architecture,
        context_total=case.ask["context"],
        sequences=cells.sequences,
        unified=cells.unified,
        micro_batch=cells.micro_batch,
        type_k=cells.type_k,
        type_v=cells.type_v,
        flash_attention=cells.flash_attention,
        swa_full=cells.swa_full,
    )


def _windows(case: Case) -> int:
    """Sliding layers; of DeepSeek V4, the window that every layer keeps."""
    cells, total = _pool(case), 0
    for layer in model(case).architecture.layers:
        cache = layer.cache
        if isinstance(cache, CompressedCache):
            total += cells.window_cells(cache.window) * (cache.latent_dim + cache.rope_dim) * 2
        elif isinstance(cache, KeyValueCache) and cache.reach is Reach.SLIDING:
            total += layer_cache_bytes(layer, cells)
    return total


def _compute(case: Case) -> int:
    """One device; `all_logits` where the tool of that time reserved a row of logits for every token."""
    entry, cells = model(case), _pool(case)
    outputs = cells.micro_batch if case.ask.get("all_logits") else cells.sequences
    shape = graph(entry.architecture, entry.compute_floats, entry.compute_exact)
    return max(layer_stage_bytes(shape, cells), output_stage_bytes(shape, cells, outputs))


def compare(case: Case, term: str) -> tuple[float, float]:
    """Reported and computed in MiB (GiB where the log prints GiB)."""
    reported, architecture = case.reported, model(case).architecture
    if term == "kv cache" and "kv_cache_gib" in reported:
        return reported["kv_cache_gib"], _cache(case) / GIB
    if term == "kv cache":
        return reported["kv_cache_mib"], _cache(case) / MIB
    if term == "windows":
        field = "kv_swa_mib" if "kv_swa_mib" in reported else "swa_kv_mib"
        return reported[field], _windows(case) / MIB
    cells = _pool(case)
    state = state_bytes(architecture, cells.sequences, cells.rollback)
    if term == "state":
        return reported["recurrent_state_mib"], state / MIB
    if term == "context":
        return reported["context_mib"], (_cache(case) + state) / MIB
    return reported["compute_buffer_mib"], _compute(case) / MIB
