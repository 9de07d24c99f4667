"""What is said of real measurements: the fields of a record, and why one is kept out of comparisons."""

from collections.abc import Mapping

from service.i18n.marking import mark

# Fields that a comparison needs, as they are called where one is missing.
FIELDS: Mapping[str, str] = {
    "gpu_count": mark("number of GPUs"),
    "interconnect": mark("GPU interconnect"),
    "tensor_parallel": mark("tensor parallelism"),
    "quantization": mark("quantization"),
    "context_tokens": mark("context"),
    "engine_version": mark("engine version"),
    "backend": mark("backend"),
    "decode_tokens_per_second": mark("decode throughput"),
    "prefill_tokens_per_second": mark("prefill throughput"),
    "concurrency": mark("number of concurrent sequences"),
    "speculative": mark("speculative decoding on or off"),
    "draft_acceptance": mark("acceptance rate of the drafts"),
}
REASONS: Mapping[str, str] = {
    "incomplete_record": mark("incomplete record"),
    "exceeds_bandwidth": mark("faster than the memory bandwidth allows"),
    "source_anomaly": mark("the source contradicts itself"),
    "crowd": mark("submitted by a user, not verified"),
    "end_to_end": mark("prompt processing is part of the time"),
    "mlperf_saturated": mark("system at saturation, batch not stated"),
    "offload": mark("weights partly in system RAM"),
    "cpu_only": mark("ran on the CPU"),
    "no_flash_attn": mark("without flash attention"),
    "first_run_warmup": mark("first run, kernels not compiled yet"),
    "eager": mark("without CUDA graphs"),
    "fewer_experts": mark("fewer active experts than the model has"),
    "attention_data_parallel": mark("attention replicated instead of split"),
    "expert_parallel": mark("degree of expert parallelism not stated"),
    "other_engine": mark("engine not in the catalog"),
    "other_quantization": mark("format not in the catalog"),
}
# Parameters of a scenario that a measurement may not share, beside those of the scenario itself.
DIFFERENCES: Mapping[str, str] = {
    "cached_tokens": mark("Tokens in the cache (mean)"),
    "speculative_tokens": mark("Speculative decoding"),
}
