"""The in-process cache: bounded by bytes, the least recently used go."""

from sys import getrefcount
from threading import Thread

from service.cache import CachedAnswer, MemoryCache
from service.cache.ready import ready


def answer(size: int = 100_000) -> CachedAnswer:
    return CachedAnswer(200, (), b"x" * size, '"e"')


def test_the_least_recently_used_goes_first() -> None:
    """Three answers of 100 KB do not fit 250 KB: the one not asked for goes."""
    cache = MemoryCache(250_000)
    cache.put("a", answer())
    cache.put("b", answer())
    assert cache.get("a") is not None
    cache.put("c", answer())
    assert cache.get("b") is None
    assert cache.get("a") is not None
    assert cache.get("c") is not None
    assert cache.statistics().evictions == 1


def test_the_bound_holds_whatever_is_put() -> None:
    """Replaced, evicted and refused answers all give their bytes back."""
    cache = MemoryCache(300_000)
    for number in range(200):
        cache.put(f"k{number % 7}", answer(1000 * (number % 90)))
        assert cache.statistics().bytes <= 300_000
    cache.clear()
    assert (cache.statistics().bytes, cache.statistics().entries) == (0, 0)


def test_many_tiny_answers_are_bounded_too() -> None:
    """An entry costs more than its body: 64 KiB hold fewer than 64 empty answers."""
    cache = MemoryCache(64 * 1024)
    for number in range(1000):
        cache.put(str(number), answer(0))
    assert 0 < cache.statistics().entries < 64


def test_the_bytes_of_what_goes_are_freed_for_those_who_hold_the_entry_too() -> None:
    """Who remembers which entry answered a request does not keep its body: the bound is one of memory."""
    cache = MemoryCache(250_000)
    body = b"".join((b"x" * 99_999, b"y"))
    before = getrefcount(body)
    cache.put("a", CachedAnswer(200, (), body, '"e"'))
    held = cache.prepare("a", ready)
    assert held is not None
    assert getrefcount(body) > before
    for key in "bcd":
        cache.put(key, answer())
    assert cache.peek("a") is None
    assert getrefcount(body) == before


def test_an_answer_larger_than_the_bound_is_not_kept_and_drops_nothing_else() -> None:
    """One giant answer does not empty the cache."""
    cache = MemoryCache(250_000)
    cache.put("small", answer(10))
    cache.put("giant", answer(300_000))
    assert cache.get("giant") is None
    assert cache.get("small") is not None


def test_a_bound_of_zero_keeps_nothing() -> None:
    """CACHE_MEMORY_BYTES=0 turns the cache off."""
    cache = MemoryCache(0)
    cache.put("a", answer(0))
    assert cache.get("a") is None


def test_hits_and_misses_are_counted_but_not_peeks() -> None:
    """The metrics tell what requests found."""
    cache = MemoryCache()
    cache.put("a", answer(1))
    cache.get("a")
    cache.get("b")
    cache.peek("a")
    cache.peek("b")
    assert (cache.statistics().hits, cache.statistics().misses) == (1, 1)


def test_threads_leave_the_books_in_order() -> None:
    """After concurrent puts the counted bytes are those of the entries that are left."""
    cache = MemoryCache(200_000)

    def work(start: int) -> None:
        for number in range(300):
            cache.put(f"{(start * number) % 50}", answer(number * 10))
            cache.get(f"{number % 50}")

    threads = [Thread(target=work, args=(n,)) for n in range(1, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 < cache.statistics().bytes <= 200_000
    for number in range(50):
        cache.put(str(number), answer(300_000))
    assert cache.statistics().bytes == 0
