"""The shared cache on a cluster of three nodes, and behind Sentinel."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from service.cache import CachedAnswer, Level, MemoryCache, RedisStore, Standing, Tiers, namespace
from tests.integration.conftest import RedisServer, free_port

ANSWER = CachedAnswer(200, (("ETag", '"a"'),), b"body" * 500, '"a"')
SLOTS = 16_384
WAIT = 300  # times 0.1 s


class Node(RedisServer):
    """One node of a cluster; the port of its bus is a free one too."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.bus = free_port()
        super().__init__(folder, "--cluster-enabled", "yes", "--cluster-port", str(self.bus), *options)


def cluster_of(nodes: list[Node]) -> None:
    """Give each node a third of the slots, introduce them, and wait until all agree."""
    clients = [Redis.from_url(node.url) for node in nodes]
    share = SLOTS // len(nodes)
    for number, client in enumerate(clients):
        last = SLOTS - 1 if number == len(nodes) - 1 else (number + 1) * share - 1
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", number * share, last)
        client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
    for node in nodes[1:]:
        clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", node.port, node.bus)
    for client in clients:
        for _ in range(WAIT):
            said = client.execute_command("CLUSTER INFO")
            if (said["cluster_state"], said["cluster_known_nodes"]) == ("ok", str(len(nodes))):
                break
            time.sleep(0.1)
        else:
            pytest.fail(str(said))
        client.close()


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Node]]:
    started = []
    for number in range(3):
        folder = tmp_path_factory.mktemp(f"node-{number}")
        started.append(Node(folder))
    try:
        cluster_of(started)
        yield started
    finally:
        for node in started:
            node.kill()


def tiers(url: str, digest: str) -> Tiers:
    return Tiers(namespace(digest, "1.0"), MemoryCache(), RedisStore(url, timeout_seconds=2))


def test_a_cluster_shares_answers(nodes: list[Node], digest: str) -> None:
    """Answers of all slots are kept, found by another process, and their leases end: no CROSSSLOT."""
    url = "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    keys = [f"key-{number}" for number in range(60)]
    first, second = tiers(url, digest), tiers(url, digest)
    assert first.shared.is_up()
    for key in keys:
        assert first.get_or_compute(key, lambda: ANSWER)[1] is Level.COMPUTED
        assert second.get_or_compute(key, pytest.fail) == (ANSWER, Level.REDIS)
    kept = []
    for node in nodes:
        with Redis.from_url(node.url) as client:
            kept.append(client.keys(f"sizing:{digest}:*"))
    assert all(kept), "every node has a part"
    assert sorted(key for keys_of in kept for key in keys_of) == sorted(
        first.full(key).encode() for key in keys
    )


def test_one_node_is_enough_to_find_the_others(nodes: list[Node], digest: str) -> None:
    """The address may name a single node; the key and its lease are asked where they are."""
    levels = tiers(f"redis+cluster://127.0.0.1:{nodes[1].port}", digest)
    for number in range(20):
        full = levels.full(str(number))
        claim = levels.shared.claim(full)
        assert claim.standing is Standing.WON
        assert levels.shared.claim(full).standing is Standing.HELD
        levels.shared.publish(full, ANSWER, claim.token)
        assert levels.shared.claim(full).standing is Standing.WON
        assert levels.shared.get(full) == ANSWER


def test_a_cluster_that_is_not_there_is_a_miss(digest: str) -> None:
    """Neither an address without a server nor one without a cluster is an error."""
    levels = tiers("redis+cluster://127.0.0.1:1", digest)
    assert levels.get_or_compute("key", lambda: ANSWER) == (ANSWER, Level.COMPUTED)
    assert levels.shared.is_up() is False


def test_a_lost_node_costs_its_share(tmp_path: Path, digest: str) -> None:
    """While a node is down its keys are misses, never errors."""
    nodes = []
    for number in range(3):
        (tmp_path / str(number)).mkdir()
        nodes.append(Node(tmp_path / str(number), "--cluster-require-full-coverage", "no"))
    try:
        cluster_of(nodes)
        levels = tiers(f"redis+cluster://127.0.0.1:{nodes[0].port}", digest)
        for number in range(10):
            levels.get_or_compute(str(number), lambda: ANSWER)
        nodes[2].kill()
        for number in range(30):
            assert levels.get_or_compute(f"later-{number}", lambda: ANSWER)[0] == ANSWER
    finally:
        for node in nodes:
            node.kill()


def test_sentinel_names_the_master(redis_server: RedisServer, tmp_path: Path, digest: str) -> None:
    """`redis+sentinel://host:port/name` finds the master that Sentinel watches."""
    configuration = tmp_path / "sentinel.conf"
    configuration.write_text(f"sentinel monitor main 127.0.0.1 {redis_server.port} 1\n")
    sentinel = RedisServer(tmp_path, sentinel=configuration)
    try:
        url = f"redis+sentinel://127.0.0.1:{sentinel.port}/main/0"
        assert tiers(url, digest).get_or_compute("key", lambda: ANSWER) == (ANSWER, Level.COMPUTED)
        assert tiers(redis_server.url, digest).get_or_compute("key", pytest.fail) == (ANSWER, Level.REDIS)
        assert tiers(url, digest).get_or_compute("key", pytest.fail) == (ANSWER, Level.REDIS)
        other = tiers(f"redis+sentinel://127.0.0.1:{sentinel.port}/other", digest)
        assert other.get_or_compute("key", lambda: ANSWER)[1] is Level.COMPUTED
    finally:
        sentinel.kill()
