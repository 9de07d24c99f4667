"""A socket on which the whole answer must come in time: its own timeout begins anew with each piece."""

from socket import socket
from time import monotonic
from typing import Any


class BoundedSocket:
    """A connected socket that gives up `seconds` after the last question, however much came since."""

    def __init__(self, connected: socket, seconds: float) -> None:
        self._socket = connected
        self._seconds = seconds
        self._end = monotonic() + seconds

    def sendall(self, data: bytes) -> None:
        """Send a question. Raises TimeoutError."""
        self._socket.settimeout(self._seconds)
        self._end = monotonic() + self._seconds
        self._socket.sendall(data)

    def recv_into(self, buffer: Any, *arguments: int) -> int:
        """A piece of the answer. Raises TimeoutError."""
        self._wait_no_longer()
        return self._socket.recv_into(buffer, *arguments)

    def recv(self, size: int, *flags: int) -> bytes:
        """A piece of the answer. Raises TimeoutError."""
        self._wait_no_longer()
        return self._socket.recv(size, *flags)

    def _wait_no_longer(self) -> None:
        left = self._end - monotonic()
        if left <= 0:
            raise TimeoutError("the answer is not complete")
        self._socket.settimeout(left)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


def bound(connection: Any) -> None:
    """Greet the server through a bounded socket: what the client does with each new connection."""
    if not isinstance(connection._sock, BoundedSocket):  # the client has no other place for it
        connection._sock = BoundedSocket(connection._sock, connection.socket_timeout)
    connection.on_connect()
