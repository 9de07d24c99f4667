"""Counts for rate limits: windows begin with their first count and end by themselves; memory is bounded."""

from service.cache.counting import LocalCounts, SharedCounts


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def test_a_window_begins_with_its_first_count_and_ends():
    """Counts add up until the window's end, whatever came last; then all begins anew."""
    clock = Clock()
    counts = LocalCounts(clock=clock)
    assert counts.add("a", 1, 60) == (1, 1060.0)
    clock.now = 1059.0
    assert counts.add("a", 5, 60) == (6, 1060.0)
    assert counts.add("b", 1, 60) == (1, 1119.0)
    clock.now = 1060.0
    assert counts.add("a", 1, 60) == (1, 1120.0)


def test_callers_without_end_take_bounded_memory():
    """What is over is forgotten first, then what ends first; who counts now is kept."""
    clock = Clock()
    counts = LocalCounts(most=100, clock=clock)
    for number in range(1000):
        clock.now += 1
        counts.add(f"key {number}", 1, 60)
        assert len(counts._counts) <= 100
    assert counts.add("key 999", 1, 60)[0] == 2


def test_a_storage_knows_what_its_thread_counted_last():
    """The library asks for the sum and end of what it has just counted; of anything else nothing is known."""
    storage = SharedCounts("sizing://")
    assert storage.incr("a", 60, 3) == 3
    assert storage.get("a") == 3
    assert storage.get_expiry("a") > 0
    assert storage.get("b") == 0
