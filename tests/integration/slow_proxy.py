"""A way to a server of the loopback that a test can make slow or narrow while it is used."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CHUNK = 65_536


class SlowProxy:
    """Passes connections on to a port; what the server says is passed on late, or a few bytes at a time.

    delay: seconds that each piece of an answer waits. narrow: bytes of an answer that go on at once, each
    portion after `delay`; None for all that there is. questions: pieces that clients have sent so far.
    """

    def __init__(self, port: int) -> None:
        self.delay = 0.0
        self.narrow: int | None = None
        self.questions = 0
        self._target = ("127.0.0.1", port)
        self._ended = threading.Event()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def close(self) -> None:
        """Break every connection and take no more."""
        self._ended.set()
        with self._ending(self._listener, *self._open):
            pass
        self._accepting.join(5)
        self._listener.close()

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target, 5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            self._open |= {client, server}
            threading.Thread(target=self._serve, args=(client, server), daemon=True).start()

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        answering = threading.Thread(target=self._answer, args=(server, client), daemon=True)
        answering.start()
        with client, server:
            with self._ending(client, server):
                while data := client.recv(_CHUNK):
                    self.questions += 1
                    server.sendall(data)
            answering.join()

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with self._ending(client, server):
            while data := server.recv(_CHUNK):
                size = self.narrow or len(data)
                for start in range(0, len(data), size):
                    if self.delay:
                        self._ended.wait(self.delay)
                    client.sendall(data[start : start + size])

    @contextmanager
    def _ending(self, *sockets: socket.socket) -> Iterator[None]:
        with suppress(OSError):
            yield
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            self._open.discard(one)


@contextmanager
def slow_way(port: int) -> Iterator[SlowProxy]:
    """A proxy to a port, closed at the end."""
    proxy = SlowProxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
