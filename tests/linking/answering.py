"""A server on loopback that answers GET requests as a test wants."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Handle = Callable[[BaseHTTPRequestHandler], None]


class AnsweringServer:
    """`answers` gives for each path JSON, text, or a function that writes the answer itself; other paths are 404."""

    def __init__(self, answers: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        self.answers = answers
        self.headers = headers or {}
        self.asked: list[tuple[str, str]] = []
        """Method and path of each request."""
        self.ended = threading.Event()

    def __enter__(self) -> Self:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server.asked.append((self.command, self.path))
                server._answer(self)

            do_POST = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        if length := int(handler.headers.get("Content-Length") or 0):
            handler.rfile.read(length)
        answer = self.answers.get(handler.path)
        if callable(answer):
            try:
                answer(handler)
            except OSError:
                handler.close_connection = True
            return
        body = answer if isinstance(answer, str) else json.dumps(answer)
        handler.send_response(404 if answer is None else 200)
        for name, value in self.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body.encode())))
        handler.end_headers()
        handler.wfile.write(body.encode())


def endless(handler: BaseHTTPRequestHandler) -> None:
    """2 GB, as long as somebody reads them."""
    handler.send_response(200)
    handler.send_header("Content-Length", "2000000000")
    handler.end_headers()
    for _ in range(20_000):
        handler.wfile.write(b"x" * 100_000)


def redirect(target: str) -> Handle:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(307)
        handler.send_header("Location", target)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer
