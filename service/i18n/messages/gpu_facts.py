"""Names of an accelerator's facts, and of the markets it is made for."""

from collections.abc import Mapping

from service.i18n.marking import mark

GPU_FACTS: Mapping[str, str] = {
    "vendor": mark("Vendor"),
    "family": mark("Generation"),
    "kind": mark("Kind"),
    "released": mark("Released"),
    "memory": mark("Memory that the driver reports"),
    "memory_type": mark("Memory type"),
    "memory_bandwidth_gbs": mark("Memory bandwidth"),
    "fp16_tflops": mark("Dense rate, 16 bit"),
    "fp8_tflops": mark("Dense rate, FP8"),
    "int8_tflops": mark("Dense rate, INT8"),
    "fp4_tflops": mark("Dense rate, FP4"),
    "tdp_watts": mark("Power limit"),
    "interconnect": mark("Connection between GPUs"),
    "interconnect_gbs": mark("Bandwidth between GPUs"),
    "max_per_node": mark("Most in one machine"),
    "compute_capability": mark("CUDA compute capability"),
}
GPU_KINDS: Mapping[str, str] = {
    "consumer": mark("graphics card for consumers"),
    "workstation": mark("graphics card for workstations"),
    "datacenter": mark("accelerator for data centers"),
    "unified": mark("machine with unified memory"),
}
