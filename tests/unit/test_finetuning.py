"""Fine-tuning memory, term by term, against the published formulas written out."""

from dataclasses import replace

import pytest

from service.catalog import Catalog
from service.core.evidence import Evidence
from service.core.finetuning.estimate import fine_tune, min_gpu_count, trains, usable_bytes
from service.core.finetuning.memory import needs
from service.core.finetuning.modules import linears
from service.core.finetuning.result import TERMS
from service.core.finetuning.targets import adapter_parameters, check_targets, target_names
from service.core.finetuning.training import Method, Optimizer, Training
from service.core.sizing import Verdict
from service.errors import InvalidParameters

GIB = 2**30
LLAMA_8B, LLAMA_70B = "llama-3.1-8b-instruct", "llama-3.3-70b-instruct"
# Published parameter counts of the text models.
PARAMETERS = {LLAMA_8B: 8_030_261_248, LLAMA_70B: 70_553_706_496}


def training(catalog: Catalog, model: str, **changes: object) -> Training:
    return replace(Training(catalog.models[model]), **changes)


def per_gpu(catalog: Catalog, method: Method, model: str = LLAMA_8B, gpu_count: int = 1, **changes: object):
    return needs(training(catalog, model, **changes), method).on(gpu_count)


@pytest.mark.parametrize(
    ("model", "targets", "expected"),
    [
        # Llama 3.1 8B, each of 32 layers: q 4096+4096, k and v 4096+1024, o 4096+4096, three of 4096+14336.
        (LLAMA_8B, "all-linear", 16 * 32 * (2 * 8192 + 2 * 5120 + 3 * 18432)),
        (LLAMA_8B, "attention", 16 * 32 * (2 * 8192 + 2 * 5120)),
        (LLAMA_70B, "all-linear", 16 * 80 * (2 * 16384 + 2 * 9216 + 3 * 36864)),
    ],
)
def test_adapters_of_llama(catalog: Catalog, model: str, targets: str, expected: int):
    """r * (inputs + outputs) of every linear layer, the output matrix left out."""
    assert adapter_parameters(catalog.models[model].architecture, (targets,), 16) == expected


def test_adapters_have_the_published_counts(catalog: Catalog):
    """41,943,040 for Llama 3.1 8B and 207,093,760 for 70B at rank 16, as peft prints them."""
    counts = [
        adapter_parameters(catalog.models[model].architecture, ("all-linear",), 16)
        for model in (LLAMA_8B, LLAMA_70B)
    ]
    assert counts == [41_943_040, 207_093_760]


def test_attention_of_kimi_k3_is_its_queries_keys_values_gates_and_outputs(catalog: Catalog):
    """24 MLA and 69 KDA layers; decay and writing strength of KDA are not attention projections.

    MLA: q_a 7168+1536, q_b 1536+18432, kv_a 7168+576, kv_b 512+24576, gate and output 7168+12288.
    KDA: q, k, v, gate and output 7168+12288.
    """
    latent = 8704 + 19968 + 7744 + 25088 + 2 * 19456
    delta = 5 * 19456
    expected = 16 * (24 * latent + 69 * delta)
    assert expected == 145_956_864
    assert adapter_parameters(catalog.models["kimi-k3"].architecture, ("attention",), 16) == expected


def test_stacked_experts_are_adapted_only_when_named(catalog: Catalog):
    """Qwen3 30B-A3B: 48 layers of 128 experts, gate and up stacked as 2048 -> 2*768, down 768 -> 2048."""
    architecture = catalog.models["qwen3-30b-a3b-instruct-2507"].architecture
    rank = 8
    attention = 48 * rank * ((2048 + 4096) + 2 * (2048 + 512) + (4096 + 2048))
    experts = 48 * rank * 128 * ((2048 + 1536) + (768 + 2048))
    assert adapter_parameters(architecture, ("all-linear",), rank) == attention
    assert adapter_parameters(architecture, ("experts",), rank) == experts
    assert adapter_parameters(architecture, ("all-linear", "experts"), rank) == attention + experts


def test_modules_are_named_as_hugging_face_names_them(catalog: Catalog):
    """q_proj and v_proj of Llama 3.1 8B, the pair of the LoRA paper."""
    architecture = catalog.models[LLAMA_8B].architecture
    expected = 16 * 32 * ((4096 + 4096) + (4096 + 1024))
    assert adapter_parameters(architecture, ("q_proj", "v_proj"), 16) == expected
    assert {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"} <= set(
        target_names(architecture)
    )


