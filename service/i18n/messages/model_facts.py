"""Names of a model's facts: sizes, what follows a mixer, parts of the parameters, support by engines."""

from collections.abc import Mapping

from service.i18n.marking import mark

FACTS: Mapping[str, str] = {
    "publisher": mark("Publisher"),
    "hf_repo": mark("Hugging Face repository"),
    "released": mark("Released"),
    "license": mark("License"),
    "parameters_total": mark("Total parameters"),
    "parameters_active": mark("Active parameters"),
    "layers": mark("Layers"),
    "max_context_tokens": mark("Context window (tokens)"),
    "native_format": mark("Format of the published weights"),
    "native_size": mark("Size of the published weights"),
    "engine_class": mark("Class in config.json"),
    "gguf_architecture": mark("Architecture in GGUF"),
    "hidden_size": mark("Hidden size"),
    "vocabulary": mark("Vocabulary"),
    "attention_heads": mark("Attention heads"),
    "kv_heads": mark("KV heads"),
    "head_dim": mark("Head dimension"),
    "dense_width": mark("Width of the dense feed-forward"),
    "tied_embeddings": mark("Output matrix shared with the embedding"),
    "experts_count": mark("Routed experts per layer"),
    "experts_per_token": mark("Routed experts chosen per token"),
    "expert_width": mark("Width of a routed expert"),
    "shared_experts": mark("Shared experts per layer"),
    "moe_layers": mark("Layers with experts"),
}
FEED_FORWARDS: Mapping[str, str] = {
    "none": mark("none"),
    "dense": mark("dense"),
    "moe": mark("MoE"),
    "latent_moe": mark("MoE in a latent space"),
}
TENSOR_CLASSES: Mapping[str, str] = {
    "embedding": mark("Token embedding"),
    "output": mark("Output matrix"),
    "norm": mark("Norms"),
    "attention": mark("Attention"),
    "indexer": mark("Attention indexer"),
    "linear_attention": mark("Linear attention"),
    "state_space": mark("State-space layers"),
    "short_conv": mark("Short convolutions"),
    "dense_ffn": mark("Dense feed-forward"),
    "router": mark("Router"),
    "routed_experts": mark("Routed experts"),
    "shared_experts": mark("Shared experts"),
    "latent_projection": mark("Latent projections of the experts"),
    "hyper_connection": mark("Hyper-connections"),
    "compressor": mark("KV compressors"),
    "lookup_table": mark("Lookup tables"),
    "vision": mark("Vision tower"),
    "other": mark("Other"),
}
SUPPORT: Mapping[str, str] = {
    "yes": mark("runs the model"),
    "no": mark("does not run it"),
    "unknown": mark("unknown"),
}
