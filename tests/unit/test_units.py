from service.core.evidence import Evidence, weakest
from service.core.units import GB, GIB, ceil_div, gib, pad


def test_a_gib_is_not_a_gb():
    """1,559.94e9 bytes print as 1,452.81 GiB, not as 1,559.94."""
    assert gib(1_559_940_000_000) == round(1_559_940_000_000 / 1_073_741_824, 2) == 1452.81
    assert GIB == 1_073_741_824
    assert GB == 1_000_000_000


def test_rounding_up():
    """Blocks and paddings round up, exact multiples stay."""
    assert [ceil_div(n, 16) for n in (1, 16, 17)] == [1, 1, 2]
    assert [pad(n, 256) for n in (1, 256, 257)] == [256, 256, 512]


def test_a_sum_is_as_certain_as_its_weakest_term():
    assert weakest(Evidence.RECIPE, Evidence.ESTIMATE, Evidence.CONFIG) is Evidence.ESTIMATE
