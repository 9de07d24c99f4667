"""Headers of answers in the OpenAPI document."""

from service.api.openapi_schemas import Json


def _header(description: str) -> Json:
    return {"description": description, "schema": {"type": "string"}}


ANSWER_HEADERS: Json = {
    "ETag": _header("Strong validator of the body; send it as If-None-Match."),
    "Cache-Control": _header("How long the answer may be kept."),
    "Content-Language": _header("Language of the answer: de, en or zh-Hans."),
    "X-Request-ID": _header("The request's id, as sent or made up."),
}
LIMIT_HEADERS: Json = {
    "Retry-After": _header("Seconds until the limit begins anew."),
    "RateLimit": _header("What is left of the caller's limits (draft-ietf-httpapi-ratelimit-headers)."),
    "RateLimit-Policy": _header("The caller's limits: points and seconds."),
}
