"""Starts the demo's server: in a thread beside the caller, or until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from llmdebug.demo import model

if TYPE_CHECKING:
    import uvicorn

SOURCE = Path(__file__).parent / "nanoserve"
"""The server's source tree: it holds the server and nothing else."""

REQUESTS = Path(__file__).parent / "requests.http"
"""Requests to try on the server; they need a variable `base_url`."""

START_SECONDS = 30.0
STOP_SECONDS = 10.0


class DemoServer:
    """A context manager: inside it the server answers at `base_url`.

    Entering and leaving block, up to a second or two: an event loop does both in a thread.

    `flags` are fields of `nanoserve.settings.Settings`, such as `api_key` or `token_interval`. Entering
    raises OSError where the port is taken, TypeError for a flag that the server has not, KeyError for a
    tool call parser that it has not.
    """

    source = SOURCE

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0, **flags: Any) -> None:
        self._host = host
        self._port = port
        self._flags = flags
        self._settled = threading.Event()
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._socket: socket.socket | None = None
        self.base_url = ""

    def bind(self) -> socket.socket:
        """Takes the port, so that `base_url` is known; whoever connects waits until the server is entered."""
        if self._socket is None:
            self._socket = _bind(self._host, self._port)
            self.base_url = _base_url(self._socket)
        return self._socket

    def __enter__(self) -> DemoServer:
        self._settled.clear()
        self._server = _build_server(self._flags, self._settled.set)
        listening = self.bind()
        self._thread = threading.Thread(
            target=self._run, args=(self._server, listening), name="llmdebug-demo", daemon=True
        )
        self._thread.start()
        if not self._settled.wait(START_SECONDS) or not self._server.started:
            self._stop()
            raise OSError(f"The demo server did not start at {self.base_url}.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._server is not None:
            self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _run(self, server: uvicorn.Server, listening: socket.socket) -> None:
        try:
            asyncio.run(server.serve(sockets=[listening]))
        finally:
            self._settled.set()


def serve(
    host: str = "127.0.0.1",
    port: int = 0,
    api_key: str | None = None,
    *,
    on_ready: Callable[[str, Path], None],
    **flags: Any,
) -> None:
    """Serves until SIGINT or SIGTERM, then returns; main thread only.

    `on_ready` gets the base URL and the source folder once requests are answered. Raises OSError where
    the port is taken, TypeError for a flag that the server has not.
    """
    with _bind(host, port) as listening:
        base_url = _base_url(listening)
        server = _build_server({"api_key": api_key, **flags}, lambda: on_ready(base_url, SOURCE))

        async def run() -> None:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, setattr, server, "should_exit", True)
            await server.serve(sockets=[listening])

        asyncio.run(run())


def _build_server(flags: dict[str, Any], on_started: Callable[[], object]) -> uvicorn.Server:
    """A server that leaves signals and logging to its caller."""
    import uvicorn

    from llmdebug.demo.nanoserve.app import create_app
    from llmdebug.demo.nanoserve.settings import Settings

    class QuietServer(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                on_started()

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    config = uvicorn.Config(
        create_app(model.FOLDER, Settings(**flags)),
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        timeout_graceful_shutdown=1,
    )
    return QuietServer(config)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening


def _base_url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
