"""Names of fine-tuning methods and of the terms of their memory."""

from collections.abc import Mapping

from service.i18n.marking import mark

METHODS: Mapping[str, str] = {
    "full": mark("Full fine-tuning"),
    "lora": mark("LoRA"),
    "qlora": mark("QLoRA"),
}
TRAINING_TERMS: Mapping[str, str] = {
    "weights": mark("Model weights"),
    "adapters": mark("Adapters"),
    "gradients": mark("Gradients"),
    "optimizer": mark("Optimizer state"),
    "activations": mark("Activations"),
    "gathered_weights": mark("Gathered layers"),
    "dequantization": mark("Dequantized matrix"),
    "runtime_overhead": mark("Runtime overhead"),
    "total": mark("Total memory needed"),
}
