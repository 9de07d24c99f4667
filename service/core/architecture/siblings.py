"""Configs whose class has no parser but whose model_type, or nested language model, is a known one's."""

from collections.abc import Collection, Mapping

from service.core.architecture.config import Config

# model_type -> the class whose layers a config of this type describes (transformers 5.24.0, auto mappings).
# Other heads of the same type (Model, ForSequenceClassification) have the same layers.
_CLASSES: Mapping[str, str] = {
    "cohere2": "Cohere2ForCausalLM",
    "deepseek_v3": "DeepseekV3ForCausalLM",
    "deepseek_v32": "DeepseekV32ForCausalLM",
    "ernie4_5_moe": "Ernie4_5_MoeForCausalLM",
    "gemma3_text": "Gemma3ForCausalLM",
    "glm4": "Glm4ForCausalLM",
    "glm4_moe": "Glm4MoeForCausalLM",
    "glm_moe_dsa": "GlmMoeDsaForCausalLM",
    "gpt_oss": "GptOssForCausalLM",
    "granite": "LlamaForCausalLM",
    "hunyuan_v1_moe": "HunYuanMoEV1ForCausalLM",
    "kimi_k2": "DeepseekV3ForCausalLM",
    "llama": "LlamaForCausalLM",
    "minimax_m2": "MiniMaxM2ForCausalLM",
    "ministral": "MistralForCausalLM",
    "mistral": "MistralForCausalLM",
    "mixtral": "MixtralForCausalLM",
    "phi3": "Phi3ForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen2_moe": "Qwen2MoeForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "qwen3_moe": "Qwen3MoeForCausalLM",
    "qwen3_next": "Qwen3NextForCausalLM",
}


def as_sibling(config: Config, known: Collection[str]) -> Config | None:
    """The language model of a config under the class that describes its layers, None when there is none.

    The class that the nested language model names itself comes first, then its model_type.
    """
    names = config.text.get("architectures")
    own = names[0] if isinstance(names, list) and names else None
    model_type = config.text.get("model_type") or config.published.get("model_type")
    chosen = own if own in known else _CLASSES.get(str(model_type))
    if chosen is None:
        return None
    outer = {"quantization_config": config.published.get("quantization_config")}
    return Config({**outer, **config.text, "architectures": [chosen]})
