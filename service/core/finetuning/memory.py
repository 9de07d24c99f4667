"""The memory of one GPU in a fine-tuning, term by term."""

from collections.abc import Mapping
from dataclasses import dataclass

from service.core.evidence import Evidence
from service.core.finetuning.activations import activation_bytes
from service.core.finetuning.result import TrainingMemory
from service.core.finetuning.states import Base, BytesPerParameter, base, bytes_per_parameter, shard
from service.core.finetuning.targets import adapter_parameters
from service.core.finetuning.training import Method, Training
from service.core.sizing import Sourced
from service.core.units import GIB

_FIXED_OVERHEAD = GIB  # CUDA context and communication buffers
_FRAGMENTED = 20  # 1/20 of what every step allocates anew


@dataclass(frozen=True, slots=True)
class Needs:
    """What a method takes before it is divided over GPUs; everything but `on` is the same for any number."""

    training: Training
    method: Method
    base: Base
    trainable: int
    each: BytesPerParameter
    activations: int

    def on(self, gpu_count: int) -> TrainingMemory:
        """The memory of each of `gpu_count` GPUs.

        ZeRO stage 1 divides the optimizer states, 2 also the gradients, 3 (FSDP full shard) also the weights,
        of which it then gathers two layers at a time. Source: Rajbhandari et al. 2020 (arXiv:1910.02054).
        """
        stage, adapted = self.training.zero_stage, self.method is not Method.FULL
        gathers = stage == 3 and gpu_count > 1
        gathered = self.base.gathered_bytes if gathers else 0
        scratch = self.base.scratch_bytes
        adapters = self.trainable * self.each.weights if adapted else 0
        return TrainingMemory(
            weights=shard(self.base.total_bytes, gpu_count, divided=stage == 3),
            adapters=shard(adapters, gpu_count, divided=stage == 3),
            gradients=shard(self.trainable * self.each.gradients, gpu_count, divided=stage >= 2),
            optimizer=shard(self.trainable * self.each.optimizer, gpu_count, divided=stage >= 1),
            activations=self.activations,
            gathered_weights=gathered,
            dequantization=scratch,
            runtime_overhead=_FIXED_OVERHEAD + (self.activations + gathered + scratch) // _FRAGMENTED,
        )


def needs(training: Training, method: Method) -> Needs:
    """What one method takes for a training."""
    architecture = training.model.architecture
    loaded = base(architecture, method)
    trainable = loaded.parameters
    if method is not Method.FULL:
        trainable = adapter_parameters(architecture, training.targets, training.rank)
    return Needs(
        training=training,
        method=method,
        base=loaded,
        trainable=trainable,
        each=bytes_per_parameter(method, training.optimizer),
        activations=activation_bytes(training),
    )


def evidence(training: Training, method: Method) -> Mapping[str, Sourced]:
    """How well each term is known: states follow from the tensors, the rest are rules of thumb."""
    generic = training.model.architecture.generic
    exact = Evidence.ESTIMATE if generic else Evidence.CONFIG
    weights = Sourced(exact, "parameters of the config, 2 bytes each")
    if method is Method.QLORA:
        recipe = Evidence.ESTIMATE if generic else Evidence.RECIPE
        weights = Sourced(
            recipe, "bitsandbytes nf4 with double quantization on every nn.Linear, the rest 16 bit"
        )
    rule = "arXiv:1910.02054" if method is Method.FULL else "peft LoraConfig, arXiv:2106.09685"
    states = Sourced(exact, f"bytes per trained parameter, {rule}")
    estimate = Evidence.ESTIMATE
    return {
        "weights": weights,
        "adapters": states,
        "gradients": states,
        "optimizer": states,
        "activations": Sourced(estimate, "arXiv:2205.05198, fused attention"),
        "gathered_weights": Sourced(estimate, "two of the largest layers, torch FSDP with prefetch"),
        "dequantization": Sourced(estimate, "the largest matrix at 16 bit, bitsandbytes functional.py"),
        "runtime_overhead": Sourced(estimate, "1 GiB for context and communication, 5 % of temporary memory"),
    }
