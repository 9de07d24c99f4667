"""What loading adds to a checkpoint's tensors in vLLM, and the peak of its profiling run."""

from typing import Any

import pytest

from service.core.engines.vllm import buffers, loading
from service.core.engines.vllm.generation import Generation
from service.core.parallel import stage_weights
from service.core.scenario import Layout
from service.core.weights.weigh import weigh
from tests.unit.vllm_questions import catalog

GIB = 2**30


def architecture(model: str) -> Any:
    return catalog().models[model].architecture


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("llama-3.1-8b-instruct", 131_072 * 128 * 2),
        ("gemma-3-4b-it", 131_072 * (8 * 256 + 256) * 2),  # global layers linear x 8, sliding ones plain
        ("deepseek-v3-0324-671b", 163_840 * 64 * 2),
    ],
)
def test_cosines_and_sines_of_every_position_are_kept(model: str, expected: int):
    """One table for each kind of attention; Gemma 3's reaches over eight times its positions."""
    assert loading.rotary_bytes(architecture(model)) == expected


@pytest.mark.parametrize(
    ("layout", "generation", "width"),
    [
        (Layout(), Generation.OTHER, 2944),
        (Layout(), Generation.HOPPER, 2880),
        (Layout(), Generation.BLACKWELL_DATACENTER, 3072),
        (Layout(tensor=4), Generation.HOPPER, 4 * 768),
        (Layout(tensor=8), Generation.BLACKWELL_CONSUMER, 8 * 384),
        (Layout(tensor=8, expert=8), Generation.BLACKWELL_CONSUMER, 2944),
    ],
)
def test_experts_of_gpt_oss_are_padded(layout: Layout, generation: Generation, width: int):
    """Rows of 2,880 become 3,072; the width a multiple of 64 (Triton), 128 (Marlin) or 256 (TRT-LLM)."""
    model = catalog().models["gpt-oss-120b"]
    table = weigh(model, "native")
    padding = loading.padding_bytes(table, model.architecture, layout, generation, range(36))
    stored = 36 * 128 * 3 * 2880 * 2880 * 17 // 32
    expected = stored * (width * 3072 / (2880 * 2880) - 1) / layout.tensor
    assert padding == pytest.approx(expected, abs=1)


@pytest.mark.parametrize(("model", "quantization"), [("kimi-k3.1-pro", "native"), ("qwen3-8b", "fp8")])
def test_other_experts_and_formats_are_not_padded(model: str, quantization: str):
    """Kimi K3.1's experts of 3,584 x 3,072 fit the kernels as they are."""
    entry = catalog().models[model]
    table = weigh(entry, quantization)
    where = Generation.HOPPER
    assert loading.padding_bytes(table, entry.architecture, Layout(), where, range(93)) == 0


def test_the_tower_is_divided_like_the_text_model():
    """Gemma 3 at TP4: a quarter of the encoder and projector, the embeddings whole."""
    entry = catalog().models["gemma-3-27b-it"]
    with_tower, without = (
        stage_weights(weigh(entry, "native", vision=vision), entry.architecture, Layout(tensor=4))[0]
        for vision in (True, False)
    )
    parts = {tensor.role: 2 * tensor.parameters for tensor in entry.architecture.vision}
    divided = parts["vision.encoder"] + parts["vision.projector"]
    whole = parts["vision.patch_embedding"] + parts["vision.position_embedding"]
    assert with_tower - without == pytest.approx(divided / 4 + whole, abs=4096)


def test_the_peak_of_a_dense_layer():
    """Llama 8B: three rows of the stream, gate, up and product; 2.07 GiB at 20,000 tokens, as printed."""
    gpu = catalog().gpus["rtx-3090"]
    ours = buffers.activations(architecture("llama-3.1-8b-instruct"), Layout(), gpu, 20_000)
    assert ours.layer == 2 * 20_000 * (3 * 4096 + 3 * 14_336)
    assert ours.layer / GIB == pytest.approx(2.07, rel=0.01)
    assert ours.peak(1) == ours.layer


def test_the_sampler_grows_with_the_sequences():
    """More sequences than max_num_seqs raise the peak by 10 B for each logit."""
    gpu = catalog().gpus["rtx-4090"]
    ours = buffers.activations(architecture("qwen3-0.6b"), Layout(), gpu, 16)
    assert ours.peak(1) == ours.peak(256) == 256 * 151_936 * 10
    assert ours.peak(512) == 512 * 151_936 * 10


def test_a_tower_is_profiled_with_the_longest_image():
    """Qwen's longest image is 16,384 tokens of four patches, whatever the batch; others fill the batch."""
    gpu = catalog().gpus["rtx-5090"]
    qwen, gemma = architecture("qwen3.8-27b"), architecture("gemma-3-27b-it")
    longest = buffers.activations(qwen, Layout(), gpu, 2048, vision=True).vision
    assert longest == 2 * 16_384 * (4 * (3 * 1152 + 2 * 4304) + 5120)
    assert buffers.activations(qwen, Layout(), gpu, 2048).vision == 0
    small, large = (buffers.activations(gemma, Layout(), gpu, n, vision=True).vision for n in (2048, 4096))
    assert large == pytest.approx(2 * small, rel=1e-6)
