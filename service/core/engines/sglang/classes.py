"""What SGLang decides by the class that a checkpoint registers: tables of the release, no arithmetic.

Source: SGLang 0.5.23 srt/configs/model_config.py, srt/arg_groups/model_overrides/ and cuda_graph_hook.py.
"""

# Classes with a separate pool for their windows (is_hybrid_swa_model); all others cache whole contexts.
WINDOW_POOL = frozenset(
    {
        "BeamForCausalLM",
        "DeepseekV4ForCausalLM",
        "DeepseekV41ForCausalLM",
        "DiffusionGemmaForBlockDiffusion",
        "Gemma4ForCausalLM",
        "Gemma4ForConditionalGeneration",
        "Gemma4UnifiedForCausalLM",
        "Gemma4UnifiedForConditionalGeneration",
        "GptOssForCausalLM",
        "InklingForConditionalGeneration",
        "LagunaForCausalLM",
        "Llama4ForConditionalGeneration",
        "MellumForCausalLM",
        "MiMoV2FlashForCausalLM",
        "Step3p5ForCausalLM",
        "Step3p7ForConditionalGeneration",
    }
)

# Classes whose window does not count the token itself (get_attention_sliding_window_size: W - 1).
EXCLUSIVE_WINDOW = frozenset(
    {
        "Gemma4ForCausalLM",
        "Gemma4ForConditionalGeneration",
        "Gemma4UnifiedForCausalLM",
        "Gemma4UnifiedForConditionalGeneration",
        "GptOssForCausalLM",
    }
)

# Served as text unless --enable-multimodal is given (mm_disabled_models).
TEXT_BY_DEFAULT = frozenset(
    {
        "Gemma3ForConditionalGeneration",
        "InklingForConditionalGeneration",
        "Llama4ForConditionalGeneration",
        "Step3VLForConditionalGeneration",
    }
)

# Multimodal classes that keep prefill graphs (multimodal_breakable_cuda_graph_supported_model_archs).
MULTIMODAL_PREFILL_GRAPHS = frozenset(
    {
        "Cohere2VisionForConditionalGeneration",
        "Glm5NextForConditionalGeneration",
        "InternS2MobiusForConditionalGeneration",
        "KimiK25ForConditionalGeneration",
        "KimiK3ForConditionalGeneration",
        "MiniMaxM3SparseForCausalLM",
        "MiniMaxM3SparseForConditionalGeneration",
        "MuseGlimmerForConditionalGeneration",
        "MuseSparkForConditionalGeneration",
        "PaddleOCRVLForConditionalGeneration",
        "Qwen3_5ForConditionalGeneration",
        "Qwen3_5MoeForConditionalGeneration",
        "Qwen4ExpForConditionalGeneration",
    }
)

# Kimi delta attention turns prefill graphs off, except in the class that was validated with them.
DELTA_PREFILL_GRAPHS = frozenset({"Glm5NextForConditionalGeneration"})

# num_hidden_layers and hidden_size where the class reads the vision_config in its own way; None = no factor.
VISION_AS_SEEN: dict[str, tuple[int, int] | None] = {
    "DeepseekV41ForCausalLM": None,  # its config object drops vision_config
    "DeepseekV4ForCausalLM": None,
    "Gemma4UnifiedForConditionalGeneration": (16, 768),  # defaults of the config class
    "KimiK3ForConditionalGeneration": (27, 1024),
    "MiniMaxM3SparseForConditionalGeneration": (24, 1024),
}

# Config without num_nextn_predict_layers: drafting adds nothing to the cell unless a draft path is given.
UNDECLARED_DRAFTS = frozenset(
    {
        "Ernie4_5_MoeForCausalLM",
        "MiniMaxM2ForCausalLM",
        "Qwen3NextForCausalLM",
        "Qwen3_5ForCausalLM",
        "Qwen3_5ForConditionalGeneration",
        "Qwen3_5MoeForCausalLM",
        "Qwen3_5MoeForConditionalGeneration",
    }
)

# Pages of one token on SM100 while states are cached by prefix and nothing drafts (triton backend).
SINGLE_TOKEN_PAGES = frozenset(
    {"Qwen3NextForCausalLM", "Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration"}
)

# FlashAttention 4 on SM100, whose pages are larger than those of trtllm_mha.
FLASH_ATTENTION_4 = frozenset({"Step3p5ForCausalLM", "Step3p7ForConditionalGeneration"})

# GLM keeps scaled fp8 rows on SM120, where FlashInfer's sparse MLA runs them.
SCALED_ROWS_ON_SM120 = frozenset({"GlmMoeDsaForCausalLM"})

# Classes that the release does not register; an image or a later build may.
NOT_REGISTERED = frozenset(
    {
        "KimiK31ForConditionalGeneration",
        "Lfm3ForCausalLM",
        "MistralLarge4ForConditionalGeneration",
        "Step5ForConditionalGeneration",
    }
)
