"""What a platform leaves of an accelerator's memory, and how well that is known."""

import pytest

from service.catalog import load_catalog
from service.core.engines.platforms import allowance, context_bytes
from service.core.evidence import Evidence
from service.core.hardware import Gpu, GpuKind, Platform
from service.core.request import Request
from service.core.resolve import resolve
from service.core.size import size
from service.core.sizing import Verdict
from tests.published import ROOT
from tests.unit.factories import make_gpu

MIB, GIB = 2**20, 2**30
LINUX, DESKTOP, WINDOWS, MACOS = (
    Platform.LINUX_SERVER,
    Platform.LINUX_DESKTOP,
    Platform.WINDOWS,
    Platform.MACOS,
)


def machine(vendor: str, memory_gib: int, fraction: float | None = None) -> Gpu:
    """A machine whose CPU and GPU share one memory."""
    return make_gpu(
        vendor=vendor,
        kind=GpuKind.UNIFIED,
        memory_bytes=memory_gib * GIB,
        unified_usable_fraction=fraction,
    )


@pytest.mark.parametrize(
    ("platform", "usable"),
    [
        (LINUX, 23 * GIB),
        (DESKTOP, 22 * GIB + GIB // 2),
        (WINDOWS, 24 * GIB - 24 * GIB // 10),
        (MACOS, 16 * GIB),
    ],
)
def test_a_card_leaves_what_the_platform_leaves(platform: Platform, usable: int) -> None:
    """24 GiB: 1 GiB of margin, a desktop's half beside it, a tenth on Windows, two thirds for Metal."""
    assert allowance(make_gpu(), platform).bytes == usable
    assert allowance(make_gpu(), platform, reserved_bytes=GIB).bytes == usable - GIB


def test_windows_keeps_at_least_a_gib() -> None:
    """A tenth of 8 GiB would be less than 1 GiB."""
    assert allowance(make_gpu(memory_bytes=8 * GIB), WINDOWS).bytes == 7 * GIB


@pytest.mark.parametrize(("memory", "usable"), [(18, 12), (36, 24), (48, 36), (64, 48), (128, 96)])
def test_metal_gives_two_thirds_and_from_above_36_gib_three_quarters(memory: int, usable: int) -> None:
    """The published pairs of Apple machines: 36 GB gives 24, 64 GB gives 48, 128 GB gives 96."""
    assert allowance(machine("Apple", memory), MACOS).bytes == usable * GIB


def test_the_catalogs_own_share_comes_first() -> None:
    """A machine with a share on record uses it."""
    assert allowance(machine("Apple", 32, 0.7), MACOS).bytes == int(32 * GIB * 0.7)


def test_strix_halo_has_the_share_that_users_map_and_says_what_it_takes() -> None:
    """128 GiB: 0.84 of it once ttm.pages_limit is raised, 64 GiB before."""
    found = allowance(machine("AMD", 128, 0.84), DESKTOP)
    assert found.bytes == int(128 * GIB * 0.84)
    [note] = found.notes
    assert note.code == "gtt_limit_raised"
    assert note.parameters == {"usable": int(128 * GIB * 0.84), "mapped_bytes": 64 * GIB}


def test_without_a_known_share_linux_maps_half() -> None:
    """The kernel's default for an AMD machine that no one measured."""
    assert allowance(machine("AMD", 128), DESKTOP).bytes == 64 * GIB


def test_strix_halo_on_windows_has_what_is_carved_out() -> None:
    """Up to 96 of 128 GB go to the graphics memory, by hand."""
    found = allowance(machine("AMD", 128, 0.84), WINDOWS)
    assert found.bytes == 96 * GIB
    assert [note.code for note in found.notes] == ["graphics_memory_set_by_hand"]


def test_dgx_spark_shows_119_gib_and_the_page_cache_competes() -> None:
    """The catalog's DGX Spark: 128 GB of which the system shows about 119 GiB."""
    spark = load_catalog(ROOT / "config").gpus["dgx-spark-gb10-128gb"]
    found = allowance(spark, LINUX)
    assert found.bytes is not None
    assert round(found.bytes / GIB) == 119
    assert [note.code for note in found.notes] == ["page_cache_competes"]


@pytest.mark.parametrize("vendor", ["AMD", "Apple", "NVIDIA"])
def test_every_unified_limit_is_an_estimate(vendor: str) -> None:
    """No vendor documents these limits as constants."""
    platform = MACOS if vendor == "Apple" else DESKTOP
    assert allowance(machine(vendor, 128, 0.75), platform).sourced.evidence is Evidence.ESTIMATE


def test_a_server_is_known_as_well_as_the_drivers_total() -> None:
    """The margin is the engine's own constant, so the total decides; Windows has only a heuristic."""
    gpu = make_gpu(memory_evidence=Evidence.CHECKPOINT)
    assert allowance(gpu, LINUX).sourced.evidence is Evidence.CHECKPOINT
    assert allowance(gpu, WINDOWS).sourced.evidence is Evidence.ESTIMATE


def test_memory_that_is_not_known_stays_unknown() -> None:
    """No figure without a total, and never a negative one."""
    assert allowance(make_gpu(memory_bytes=None), LINUX).bytes is None
    assert allowance(make_gpu(exists=False), LINUX).bytes is None
    assert allowance(make_gpu(), LINUX, reserved_bytes=99 * GIB).bytes == 0


def test_metal_takes_more_than_the_other_contexts() -> None:
    """Ollama sets 512 MiB aside for Metal and 457 MiB for every other backend."""
    assert context_bytes("metal") == 512 * MIB
    assert context_bytes("cuda") == context_bytes("vulkan") == 457 * MIB


def test_offload_makes_no_room_where_memory_is_shared() -> None:
    """70.55e9 weights of 8.5 bits are 69.8 GiB: two halves of it share the same 64 GiB."""
    catalog = load_catalog(ROOT / "config")
    asked = {"engine": "llama.cpp", "quantization": "q8_0", "cpu_offload_percent": 50.0}
    model, machine = catalog.models["llama-3.3-70b-instruct"], catalog.gpus["mac-mini-m4-pro-64gb"]
    shared = size(resolve(Request(model, machine, **asked)))
    assert shared.verdict is Verdict.DOES_NOT_FIT
    assert [reason.code for reason in shared.reasons] == ["host_memory_short"]
    card = catalog.gpus["l40s-48gb"]  # with system RAM of its own beside it
    assert size(resolve(Request(model, card, **asked))).verdict is Verdict.FITS
