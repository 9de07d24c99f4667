"""The shared cache on a cluster whose nodes are reached over TLS.

The Valkey of the wheel is built without TLS, so a small proxy ends it before each node; the nodes announce
the proxies' ports, as a cluster behind such proxies does.
"""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from service.cache import CachedAnswer, Level, MemoryCache, RedisStore, Tiers, namespace
from tests.integration.test_redis_cluster import WAIT, Node, cluster_of
from tests.integration.test_redis_tls import OPENSSL, SOON, TlsProxy, authority, certificate

pytestmark = pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")
ANSWER = CachedAnswer(200, (("ETag", '"a"'),), b"body" * 500, '"a"')


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Node]]:
    started = [Node(tmp_path_factory.mktemp(f"node-{number}")) for number in range(3)]
    try:
        cluster_of(started)
        yield started
    finally:
        for node in started:
            node.kill()


@pytest.fixture(scope="module")
def proxies(
    nodes: list[Node], ca: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[TlsProxy]]:
    made = certificate(tmp_path_factory.mktemp("server"), ca, "subjectAltName=IP:127.0.0.1")
    running = [TlsProxy(made, node.port) for node in nodes]
    for node, proxy in zip(nodes, running, strict=True):
        with Redis.from_url(node.url) as client:
            client.config_set("cluster-announce-port", proxy.port)
    _wait_until_announced(nodes, {proxy.port for proxy in running})
    yield running
    for proxy in running:
        proxy.close()


def _wait_until_announced(nodes: list[Node], ports: set[int]) -> None:
    """Every node has heard from the others by which ports they want to be reached."""
    for node in nodes:
        with Redis.from_url(node.url) as client:
            for _ in range(WAIT):
                said = client.execute_command("CLUSTER", "NODES").decode()  # in two words it is not parsed
                if ports == {int(port) for port in re.findall(r" 127\.0\.0\.1:(\d+)@", said)}:
                    break
                time.sleep(0.1)
            else:
                pytest.fail(said)


def tiers(url: str, digest: str, ca_file: Path | None, seconds: float = 2.0) -> Tiers:
    store = RedisStore(url, timeout_seconds=seconds, ca_file=str(ca_file) if ca_file else None)
    return Tiers(namespace(digest, "1.0"), MemoryCache(), store)


def test_a_cluster_shares_answers_over_tls(
    nodes: list[Node], proxies: list[TlsProxy], ca: tuple[Path, Path], digest: str
) -> None:
    """One node is named; answers of all slots travel encrypted to and from every node."""
    url = f"rediss+cluster://127.0.0.1:{proxies[0].port}"
    first, second = tiers(url, digest, ca[0]), tiers(url, digest, ca[0])
    assert first.shared.is_up()
    for number in range(40):
        assert first.get_or_compute(f"key-{number}", lambda: ANSWER)[1] is Level.COMPUTED
        assert second.get_or_compute(f"key-{number}", pytest.fail) == (ANSWER, Level.REDIS)
    for node, proxy in zip(nodes, proxies, strict=True):
        assert proxy.handshakes > 0
        with Redis.from_url(node.url) as client:
            assert client.keys(f"sizing:{digest}:*"), "every node has a part"


def test_a_cluster_of_an_unknown_authority_is_not_trusted(proxies: list[TlsProxy], digest: str) -> None:
    """Without the authority's file no node is believed; every question is a miss."""
    levels = tiers(f"rediss+cluster://127.0.0.1:{proxies[1].port}", digest, None)
    assert levels.get_or_compute("key", lambda: ANSWER) == (ANSWER, Level.COMPUTED)
    assert levels.shared.is_up() is False


def test_a_cluster_without_tls_is_a_miss(nodes: list[Node], ca: tuple[Path, Path], digest: str) -> None:
    """`rediss+cluster` never falls back to plain text."""
    levels = tiers(f"rediss+cluster://127.0.0.1:{nodes[0].port}", digest, ca[0], SOON)
    assert levels.get_or_compute("key", lambda: ANSWER) == (ANSWER, Level.COMPUTED)
    assert levels.shared.is_up() is False