def test_a_module_that_the_model_lacks_is_an_error(catalog: Catalog):
    """The error lists what the model has; a dense model has no experts."""
    architecture = catalog.models[LLAMA_8B].architecture
    for wrong in ("q_prj", "experts", "kv_b_proj"):
        with pytest.raises(InvalidParameters) as error:
            check_targets(architecture, ("q_proj", wrong))
        assert error.value.errors[0].parameter == "targets"
        assert "o_proj" in (error.value.errors[0].allowed or ())


@pytest.mark.parametrize(
    "model", ["deepseek-v3-0324-671b", "qwen3-coder-next-80b-a3b", "kimi-k3", "phi-4-14b"]
)
def test_joining_modules_keeps_every_weight(catalog: Catalog, model: str):
    """What GGUF splits is one module again; no element is lost or counted twice."""
    architecture = catalog.models[model].architecture
    listed = sum(
        t.parameters
        for t in architecture.text_tensors()
        if t.in_checkpoint and t.linear and t.role != "output.weight"
    )
    gates = sum(linear.parameters for linear in linears(architecture) if linear.rows == 1)
    assert sum(linear.parameters for linear in linears(architecture)) == listed + gates


@pytest.mark.parametrize(
    ("optimizer", "bytes_each"), [("adamw", (2, 2, 12)), ("adamw-8bit", (2, 2, 2)), ("adamw-bf16", (2, 2, 4))]
)
@pytest.mark.parametrize("model", PARAMETERS)
def test_full_fine_tuning_is_bytes_per_parameter(
    catalog: Catalog, model: str, optimizer: str, bytes_each: tuple[int, int, int]
):
    """Mixed AdamW 16 bytes, 8-bit Adam 6, pure bf16 8, exactly, of every parameter of the text model."""
    memory = per_gpu(catalog, Method.FULL, model, optimizer=Optimizer(optimizer))
    parameters = PARAMETERS[model]
    assert (memory.weights, memory.gradients, memory.optimizer) == tuple(b * parameters for b in bytes_each)
    assert memory.adapters == memory.gathered_weights == memory.dequantization == 0


def test_full_fine_tuning_of_kimi_k3_takes_sixteen_bytes_a_parameter(catalog: Catalog):
    """2,779,483,135,584 published parameters: 41,417 GiB of states, within a millionth."""
    memory = per_gpu(catalog, Method.FULL, "kimi-k3")
    states = memory.weights + memory.gradients + memory.optimizer
    assert states == pytest.approx(16 * 2_779_483_135_584, rel=1e-6)


