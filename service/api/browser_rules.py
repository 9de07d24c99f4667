"""What a browser may do with an HTML answer: load, run, frame; and which powers it has."""

from flask import current_app

# A fragment shown by itself: styled by us, framed by anyone, and without a form to send.
FRAGMENT = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors *"
)
# Pages load nothing but our own style sheets and images; who may frame them is a setting.
PAGE = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'"
# Pages with scripts: their own ones, which ask this service only.
# Text becomes markup in one place only (parsed.js), under a policy of Trusted Types with that name.
PAGE_WITH_SCRIPT = (
    f"{PAGE}; script-src 'self'; connect-src 'self'; "
    "require-trusted-types-for 'script'; trusted-types llm-sizing"
)
_NOBODY = "'none'"
_POWERS = (
    "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), "
    "microphone=(), midi=(), payment=(), usb=()"
)


def browser_rules(policy: str) -> list[tuple[str, str]]:
    """The headers of an HTML answer under one of the policies above."""
    if policy == FRAGMENT:
        return [("Content-Security-Policy", policy)]
    ancestors = current_app.config["FRAME_ANCESTORS"]
    rules = [
        ("Content-Security-Policy", f"{policy}; frame-ancestors {ancestors}"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Referrer-Policy", "no-referrer"),
        ("Permissions-Policy", _POWERS),
    ]
    # For what does not know frame-ancestors; the old header cannot name origins.
    return [*rules, ("X-Frame-Options", "DENY")] if ancestors == _NOBODY else rules
