"""Recurrent states as vLLM keeps them: bytes, dtypes, copies, checkpoints.

Source: vLLM 0.33.0 model_executor/layers/mamba/mamba_utils.py, abstract.py, mamba_mixer2.py,
gdn/qwen_gdn_linear_attn.py, kda_checkpoint.py.
"""

from service.core.architecture.caches import RecurrentState, StateKind
from service.core.engines.vllm.specs import CacheConfig, Spec, SpecKind
from service.core.units import pad

_CONV_BYTES = 2  # the model's own dtype
_CHECKPOINT_HEAD_DIM = 128  # the kernels that export checkpoints exist for this head width only
_WIDTHS = {"float32": 4, "f32": 4, "bfloat16": 2, "bf16": 2, "float16": 2, "fp16": 2}


def recurrent_bytes(state: RecurrentState, state_dtype: str | None) -> int:
    """Bytes of a recurrent element: KDA always f32, Mamba-2 f32 and GDN as conv unless the config says."""
    if state.kind is StateKind.KIMI_DELTA:
        return 4
    default = 4 if state.kind is StateKind.MAMBA2 else _CONV_BYTES
    return _WIDTHS.get(state_dtype or "", default)


def state_bytes(state: RecurrentState, config: CacheConfig) -> int:
    """One copy of the state on one rank, unpadded; drafting lengthens the convolution history."""
    degree = config.tensor_parallel if state.split else 1
    channels = state.conv_channels
    if state.groups:
        channels += 2 * state.group_width * (pad(state.groups, degree) - state.groups)
    rows = state.conv_rows + config.draft_tokens
    conv = channels // degree * rows * _CONV_BYTES
    recurrent = state.recurrent_elements // degree * recurrent_bytes(state, config.state_dtype)
    return conv + recurrent


def checkpoint_alignment(state: RecurrentState, config: CacheConfig) -> int:
    """Tokens that prefill checkpoints are aligned to, 0 when the layer exports none."""
    if state.kind is StateKind.MAMBA2:
        return 1
    if state.kind is StateKind.SHORT_CONV or not config.generation.flash_linear_attention:
        return 0
    if state.kind is StateKind.LOOKUP_CONV:  # follows the GDN layers beside it
        return 64
    if state.recurrent_columns != _CHECKPOINT_HEAD_DIM:
        return 0
    return 64 if state.kind is StateKind.GATED_DELTA_NET else 16


def state_slots(state: RecurrentState, config: CacheConfig) -> int:
    """Blocks of one sequence: 1 + k without prefix caching, 2 + k and a checkpoint's with it."""
    if not config.prefix_caching:
        return 1 + config.draft_tokens
    return 2 + config.draft_tokens + (1 if checkpoint_alignment(state, config) else 0)


def state_spec(state: RecurrentState, config: CacheConfig, page_bytes: int) -> Spec:
    """The spec of one state, padded to the attention page."""
    own = state_bytes(state, config)
    return Spec(
        SpecKind.STATE,
        own,
        block=0,
        slots=state_slots(state, config),
        padded=max(own, page_bytes),
        constant=True,
    )
