"""What is wrong with an uploaded measurement: the sentence of each code, with the arithmetic behind it."""

from collections.abc import Mapping

from service.i18n.marking import mark

SUBMISSION_CODES: Mapping[str, str] = {
    "not_a_list": mark("“%(parameter)s” must be a list."),
    "control_characters": mark(
        "“%(parameter)s” holds control characters or characters that change the direction of text."
    ),
    "not_a_web_address": mark(
        "“%(parameter)s” must be an http or https address without user name and password."
    ),
    "not_a_date": mark("“%(parameter)s” must be a day, a month or a year, such as 2026-11-20."),
    "unknown_name": mark("“%(parameter)s”: the catalog has no such entry."),
    "no_speed": mark("A measurement states at least one speed; “%(parameter)s” is the usual one."),
    "in_the_future": mark("“%(parameter)s” lies in the future."),
    "needs": mark("“%(parameter)s” also needs “%(other)s”."),
    "context_too_small": mark(
        "“%(parameter)s” is smaller than prompt and output: %(prompt_tokens)s + %(output_tokens)s = %(sum)s "
        "tokens."
    ),
    "weights_exceed_memory": mark(
        "The weights take at least %(weights_bytes)s of GPU memory, but %(gpu_count)s × %(gpu)s have "
        "%(memory_bytes)s. Was something kept in system RAM (cpu_offload_percent), or is “%(parameter)s” "
        "wrong?"
    ),
    "exceeds_bandwidth": mark(
        "“%(parameter)s”: %(rate)s tokens/s at a concurrency of %(sequences)s are at least %(steps)s "
        "steps per second, each of which reads %(read_gb)s GB of weights. That is %(needed_gbs)s GB/s, but "
        "%(gpu_count)s × %(gpu)s read at most %(available_gbs)s GB/s. Are concurrency, speculative_tokens, "
        "gpu_count and quantization stated as they were?"
    ),
    "exceeds_compute": mark(
        "“%(parameter)s”: %(rate)s tokens/s at %(gflop)s GFLOP each are %(needed_tflops)s TFLOPS, but "
        "%(gpu_count)s × %(gpu)s reach at most %(available_tflops)s TFLOPS. Was a part of the prompt cached?"
    ),
    "contradicts_prefill": mark(
        "“%(parameter)s”: %(prompt_tokens)s tokens of prompt at %(rate)s tokens/s take %(expected_ms)s ms; "
        "%(stated_ms)s ms contradict that."
    ),
    "contradicts_per_sequence": mark(
        "“%(parameter)s”: %(sequences)s sequences at %(one)s tokens/s are %(product)s tokens/s together, "
        "not %(rate)s."
    ),
}
