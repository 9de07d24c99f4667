"""Reasons of a verdict, and warnings: the sentence of each code."""

from collections.abc import Mapping

from service.core.sizing import Note
from service.i18n.marking import mark
from service.i18n.messages.cost_notes import COST_CODES, FINETUNING_CODES
from service.i18n.messages.planning import PLAN_CODES
from service.i18n.messages.reports import REPORT_CODES
from service.i18n.messages.sentence import say
from service.i18n.messages.speed import SPEED_CODES
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
    "pool_exceeds_memory": mark(
        "The KV cache was fixed at %(pool_bytes)s per GPU, "
        "for which %(missing)s is missing beside the weights and buffers."
    ),
    "little_headroom": mark("More than %(percent)s of the usable GPU memory is needed."),
    "host_memory_short": mark(
        "The host needs %(needed)s of system RAM, but only %(available)s is available."
    ),
    "engine_does_not_support": mark("%(engine)s does not support %(model)s."),
    "engine_not_on_gpu": mark("%(engine)s does not run on %(gpu)s."),
    "engine_serves_one_sequence": mark(
        "%(engine)s serves this model one sequence at a time with these settings."
    ),
    "kv_type_not_for_architecture": mark(
        "%(engine)s cannot keep the KV cache of this model in the type %(dtype)s."
    ),
    "kv_type_not_on_gpu": mark("%(engine)s cannot keep a KV cache of the type %(dtype)s on %(gpu)s."),
    "chunk_exceeds_expert_budget": mark(
        "%(engine)s does not start this model with prefill chunks of %(tokens)s tokens, because its expert "
        "kernels take at most %(limit)s here; set max_batched_tokens to %(limit)s or less."
    ),
    "own_layers_cannot_draft": mark(
        "%(engine)s has no speculative decoding with this model's own layers on this GPU."
    ),
    "sequences_exceed_running_requests": mark(
        "%(engine)s runs at most %(limit)s sequences at once with these settings."
    ),
    "reserve_too_small": mark(
        "%(engine)s leaves %(reserve_bytes)s per GPU for activations, CUDA graphs and its table of requests, "
        "which need about %(needed)s; a smaller memory_utilization or a shorter context helps."
    ),
    "gpu_does_not_exist": mark("%(gpu)s does not exist as a product, so nothing can be said about it."),
    "memory_unknown": mark("The memory of %(gpu)s is not known."),
    "engine_speed_unknown": mark("How fast %(engine)s computes is not known."),
    "bandwidth_unknown": mark("The memory bandwidth of %(gpu)s is not known."),
    "weights_unknown": mark("The size of the weights in this format is not known."),
}

WARNING_CODES: Mapping[str, str] = {
    "engine_support_unknown": mark("It is not known whether %(engine)s supports %(model)s."),
    "engine_is_port": mark(
        "On %(gpu)s, %(engine)s runs only as a fork, plug-in or vendor build beside its own releases, "
        "or nobody has verified that it does; memory and speed may differ there."
    ),
    "engine_version_needed": mark("%(engine)s supports this model from %(since)s on."),
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
    "engine_takes_batch": mark(
        "%(engine)s processes prompts in batches of %(tokens)s tokens here, because of the memory that "
        "it expects to need."
    ),
    "engine_default_context": mark(
        "%(engine)s itself would start with a context of %(tokens)s tokens here; "
        "set %(asked)s tokens explicitly."
    ),
    "page_cache_competes": mark(
        "CPU, GPU and file cache share this memory, of which the system shows about %(visible_bytes)s; "
        "engines that claim a fraction of it should be kept to %(percent)s or less."
    ),
    "graphics_memory_set_by_hand": mark(
        "Windows gives the GPU up to %(usable)s of this machine's memory, "
        "and only once it is set in the driver or the BIOS."
    ),
    "gtt_limit_raised": mark(
        "Linux maps only %(mapped_bytes)s of this machine's memory for the GPU by default; "
        "the %(usable)s counted here take the kernel parameter ttm.pages_limit."
    ),
    "weights_near_working_set": mark(
        "The weights take more than %(percent)s of the memory that Metal recommends, "
        "so generation can be slow."
    ),
    "engine_release_without_class": mark(
        "%(engine)s %(version)s itself does not contain this model; "
        "it is planned by the rules for its layers."
    ),
    "pool_split_strands": mark(
        "%(engine)s divides its pool between states and KV cache in a fixed ratio, which leaves "
        "%(stranded_bytes)s per GPU unused here; --mamba-full-memory-ratio changes it."
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
    "model_by_operator": mark(
        "The facts about %(model)s were provided by the operator of this service, not by its own catalog."
    ),
    "gpu_by_operator": mark(
        "The facts about %(gpu)s were provided by the operator of this service, not by its own catalog."
    ),
    "architecture_generic": mark(
        "There are no rules for the architecture %(architecture)s; the config was read by the usual names of "
        "its fields, and every figure that follows from it is an estimate."
    ),
    "architecture_read_as": mark(
        "There are no rules for the architecture %(architecture)s; its layers were read as those of "
        "%(read_as)s."
    ),
    "config_fields_read_cache_too_large": mark(
        "Layers that these fields of the config describe were read as ordinary attention: %(fields)s. "
        "The cache is estimated too large; the weights may err either way."
    ),
    "config_fields_read_too_large": mark(
        "These fields of the config are missing or could not be used: %(fields)s. "
        "The figures are too large rather than too small."
    ),
    "config_fields_read_too_small": mark(
        "What these fields of the config describe is left out: %(fields)s. The figures are too small by it."
    ),
    "config_fields_read_either_way": mark(
        "These fields of the config are missing or could not be used: %(fields)s. "
        "The figures may be too large or too small."
    ),
    "config_recognised": mark(
        "The config has the architecture of %(models)s; the facts published about it apply."
    ),
    "parameters_disagree": mark(
        "%(given)s parameters were given, but the config gives %(computed)s; one of the two is wrong."
    ),
    "weight_bytes_disagree": mark(
        "%(given_bytes)s of weights were given, but the config gives %(computed_bytes)s; "
        "native weights follow what was given."
    ),
    "gguf_without_tensors": mark(
        "The part of the file that was sent ends before its list of tensors does; "
        "the figures follow from its metadata."
    ),
    "gguf_split": mark("The file is one of %(count)s parts; the figures hold for this part alone."),
    "lookup_tables_in_host_memory": mark("Lookup tables of %(bytes)s are kept in system RAM."),
    "state_in_block_pool": mark(
        "Recurrent layers draw from the same block pool: %(state_bytes)s per GPU of the KV cache are pages "
        "for their state."
    ),
    "experts_padded": mark("Experts are padded in this layout, which enlarges the weights."),
    **COST_CODES,
    **SPEED_CODES,
    **FINETUNING_CODES,
    **PLAN_CODES,
    **REPORT_CODES,
}


def note_text(voice: Voice, note: Note) -> str:
    """The sentence of a reason or warning; a code without a sentence reads as the code itself."""
    message = REASON_CODES.get(note.code) or WARNING_CODES.get(note.code)
    return note.code if message is None else say(voice, message, note.parameters)
