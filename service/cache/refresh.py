"""Stale-while-revalidate: a stale answer is served at once, and computed again in the background."""

from collections.abc import Callable
from threading import Lock, Thread

import structlog

from service.cache.answers import CachedAnswer
from service.cache.lease import SharedStore, Standing

_LOG = structlog.get_logger("service.cache")
_MOST_THREADS = 2


class Refresher:
    """Computes in few threads; what does not find a free one is asked for again by the next reader."""

    def __init__(self, store: SharedStore, keep: Callable[[str, CachedAnswer], None]) -> None:
        """Refresh answers of `store`; keep: takes a new answer into this process."""
        self._store = store
        self._keep = keep
        self._running: set[str] = set()
        self._lock = Lock()

    def refresh(self, key: str, compute: Callable[[], CachedAnswer]) -> None:
        """Compute an answer again, unless this process or another host already does."""
        with self._lock:
            if key in self._running or len(self._running) >= _MOST_THREADS:
                return
            self._running.add(key)
        Thread(target=self._work, args=(key, compute), daemon=True).start()

    def _work(self, key: str, compute: Callable[[], CachedAnswer]) -> None:
        try:
            claim = self._store.claim(key)
            if claim.standing is Standing.WON:
                self._compute(key, compute, claim.token)
        except Exception:  # nobody waits for this thread; the stale answer was served
            _LOG.warning("an answer could not be refreshed", exc_info=True)
        finally:
            with self._lock:
                self._running.discard(key)

    def _compute(self, key: str, compute: Callable[[], CachedAnswer], token: str) -> None:
        try:
            answer = compute()
        except BaseException:
            self._store.give_up(key, token)
            raise
        if not answer.storable:
            self._store.give_up(key, token)
            return
        self._store.publish(key, answer, token)
        self._keep(key, answer)
