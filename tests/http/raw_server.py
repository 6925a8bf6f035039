"""A server on loopback that answers, byte for byte, what a test says."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Self

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class RawServer:
    """Starts servers; keeps what each connection sent as its request. An async context manager."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.hung_up = asyncio.Event()
        """Set when a client has closed its connection while the server waited for that."""
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(
        self,
        answer: Answer | bytes,
        tls: ssl.SSLContext | None = None,
        *,
        host: str = "127.0.0.1",
        wait_for_request: bool = True,
    ) -> str:
        """Gives host and port. Bytes are sent as the answer, and the connection is closed."""

        async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                    if wait_for_request:
                        self.requests.append(await read_request(reader))
                    if isinstance(answer, bytes):
                        writer.write(answer)
                        await writer.drain()
                    else:
                        await answer(reader, writer)
            finally:
                await hang_up(writer)

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._tasks.add(asyncio.create_task(converse(reader, writer)))

        server = await asyncio.start_server(connected, host, 0, ssl=tls)
        self._servers.append(server)
        address, port = server.sockets[0].getsockname()[:2]
        return f"{address}:{port}"

    async def until_hung_up(self, reader: asyncio.StreamReader) -> None:
        with suppress(ConnectionError):
            while await reader.read(65536):
                pass
        self.hung_up.set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError, ssl.SSLError):
        await writer.wait_closed()


async def read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return head + await reader.readexactly(length)
