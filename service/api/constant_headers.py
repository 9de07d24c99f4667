"""Headers that answers carry whoever made them: CORS, and what browsers must not do with them."""

from service.cache import CachedAnswer

Pairs = tuple[tuple[str, str], ...]

# Reading is open to every site; nothing here depends on cookies.
CORS: Pairs = (
    ("Access-Control-Allow-Origin", "*"),
    (
        "Access-Control-Expose-Headers",
        "ETag, Content-Language, X-Request-ID, Retry-After, RateLimit, RateLimit-Policy",
    ),
)
PREFLIGHT: Pairs = (
    ("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"),
    (
        "Access-Control-Allow-Headers",
        "Accept, Accept-Language, Authorization, Content-Type, If-None-Match, X-Request-ID, traceparent",
    ),
    ("Access-Control-Max-Age", "86400"),
)
_NO_SNIFFING = ("X-Content-Type-Options", "nosniff")
_EMBEDDABLE = ("Cross-Origin-Resource-Policy", "cross-origin")
# What a page can load as a script, style or image; data and fragments are fetched, by CORS.
_LOADED = ("text/css", "text/javascript", "image/")


def security(media_type: str) -> Pairs:
    """What browsers must know of an answer of that type, parameters such as a charset included."""
    if media_type.startswith(_LOADED):
        return _NO_SNIFFING, _EMBEDDABLE
    return (_NO_SNIFFING,)


def transport(hsts_seconds: int) -> Pairs:
    """What browsers must know of the connection, whatever they asked for; 0 says nothing."""
    return (("Strict-Transport-Security", f"max-age={hsts_seconds}"),) if hsts_seconds else ()


def of_reading(answer: CachedAnswer, always: Pairs = ()) -> tuple[Pairs, Pairs]:
    """Of a GET's 200: what goes with its content, and what a 304 repeats, for scripts that ask themselves.

    always: headers of every answer, see `transport`.
    """
    return security(answer.header("Content-Type")), (*CORS, *always)