@pytest.mark.parametrize("count", [2, 8, 64])
@pytest.mark.parametrize(
    ("stage", "divided"),
    [
        (0, ()),
        (1, ("optimizer",)),
        (2, ("gradients", "optimizer")),
        (3, ("weights", "gradients", "optimizer")),
    ],
)
def test_zero_divides_what_its_stage_says(catalog: Catalog, stage: int, divided: tuple[str, ...], count: int):
    """ZeRO-1: 4 + 12/N bytes a parameter; 2: 2 + 14/N; 3: 16/N and two gathered layers of 2 bytes."""
    one = per_gpu(catalog, Method.FULL, zero_stage=stage)
    memory = per_gpu(catalog, Method.FULL, gpu_count=count, zero_stage=stage)
    for term in ("weights", "gradients", "optimizer"):
        whole = getattr(one, term)
        assert getattr(memory, term) == (-(-whole // count) if term in divided else whole), term
    layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096
    assert memory.gathered_weights == (2 * 2 * layer if stage == 3 else 0)


def test_lora_keeps_the_model_at_sixteen_bit_and_trains_adapters_in_thirty_two(catalog: Catalog):
    """2 bytes a parameter of Llama 3.1 8B; adapters 4 + 4 + 8 bytes each: 671,088,640 bytes."""
    memory = per_gpu(catalog, Method.LORA)
    assert memory.weights == 2 * PARAMETERS[LLAMA_8B]
    assert memory.adapters + memory.gradients + memory.optimizer == 16 * 41_943_040 == 671_088_640


def test_qlora_stores_linear_layers_in_nf4(catalog: Catalog):
    """Half a byte, an 8-bit scale per 64 and a 32-bit one per 256 scales: 4.127 bits a weight.

    Embeddings, output matrix and norms of Llama 3.1 8B stay at 2 bytes.
    """
    memory = per_gpu(catalog, Method.QLORA)
    linear = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336)
    rest = PARAMETERS[LLAMA_8B] - linear
    assert memory.weights == linear // 2 + linear // 64 + linear // (64 * 256) * 4 + 2 * rest
    assert memory.dequantization == 2 * 4096 * 14336
    assert memory.adapters + memory.gradients + memory.optimizer == 16 * 41_943_040


def test_bitsandbytes_leaves_stacked_experts_at_sixteen_bit(catalog: Catalog):
    """Qwen3 30B-A3B: 48 x 128 experts of three 2048 x 768 matrices stay 2 bytes a weight, and it says so."""
    model = "qwen3-30b-a3b-instruct-2507"
    experts = 48 * 128 * 3 * 2048 * 768
    assert per_gpu(catalog, Method.QLORA, model).weights > 2 * experts
    answer = fine_tune(training(catalog, model), ()).results[-1]
    assert {"experts_stay_16_bit", "experts_not_adapted"} == {note.code for note in answer.notes}


def test_activations_with_and_without_checkpointing(catalog: Catalog):
    """b = 2, s = 4096, Llama 3.1 8B: 4d + 2Hh + 2Kh + 4f elements a token and layer, logits of 10 bytes."""
    d, heads, keys, f, layers, vocabulary = 4096, 4096, 1024, 14336, 32, 128_256
    tokens = 2 * 4096
    layer = 4 * d + 2 * heads + 2 * keys + 4 * f
    logits = 10 * tokens * vocabulary
    shape = {"micro_batch": 2, "sequence_tokens": 4096}
    kept = per_gpu(catalog, Method.LORA, gradient_checkpointing=False, **shape)
    recomputed = per_gpu(catalog, Method.LORA, gradient_checkpointing=True, **shape)
    assert kept.activations == 2 * tokens * layers * layer + logits
    assert recomputed.activations == 2 * tokens * d * layers + 2 * tokens * layer + logits


def test_activations_of_experts_count_the_chosen_ones(catalog: Catalog):
    """Qwen3 30B-A3B: 8 of 128 experts, 4*k*fe + k*d instead of 4f; no shared expert."""
    d, heads, keys, layers, vocabulary = 2048, 32 * 128, 4 * 128, 48, 151_936
    layer = 4 * d + 2 * heads + 2 * keys + 4 * 8 * 768 + 8 * d
    memory = per_gpu(
        catalog,
        Method.LORA,
        "qwen3-30b-a3b-instruct-2507",
        gradient_checkpointing=False,
        sequence_tokens=1000,
    )
    assert memory.activations == 1000 * (2 * layers * layer + 10 * vocabulary)


def test_overhead_is_context_and_a_twentieth_of_temporary_memory(catalog: Catalog):
    memory = per_gpu(catalog, Method.QLORA, gpu_count=2)
    temporary = memory.activations + memory.gathered_weights + memory.dequantization
    assert memory.runtime_overhead == GIB + temporary // 20


@pytest.mark.parametrize("method", Method)
def test_total_is_the_sum_of_its_terms_and_every_term_is_sourced(catalog: Catalog, method: Method):
    gpu = catalog.gpus["h100-80gb-sxm"]
    asked = training(catalog, LLAMA_8B, gpu=gpu, methods=(method,))
    (answer,) = fine_tune(asked, catalog.gpus.values()).results
    assert answer.per_gpu.total == sum(getattr(answer.per_gpu, term) for term in TERMS)
    assert set(answer.evidence) == set(TERMS)
    assert answer.evidence["activations"].evidence is Evidence.ESTIMATE
    assert all(found.source for found in answer.evidence.values())


def test_the_smallest_count_fits_and_one_fewer_does_not(catalog: Catalog):
    """For every method and several GPUs; 16 bytes x 8.03e9 parameters need more than one 80 GB GPU."""
    for gpu_id in ("h100-80gb-sxm", "rtx-4090", "b200-180gb"):
        gpu = catalog.gpus[gpu_id]
        for answer in fine_tune(training(catalog, LLAMA_8B, gpu=gpu), ()).results:
            need, count = needs(training(catalog, LLAMA_8B), answer.method), answer.min_gpu_count
            assert count is not None
            assert need.on(count).total <= usable_bytes(gpu)
            assert count == 1 or need.on(count - 1).total > usable_bytes(gpu)
    full = fine_tune(training(catalog, LLAMA_8B, gpu=catalog.gpus["h100-80gb-sxm"]), ()).results[0]
    assert full.verdict is Verdict.DOES_NOT_FIT
    assert full.min_gpu_count == 2
    assert full.reasons[0].code == "training_exceeds_memory"


def test_full_fine_tuning_of_kimi_k3_needs_more_than_260_b200(catalog: Catalog):
    """41,417 GiB of states over 179 GiB a GPU are 232 by themselves; gathered layers come on top."""
    answer = fine_tune(training(catalog, "kimi-k3", gpu=catalog.gpus["b200-180gb"]), ()).results[0]
    assert answer.min_gpu_count is not None
    assert answer.min_gpu_count >= 260


def test_the_smallest_hardware_has_the_fewest_gpus_then_the_least_memory(catalog: Catalog):
    """QLoRA of 8B takes 10.5 GiB: a 12 GB card. No other card of the catalog that holds it is smaller."""
    answer = fine_tune(training(catalog, LLAMA_8B), catalog.gpus.values()).results[-1]
    assert answer.smallest is not None
    assert answer.smallest.gpu_count == 1
    assert answer.smallest.gpu.label_gb == 12
    assert answer.smallest.usable_bytes >= answer.per_gpu.total


@pytest.mark.parametrize("model", [LLAMA_8B, "llama-3.3-70b-instruct", "kimi-k3"])
def test_the_smallest_hardware_is_what_asking_every_accelerator_finds(catalog: Catalog, model: str):
    """Of all counts the lowest, of its accelerators the one with the least memory."""
    gpus = [gpu for gpu in catalog.gpus.values() if gpu.exists and gpu.evidence != "estimate" and trains(gpu)]
    for answer in fine_tune(training(catalog, model), catalog.gpus.values()).results:
        need = needs(training(catalog, model), answer.method)
        counts = {gpu.id: count for gpu in gpus if (count := min_gpu_count(need, gpu)) is not None}
        fewest = min(counts.values())
        smallest = min(
            (gpu for gpu in gpus if counts.get(gpu.id) == fewest), key=lambda gpu: (gpu.memory_bytes, gpu.id)
        )
        assert answer.smallest is not None
        assert (answer.smallest.gpu.id, answer.smallest.gpu_count) == (smallest.id, fewest)


def test_without_an_accelerator_there_is_no_verdict(catalog: Catalog):
    answer = fine_tune(training(catalog, LLAMA_8B), catalog.gpus.values()).results[0]
    assert answer.verdict is None
    assert answer.min_gpu_count is None
    assert answer.utilization is None


def test_an_accelerator_of_unknown_memory_gives_unknown(catalog: Catalog):
    gpu = catalog.gpus["mac-studio-m4-ultra-256gb"]
    for answer in fine_tune(training(catalog, LLAMA_8B, gpu=gpu), ()).results:
        assert answer.verdict is Verdict.UNKNOWN
        assert answer.min_gpu_count is None


def test_software_that_is_not_released_for_a_gpu_is_said(catalog: Catalog):
    """bitsandbytes and peft run on CUDA and ROCm; an Ascend NPU needs its vendor's port."""
    codes = {
        gpu: {
            n.code for n in fine_tune(training(catalog, LLAMA_8B, gpu=catalog.gpus[gpu]), ()).results[1].notes
        }
        for gpu in ("ascend-910b-64gb", "h100-80gb-sxm", "instinct-mi300x-192gb")
    }
    assert codes["ascend-910b-64gb"] == {"training_software_unknown"}
    assert codes["h100-80gb-sxm"] == codes["instinct-mi300x-192gb"] == set()


@pytest.mark.parametrize("method", Method)
def test_every_model_of_the_catalog_can_be_trained(catalog: Catalog, method: Method):
    """All have positive terms, adapters smaller than the model, and never need more on more GPUs."""
    for model in catalog.models.values():
        need = needs(Training(model), method)
        assert 0 < need.trainable <= need.base.parameters, model.id
        assert need.on(1).activations > 0, model.id
        assert need.on(8).total <= need.on(2).total, model.id


def test_parameters_are_the_published_ones(catalog: Catalog):
    """Models whose checkpoint is the text model alone: exactly the published count, 38 of them."""
    plain = [
        model
        for model in catalog.models.values()
        if model.parameters_exact and not model.architecture.mtp and not model.architecture.vision
    ]
    assert len(plain) >= 38
    for model in plain:
        assert needs(Training(model), Method.FULL).base.parameters == model.parameters_total, model.id
