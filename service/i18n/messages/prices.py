"""Names of how hardware is billed, committed to and priced."""

from collections.abc import Mapping

from service.i18n.marking import mark

BILLING: Mapping[str, str] = {
    "per-second": mark("billed per second"),
    "per-minute": mark("billed per minute"),
    "hourly": mark("billed hourly"),
    "given": mark("given"),
}
COMMITMENTS: Mapping[str, str] = {
    "on-demand": mark("on demand"),
    "community": mark("community cloud"),
    "secure": mark("secure cloud"),
    "spot": mark("spot"),
    "reserved": mark("reserved"),
    "dedicated": mark("dedicated"),
    "given": mark("given"),
}
PRICE_KINDS: Mapping[str, str] = {
    "list": mark("List price"),
    "street": mark("Street price"),
    "budget": mark("Hardware budget"),
    "given": mark("given"),
}
NEVER = mark("never")
