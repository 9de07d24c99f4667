"""What is said of speeds: what bounds them, why there are none, and what they leave out."""

from collections.abc import Mapping

from service.i18n.marking import mark

BOUNDS: Mapping[str, str] = {
    "memory": mark("reading memory"),
    "compute": mark("computing"),
    "interconnect": mark("exchange between GPUs"),
    "host": mark("launches, scheduling and system RAM"),
}
SPEED_CODES: Mapping[str, str] = {
    "speed_needs_fit": mark("A speed is given only where the configuration is known to run."),
    "host_bandwidth_unknown": mark(
        "Weights in system RAM are read at its bandwidth, which is not known, so no speed is given."
    ),
    "prefill_with_offload": mark(
        "With weights in system RAM, processing a prompt depends on how they are streamed to the GPU; "
        "no reliable figure can be given."
    ),
    "compute_rate_unknown": mark("The compute rate of %(gpu)s is not known."),
    "speed_indicative": mark(
        "No benchmark of %(engine)s on hardware like %(gpu)s, or with this load, is known; "
        "the speed is indicative and its interval wide."
    ),
    "speculation_not_in_speed": mark(
        "How many drafted tokens are accepted is not known; "
        "the speed is the one without speculative decoding."
    ),
}
