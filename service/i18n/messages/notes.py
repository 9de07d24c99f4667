"""Reasons of a verdict, and warnings: the sentence of each code."""

from collections.abc import Mapping

from service.core.sizing import Note
from service.i18n.marking import mark
from service.i18n.messages.sentence import say
from service.i18n.voice import Voice

REASON_CODES: Mapping[str, str] = {
    "weights_exceed_memory": mark(
        "The model weights alone need up to %(weights)s per GPU, where %(usable)s is usable; "
        "together with the cache and buffers, %(missing)s is missing."
    ),
    "total_exceeds_usable": mark(
        "The weights would fit, but together with the cache and buffers up to %(needed)s is needed per GPU, "
        "where %(usable)s is usable; %(missing)s is missing."
    ),
    "request_exceeds_pool": mark(
        "The KV cache was fixed at %(pool_bytes)s per GPU, "
        "which cannot hold the requested context and sequences."
    ),
    "little_headroom": mark("More than %(percent)s of the usable GPU memory is needed."),
    "host_memory_short": mark(
        "The host needs %(needed)s of system RAM, but only %(available)s is available."
    ),
    "engine_does_not_support": mark("%(engine)s does not support %(model)s."),
    "engine_not_on_gpu": mark("%(engine)s does not run on %(gpu)s."),
    "gpu_does_not_exist": mark("%(gpu)s does not exist as a product, so nothing can be said about it."),
    "memory_unknown": mark("The memory of %(gpu)s is not known."),
    "bandwidth_unknown": mark("The memory bandwidth of %(gpu)s is not known."),
    "weights_unknown": mark("The size of the weights in this format is not known."),
}

WARNING_CODES: Mapping[str, str] = {
    "engine_support_unknown": mark("It is not known whether %(engine)s supports %(model)s."),
    "engine_version_needed": mark("%(engine)s supports this model from version %(since)s."),
    "engine_not_modelled": mark(
        "The memory planning of %(engine)s is not modelled yet; the figures are those of a related engine "
        "and only indicative."
    ),
    "kv_types_must_match": mark(
        "This model has one cache for keys and values, so both need the same type, not %(k)s and %(v)s."
    ),
    "kv_type_needs_wider_heads": mark(
        "The KV cache type stores whole blocks, into which heads of %(head_dim)s values do not divide."
    ),
    "engine_rule_generic": mark(
        "There is no rule of %(engine)s for this architecture; "
        "the figures follow the general rule of its layers."
    ),
    "undocumented_gpu": mark("The facts about %(gpu)s are not documented by its maker."),
    "memory_size_estimated": mark(
        "The memory size of %(gpu)s is not confirmed by a published reading of its driver."
    ),
    "estimated_memory_size": mark("The memory size is an estimate."),
    "estimated_quantization": mark(
        "Neither a quantization recipe nor a published file is known for this format; "
        "its size is an estimate."
    ),
    "estimated_native_weights": mark("No one published the size of the native weights; it is computed."),
    "context_above_native": mark(
        "The context is longer than the %(native)s tokens that the model was made for; "
        "quality is not assured."
    ),
    "model_facts_derived": mark(
        "Some facts about %(model)s are derived from its published files, not verified."
    ),
    "lookup_tables_in_host_memory": mark("Lookup tables of %(bytes)s are kept in system RAM."),
    "experts_padded": mark("Experts are padded in this layout, which enlarges the weights."),
    "speed_not_yet_estimated": mark("Speed is not estimated in this version yet."),
    "cost_not_yet_estimated": mark("Cost is not estimated in this version yet."),
    "derivation_not_available": mark("The derivation is not available in this version yet."),
}


def note_text(voice: Voice, note: Note) -> str:
    """The sentence of a reason or warning; a code without a sentence reads as the code itself."""
    message = REASON_CODES.get(note.code) or WARNING_CODES.get(note.code)
    return note.code if message is None else say(voice, message, note.parameters)
