"""A client over keep-alive connections that costs little: raw requests, answers read to the last byte."""

import socket
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

CONNECTIONS = 8
_CHUNK = 2**18


class Client:
    """Connections to one server, all busy: a request on each, then the answer of each."""

    def __init__(self, port: int, connections: int = CONNECTIONS) -> None:
        self._sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
        for connection in self._sockets:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(60)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._sockets:
            connection.close()

    def ask(self, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, dict[str, str], bytes]:
        """Status, headers by lower-case name, and body of one answer."""
        head, _, body = _whole(self._sockets[0], request(path, headers)).partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(": ") for line in lines)
        return int(first.split()[1]), {name.lower(): value for name, _, value in pairs}, body

    def run(self, requests: Sequence[bytes], status: int) -> float:
        """Ask all of them, as many at a time as there are connections: how long it took, in seconds.

        Raises RuntimeError for another status.
        """
        began, expected, step = time.perf_counter(), b"HTTP/1.1 %d" % status, len(self._sockets)
        for start in range(0, len(requests), step):
            busy = list(zip(self._sockets, requests[start : start + step], strict=False))
            for connection, asked in busy:
                connection.sendall(asked)
            for connection, _ in busy:
                answer = _received(connection)
                if not answer.startswith(expected):
                    raise RuntimeError(f"not {status}: {answer[:200]!r}")
        return time.perf_counter() - began


def request(path: str, headers: Mapping[str, str] | None = None) -> bytes:
    """A GET as it goes over the wire."""
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _whole(connection: socket.socket, asked: bytes) -> bytes:
    connection.sendall(asked)
    return _received(connection)


def _received(connection: socket.socket) -> bytes:
    received = b""
    while (end := received.find(b"\r\n\r\n")) < 0:
        received += _some(connection)
    left = end + 4 + _length(received[:end].lower()) - len(received)
    parts = [received]
    while left > 0:
        parts.append(_some(connection))
        left -= len(parts[-1])
    return b"".join(parts)


def _length(head: bytes) -> int:
    if head.startswith(b"http/1.1 304"):
        return 0
    _, _, rest = head.partition(b"\r\ncontent-length:")
    return int(rest.partition(b"\r\n")[0])


def _some(connection: socket.socket) -> bytes:
    received = connection.recv(_CHUNK)
    if not received:
        raise RuntimeError("the server closed the connection")
    return received
