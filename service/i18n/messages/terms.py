"""Names of the field's things: terms of memory, verdicts, evidence, platforms, layer kinds, parameters."""

from collections.abc import Mapping

from service.i18n.marking import mark, mark_plural

MEMORY_TERMS: Mapping[str, str] = {
    "weights": mark("Model weights"),
    "kv_cache": mark("KV cache"),
    "recurrent_state": mark("Recurrent state"),
    "compute_buffers": mark("Compute buffers"),
    "runtime_overhead": mark("Runtime overhead"),
    "total": mark("Total memory needed"),
    "usable": mark("Usable GPU memory"),
    "host": mark("System RAM needed"),
}
VERDICTS: Mapping[str, str] = {
    "fits": mark("fits"),
    "tight": mark("tight"),
    "does_not_fit": mark("does not fit"),
    "unsupported": mark("unsupported"),
    "unknown": mark("unknown"),
}
EVIDENCE: Mapping[str, str] = {
    "checkpoint": mark("from checkpoint"),
    "config": mark("from config"),
    "recipe": mark("by recipe"),
    "calibrated": mark("calibrated"),
    "estimate": mark("estimate"),
    "unknown": mark("unknown"),
}
# Product names, the same in every language.
ENGINES: Mapping[str, str] = {
    "llama.cpp": "llama.cpp",
    "ollama": "Ollama",
    "lm-studio": "LM Studio",
    "mlx": "MLX",
    "vllm": "vLLM",
    "sglang": "SGLang",
    "tensorrt-llm": "TensorRT-LLM",
}
PLATFORMS: Mapping[str, str] = {
    "linux-server": mark("Linux server"),
    "linux-desktop": mark("Linux desktop"),
    "windows": mark("Windows"),
    "macos": mark("macOS"),
}
LAYER_KINDS: Mapping[str, str] = {
    "full_attention": mark("full attention"),
    "sliding_window_attention": mark("sliding-window attention"),
    "chunked_attention": mark("chunked attention"),
    "latent_attention": mark("multi-head latent attention (MLA)"),
    "latent_attention_indexed": mark("sparse multi-head latent attention (MLA with indexer)"),
    "sparse_attention": mark("sparse attention"),
    "compressed_attention": mark("compressed attention"),
    "gated_delta_net": mark("linear attention (Gated DeltaNet)"),
    "kimi_delta_attention": mark("linear attention (Kimi Delta Attention)"),
    "mamba2": mark("state-space layer (Mamba-2)"),
    "short_conv": mark("short convolution"),
    "shared_kv_attention": mark("attention over a shared KV cache"),
    "feed_forward": mark("feed-forward layer"),
}
# Names of the scenario's parameters, in the order of the API document.
PARAMETERS: Mapping[str, str] = {
    "model": mark("Model"),
    "gpu": mark("GPU"),
    "gpu_count": mark("Number of GPUs"),
    "engine": mark("Inference engine"),
    "backend": mark("Backend"),
    "platform": mark("Platform"),
    "quantization": mark("Quantization"),
    "kv_cache_dtype": mark("KV cache type (keys)"),
    "kv_cache_dtype_v": mark("KV cache type (values)"),
    "context_tokens": mark("Context window"),
    "concurrent_sequences": mark("Concurrent sequences (batch)"),
    "prompt_tokens": mark("Prompt"),
    "output_tokens": mark("Output"),
    "tensor_parallel": mark("Tensor parallelism"),
    "pipeline_parallel": mark("Pipeline parallelism"),
    "expert_parallel": mark("Expert parallelism"),
    "data_parallel": mark("Data parallelism"),
    "decode_context_parallel": mark("Decode context parallelism"),
    "cpu_offload_percent": mark("Weights offloaded to system RAM"),
    "system_memory_gib": mark("System RAM"),
    "reserved_memory_bytes": mark("GPU memory in use by others"),
    "vision": mark("Vision tower loaded"),
    "memory_utilization": mark("Memory share of the engine"),
    "kv_cache_memory_bytes": mark("Fixed size of the KV cache"),
    "max_batched_tokens": mark("Tokens per forward pass"),
    "prefix_caching": mark("Prefix caching"),
    "speculative_tokens": mark("Speculative decoding (draft tokens)"),
    "hours_per_day": mark("Use per day"),
    "electricity_usd_per_kwh": mark("Electricity price"),
    "hardware_budget_usd": mark("Hardware budget"),
}
SEQUENCES = mark_plural("%(n)s sequence", "%(n)s sequences")
# A value with its unit: a pair where the unit's grammar follows the number, else one text.
UNITS: Mapping[str, str | tuple[str, str]] = {
    "tokens": mark_plural("%(n)s token", "%(n)s tokens"),
    "layers": mark_plural("%(n)s layer", "%(n)s layers"),
    "elements": mark_plural("%(n)s element", "%(n)s elements"),
    "heads": mark_plural("%(n)s head", "%(n)s heads"),
    "blocks": mark_plural("%(n)s block", "%(n)s blocks"),
    "gpus": mark_plural("%(n)s GPU", "%(n)s GPUs"),
    "sequences": SEQUENCES,
    "ways": mark("%(n)s-way"),
    "gib": mark("%(n)s GiB"),
    "bytes": mark_plural("%(n)s byte", "%(n)s bytes"),
    "percent": mark("%(n)s%%"),
    "ratio": mark("%(n)s"),
    "hours": mark_plural("%(n)s hour", "%(n)s hours"),
    "months": mark_plural("%(n)s month", "%(n)s months"),
    "watts": mark("%(n)s W"),
    "seconds": mark("%(n)s s"),
    "milliseconds": mark("%(n)s ms"),
    "microseconds": mark("%(n)s µs"),
    "tokens_per_second": mark_plural("%(n)s token per second", "%(n)s tokens per second"),
    "bytes_per_second": mark_plural("%(n)s byte per second", "%(n)s bytes per second"),
    "operations": mark_plural("%(n)s operation", "%(n)s operations"),
    "operations_per_second": mark_plural("%(n)s operation per second", "%(n)s operations per second"),
    "usd_per_kwh": mark_plural("%(n)s US dollar per kWh", "%(n)s US dollars per kWh"),
    "usd": mark_plural("%(n)s US dollar", "%(n)s US dollars"),
}
HOURS_A_DAY = mark_plural("%(n)s hour a day", "%(n)s hours a day")
YES = mark("yes")
NO = mark("no")
NOT_GIVEN = mark("not given")
