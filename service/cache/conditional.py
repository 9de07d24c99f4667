"""If-None-Match, RFC 9110 section 13.1.2."""

import re

_TAGS = re.compile(r'(?:W/)?("[^"]*")')


def matches(if_none_match: str, etag: str) -> bool:
    """Whether the header's value names `etag` (quotes included) or is `*`.

    The comparison is the weak one that the RFC demands here: a proxy that compresses makes `W/"x"` of `"x"`.
    """
    if not if_none_match or not etag:
        return False
    if if_none_match.strip() == "*":
        return True
    return etag.removeprefix("W/") in _TAGS.findall(if_none_match)
