"""Purchase prices as a plan compares them: the lowest of the current ones, old ones only for show."""

import re
from functools import lru_cache

from service.core.cost.buy import Purchase, purchases
from service.core.hardware import Gpu
from service.core.planning.question import Facts

_MOST_MONTHS = 6
_MONTH = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2])(?!\d))?")


def cheapest_purchase(gpu: Gpu, gpu_count: int, facts: Facts, *, used: bool | None = None) -> Purchase | None:
    """The lowest known price of the accelerators, a current one if there is any; used or new where asked."""
    known = purchases(gpu, gpu_count, facts.costs.prices.get(gpu.id, ()), None)
    wanted = [bought for bought in known if used is None or bought.used is used]
    day = facts.costs.as_of
    return min(wanted, key=lambda bought: (is_old(bought, day), bought.low), default=None)


def is_old(purchase: Purchase, day: str) -> bool:
    """Whether a dated price was seen more than half a year before a day; a list price has no date.

    A price of a year counts from its last month.
    """
    seen = _months(purchase.as_of, last=True)
    now = _months(day, last=False)
    return seen is not None and now is not None and now - seen > _MOST_MONTHS


@lru_cache(1024)  # every option asks for the same few days
def _months(text: str | None, *, last: bool) -> int | None:
    found = _MONTH.match(text or "")
    if found is None:
        return None
    return 12 * int(found[1]) + int(found[2] or (12 if last else 1))
