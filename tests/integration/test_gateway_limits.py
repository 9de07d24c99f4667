"""Rate limits behind the gateway: each caller is told its own, and no kept answer tells another's."""

import pytest

from tests.integration.test_gateway import NGINX, Gateway
from tests.integration.test_gunicorn import Server

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
QUESTION = "/v1/sizing?model=qwen3-8b&gpu=rtx-4090&context_tokens=5555"


def test_what_is_left_is_told_with_what_was_computed_only(tmp_path):
    """A computed answer, a problem and a body have the headers; what the gateway kept has none."""
    settings = {"WEB_CONCURRENCY": "1", "WARM_UP_SECONDS": "0", "TRUSTED_PROXIES": "1"}
    server = Server(tmp_path, RATE_LIMIT_MISSES="100/minute", **settings)
    gateway = Gateway(tmp_path, server.port, server.port)
    try:
        first, second = gateway.get(QUESTION), gateway.get(QUESTION)
        assert (first[1]["x-gateway-cache"], second[1]["x-gateway-cache"]) == ("MISS", "HIT")
        assert first[1]["ratelimit-policy"] == '"misses";q=100;w=60'
        assert first[1]["ratelimit"].startswith('"misses";r=99;')
        assert not {"ratelimit", "ratelimit-policy"} & set(second[1])
        assert '"misses";r=98;' in gateway.get("/v1/models/none")[1]["ratelimit"]
        posted = gateway.send("POST", "/v1/sizing", b"{}", Content_Type="application/json")
        assert '"misses";r=96;' in posted[1]["ratelimit"]
    finally:
        gateway.stop()
        server.stop()
