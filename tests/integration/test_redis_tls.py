"""TLS to the shared cache, with an authority that the test makes itself.

The Valkey of the wheel is built without TLS, so TLS ends in a small proxy before it; the client's part, which
is what is tested, is the same.
"""

import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from service.cache import CachedAnswer, Level, MemoryCache, RedisStore, Tiers, namespace
from tests.integration.conftest import RedisServer

OPENSSL = shutil.which("openssl")
pytestmark = pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")
_HANDSHAKE = b"\x16"  # the first byte of TLS
SOON = 0.3  # seconds, where nothing can come
ANSWER = CachedAnswer(200, (("ETag", '"a"'),), b"body" * 500, '"a"')


def authority(folder: Path) -> tuple[Path, Path]:
    """Certificate and key of a new authority."""
    made = folder / "ca.pem", folder / "ca.key"
    command = [OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=Test authority", "-out", made[0], "-keyout", made[1]]
    subprocess.run(command, check=True, capture_output=True)
    return made


def certificate(folder: Path, ca: tuple[Path, Path], name: str) -> tuple[Path, Path]:
    """Certificate and key of a server of that name, signed by the authority."""
    made = folder / "server.pem", folder / "server.key"
    command = [OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=server", "-CA", ca[0], "-CAkey", ca[1], "-addext", name]
    command += ["-addext", "basicConstraints=critical,CA:FALSE", "-out", made[0], "-keyout", made[1]]
    subprocess.run(command, check=True, capture_output=True)
    return made


class TlsProxy:
    """Ends TLS before a server that speaks plain; also_plain: who speaks plain is passed on as it is."""

    def __init__(self, certificate: tuple[Path, Path], port: int, *, also_plain: bool = False) -> None:
        self.also_plain = also_plain
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(*certificate)
        self._behind = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.handshakes = 0
        self._taken: list[socket.socket] = []
        self._threads = [Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                raw, _ = self._listener.accept()
            except OSError:
                return
            self._taken.append(raw.dup())
            thread = Thread(target=self._serve, args=(raw,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, raw: socket.socket) -> None:
        if self.also_plain and raw.recv(1, socket.MSG_PEEK) != _HANDSHAKE:
            with raw, socket.create_connection(("127.0.0.1", self._behind)) as behind:
                Thread(target=self._copy, args=(behind, raw), daemon=True).start()
                self._copy(raw, behind)
            return
        with raw, socket.create_connection(("127.0.0.1", self._behind)) as behind:
            try:
                with self._context.wrap_socket(raw, server_side=True) as secure:
                    self.handshakes += 1
                    back = Thread(target=self._copy, args=(behind, secure), daemon=True)
                    back.start()
                    self._copy(secure, behind)
                    back.join(5)
            except OSError:
                return  # a client that refuses the certificate goes away

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65_536):
                target.sendall(data)
        except OSError:
            return
        finally:
            with suppress(OSError):  # the other side too may have gone
                socket.socket.shutdown(target, socket.SHUT_WR)

    def close(self) -> None:
        """Accept nobody any more, and leave those who were accepted."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join(5)
        for taken in self._taken:
            with suppress(OSError):  # its client has gone
                taken.shutdown(socket.SHUT_RDWR)
            taken.close()
        for thread in self._threads:
            thread.join(5)


@pytest.fixture
def ca(tmp_path: Path) -> tuple[Path, Path]:
    return authority(tmp_path)


@pytest.fixture
def proxy(ca: tuple[Path, Path], redis_server: RedisServer, tmp_path: Path) -> Iterator[TlsProxy]:
    running = TlsProxy(certificate(tmp_path, ca, "subjectAltName=IP:127.0.0.1"), redis_server.port)
    yield running
    running.close()


def tiers(port: int, digest: str, ca_file: Path | None, seconds: float = 2.0) -> Tiers:
    return at(f"rediss://127.0.0.1:{port}/0", digest, ca_file, seconds)


def at(url: str, digest: str, ca_file: Path | None, seconds: float = 2.0) -> Tiers:
    store = RedisStore(url, timeout_seconds=seconds, ca_file=str(ca_file) if ca_file else None)
    return Tiers(namespace(digest, "1.0"), MemoryCache(), store)


def test_answers_travel_encrypted(proxy: TlsProxy, ca: tuple[Path, Path], digest: str) -> None:
    """With the authority's file answers are kept and found through TLS."""
    first, second = tiers(proxy.port, digest, ca[0]), tiers(proxy.port, digest, ca[0])
    assert first.get_or_compute("key", lambda: ANSWER) == (ANSWER, Level.COMPUTED)
    assert second.get_or_compute("key", pytest.fail) == (ANSWER, Level.REDIS)
    assert proxy.handshakes >= 2
    for levels in (first, second):
        levels.shared.close()


def test_a_server_of_an_unknown_authority_is_not_trusted(proxy: TlsProxy, digest: str) -> None:
    """Without the authority's file the certificate counts for nothing; that is a miss."""
    levels = tiers(proxy.port, digest, None)
    assert levels.get_or_compute("key", lambda: ANSWER) == (ANSWER, Level.COMPUTED)
    assert levels.shared.is_up() is False


def test_a_certificate_for_another_name_is_not_trusted(
    ca: tuple[Path, Path], redis_server: RedisServer, tmp_path: Path, digest: str
) -> None:
    """The name in the certificate must be the one in the address."""
    other = TlsProxy(certificate(tmp_path, ca, "subjectAltName=DNS:elsewhere.example"), redis_server.port)
    try:
        assert tiers(other.port, digest, ca[0]).shared.is_up() is False
    finally:
        other.close()


def test_a_server_without_tls_is_a_miss(
    ca: tuple[Path, Path], redis_server: RedisServer, digest: str
) -> None:
    """`rediss` never falls back to plain text."""
    levels = tiers(redis_server.port, digest, ca[0], SOON)  # waits for a handshake that never comes
    assert levels.get_or_compute("key", lambda: ANSWER) == (ANSWER, Level.COMPUTED)
    assert levels.shared.is_up() is False


def test_sentinel_and_its_master_are_asked_over_tls(
    ca: tuple[Path, Path], redis_server: RedisServer, tmp_path: Path, digest: str
) -> None:
    """`rediss+sentinel` checks who names the master as it checks the master itself."""
    made = certificate(tmp_path, ca, "subjectAltName=IP:127.0.0.1")
    master = TlsProxy(made, redis_server.port, also_plain=True)  # as Sentinel speaks here
    configuration = tmp_path / "sentinel.conf"
    configuration.write_text(f"sentinel monitor main 127.0.0.1 {master.port} 1\n")
    sentinel = RedisServer(tmp_path, sentinel=configuration)
    names = TlsProxy(made, sentinel.port)
    try:
        url = f"rediss+sentinel://127.0.0.1:{names.port}/main/0"
        assert at(url, digest, ca[0]).get_or_compute("key", lambda: ANSWER) == (ANSWER, Level.COMPUTED)
        assert at(url, digest, ca[0]).get_or_compute("key", pytest.fail) == (ANSWER, Level.REDIS)
        assert names.handshakes > 0
        assert master.handshakes > 0
        assert at(url, digest, None).shared.is_up() is False, "an unknown authority"
        plain = f"rediss+sentinel://127.0.0.1:{sentinel.port}/main/0"
        assert at(plain, digest, ca[0], SOON).shared.is_up() is False, "a Sentinel without TLS"
    finally:
        sentinel.kill()
        names.close()
        master.close()
