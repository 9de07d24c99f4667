"""What sections of a report state: remarks beside commands, findings of a diagnosis, questions, answers."""

from collections.abc import Mapping

from service.i18n.marking import mark

COMMAND_CODES: Mapping[str, str] = {
    "no_command_known": mark("No launch command of %(engine)s is known."),
    "command_without_parameters": mark(
        "These commands of %(engine)s do not carry: %(fields)s. Set them in the engine itself."
    ),
    "command_spans_machines": mark(
        "%(gpu_count)s GPUs are more than the %(per_machine)s of one machine; join the machines as the "
        "engine describes before starting it."
    ),
    "quantized_on_loading": mark(
        "The published 16-bit checkpoint is quantized to %(format)s while it is loaded; the size can "
        "differ slightly from a checkpoint published in this format."
    ),
    "no_published_weights": mark(
        "No repository is known with weights of this model in a format that %(engine)s loads."
    ),
    "checkpoint_repository_unknown": mark(
        "No repository with a checkpoint in the format %(format)s is known, so a path stands in its place."
    ),
    "model_repository_unknown": mark("The model has no known repository, so a path stands in its place."),
    "gguf_repository_unknown": mark(
        "No repository with a GGUF file in the format %(format)s is known, so a path stands in its place."
    ),
    "gguf_made_from_checkpoint": mark(
        "No repository with a GGUF file in the format %(format)s is known; it can be made from the "
        "published checkpoint with llama.cpp's own tools, run in its source folder."
    ),
    "mlx_made_from_checkpoint": mark(
        "No repository in the format %(format)s is known; the model is converted from the published "
        "checkpoint."
    ),
    "ollama_tag_unknown": mark(
        "No tag of this model in Ollama's library is confirmed, so the model is created from a GGUF file."
    ),
}
DIAGNOSIS_CODES: Mapping[str, str] = {
    "weights_decide": mark(
        "The model weights alone take %(weights_bytes)s per GPU, more than the %(usable_bytes)s that are "
        "usable; no shorter context and no smaller KV cache changes that."
    ),
    "kv_cache_decides": mark(
        "The weights leave %(left_bytes)s of %(usable_bytes)s per GPU; the KV cache is the largest part of "
        "what has to go there, with %(term_bytes)s."
    ),
    "recurrent_state_decides": mark(
        "The weights leave %(left_bytes)s of %(usable_bytes)s per GPU; the recurrent state is the largest "
        "part of what has to go there, with %(term_bytes)s."
    ),
    "buffers_decide": mark(
        "The weights leave %(left_bytes)s of %(usable_bytes)s per GPU; compute buffers and runtime "
        "overhead are the largest part of what has to go there, with %(term_bytes)s."
    ),
    "state_is_constant": mark(
        "The recurrent state takes %(state_bytes)s per GPU; it grows with the number of sequences, not "
        "with the context, and no KV cache type shrinks it."
    ),
    "room_left": mark(
        "%(headroom_bytes)s per GPU stays free; the weights take %(weights_percent)s of the usable memory, "
        "everything else %(rest_percent)s."
    ),
    "single_changes": mark("Each of the following changes alone makes it fit."),
    "one_single_change": mark("One change is enough to make it fit."),
    "no_single_change": mark(
        "None of these changes alone makes it fit: shorter context, fewer sequences, another format or KV "
        "cache type, more GPUs of this kind, another GPU."
    ),
    "shorter_context_fits": mark("A context of at most %(to)s tokens instead of %(now)s."),
    "fewer_sequences_fit": mark("At most %(to)s instead of %(now)s concurrent sequences."),
    "smaller_format_fits": mark(
        "The format %(to)s instead of %(now)s, the largest one that %(engine)s can hold here."
    ),
    "smaller_kv_type_fits": mark("The KV cache type %(to)s instead of %(now)s."),
    "more_gpus_fit": mark("%(to)s GPUs of this kind instead of %(now)s."),
    "larger_gpu_fits": mark("The same number of %(to)s instead of %(now)s."),
}
FAQ_CODES: Mapping[str, str] = {
    "ask_memory": mark("How much GPU memory does %(model)s need?"),
    "tell_memory": mark(
        "In the format %(format)s with %(engine)s, a context of %(context)s tokens and "
        "%(concurrent_sequences)s, it needs %(total_bytes)s over all GPUs: %(weights_bytes)s of weights, "
        "%(kv_bytes)s of KV cache, %(state_bytes)s of recurrent state, and %(rest_bytes)s of buffers and "
        "overhead."
    ),
    "tell_memory_without_state": mark(
        "In the format %(format)s with %(engine)s, a context of %(context)s tokens and "
        "%(concurrent_sequences)s, it needs %(total_bytes)s over all GPUs: %(weights_bytes)s of weights, "
        "%(kv_bytes)s of KV cache, and %(rest_bytes)s of buffers and overhead."
    ),
    "ask_fit": mark("Does %(model)s fit on %(gpu_count)s × %(gpu)s?"),
    "tell_fits": mark(
        "Yes. The fullest GPU needs %(needed_bytes)s of %(usable_bytes)s usable memory, a utilization of "
        "%(utilization)s."
    ),
    "tell_tight": mark(
        "Just about. The fullest GPU needs %(needed_bytes)s of %(usable_bytes)s usable memory, a "
        "utilization of %(utilization)s."
    ),
    "tell_does_not_fit": mark(
        "No. The fullest GPU would have to hold %(needed_bytes)s, but %(usable_bytes)s is usable."
    ),
    "tell_unsupported": mark("No, this configuration is not supported."),
    "tell_unknown": mark("That cannot be said."),
    "ask_gpu_count": mark("How many %(gpu)s does it take?"),
    "tell_gpu_count": mark(
        "At least %(count)s in the layout that the service chooses by default; each GPU has to hold its "
        "own share, memory is not pooled."
    ),
    "tell_no_gpu_count": mark("No number of up to %(most)s is enough in the layouts that the service tries."),
    "ask_context": mark("What does a longer context cost?"),
    "tell_context": mark(
        "Each further token of a sequence takes %(per_token)s bytes. From %(now)s to %(longer)s tokens, "
        "the memory of all GPUs grows by %(more_bytes)s, to %(total_bytes)s."
    ),
    "tell_context_is_free": mark("Almost nothing: the memory of a sequence does not grow with its length."),
    "ask_kv_type": mark("Does a smaller KV cache type help?"),
    "tell_kv_type": mark(
        "With %(dtype)s, the KV cache shrinks from %(before_bytes)s to %(after_bytes)s; that saves "
        "%(saved_bytes)s of %(total_bytes)s in total."
    ),
    "tell_state_stays": mark(
        "The recurrent state of %(state_bytes)s per sequence stays as it is, whatever the KV cache type."
    ),
    "ask_experts": mark("Why does the memory follow all parameters, but the speed only the active ones?"),
    "tell_experts": mark(
        "For each token, the router picks a few experts, so only about %(parameters_active)s of "
        "%(parameters_total)s parameters are read; but the next token may need other experts, so all of "
        "them have to be in memory."
    ),
    "ask_format": mark("Which is the largest format that fits?"),
    "tell_format": mark(
        "With %(engine)s it is %(format)s: the fullest GPU then needs %(needed_bytes)s of %(usable_bytes)s."
    ),
    "tell_no_format": mark("None of the formats that %(engine)s loads fits on %(gpu_count)s × %(gpu)s."),
    "ask_speed": mark("How fast does it answer?"),
    "tell_speed": mark(
        "One sequence is estimated to decode %(estimate)s tokens per second, between %(low)s and %(high)s."
    ),
}
REPORT_CODES: Mapping[str, str] = {**COMMAND_CODES, **DIAGNOSIS_CODES, **FAQ_CODES}
