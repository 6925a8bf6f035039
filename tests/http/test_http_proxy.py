from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import trustme
from raw_server import RawServer, hang_up

from llmdebug.http.client import Client, ClientOptions, ClientOptionsError
from llmdebug.http.exchange import Exchange, Request
from llmdebug.http.options import proxy_for

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Proxy:
    """Forwards plain requests and opens tunnels, on loopback."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def place(self) -> str:
        assert self._server is not None
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(asyncio.create_task(self._converse(reader, writer)))

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        method, target, _ = head.split(b" ", 2)
        place = target.removeprefix(b"http://").partition(b"/")[0].decode()
        if place.endswith(":1"):
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            await hang_up(writer)
            return
        host, _, port = place.partition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        try:
            if method == b"CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                far_writer.write(head)
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        finally:
            await hang_up(far_writer)
            await hang_up(writer)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    async with RawServer() as raw:
        yield raw


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    async with Proxy() as started:
        yield started


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    yield


async def get(url: str, options: ClientOptions) -> Exchange:
    async with Client(options) as client:
        return await client.send(Request(method="GET", url=url))


async def test_a_plain_request_is_forwarded_with_its_exact_target(server: RawServer, proxy: Proxy) -> None:
    place = await server.start(OK)
    exchange = await get(f"http://{place}/a/../b?x=%2f", ClientOptions(proxy=f"http://{proxy.place}"))
    assert exchange.response is not None
    assert proxy.heads[0].startswith(f"GET http://{place}/a/../b?x=%2f HTTP/1.1\r\n".encode())


async def test_tls_goes_through_a_tunnel(server: RawServer, proxy: Proxy, tmp_path: Path) -> None:
    authority = trustme.CA()
    ca_file = str(tmp_path / "ca.pem")
    authority.cert_pem.write_to_path(ca_file)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    place = await server.start(OK, context)
    options = ClientOptions(proxy=f"http://me:pass@{proxy.place}", ca_file=ca_file)
    exchange = await get(f"https://{place}/x/./y", options)
    assert exchange.response is not None and exchange.response.status == 200
    assert proxy.heads[0].startswith(f"CONNECT {place} HTTP/1.1\r\n".encode())
    assert b"Proxy-Authorization: Basic bWU6cGFzcw==" in proxy.heads[0]
    assert server.requests[0].startswith(b"GET /x/./y HTTP/1.1\r\n")
    assert b"Proxy-Authorization" not in server.requests[0]


async def test_the_environment_names_the_proxy(
    server: RawServer, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = await server.start(OK)
    monkeypatch.setenv("HTTP_PROXY", proxy.place)
    monkeypatch.setenv("http_proxy", proxy.place)
    await get(f"http://{place}/", ClientOptions())
    assert len(proxy.heads) == 1
    await get(f"http://{place}/", ClientOptions(trust_env=False))
    assert len(proxy.heads) == 1
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    await get(f"http://{place}/", ClientOptions())
    assert len(proxy.heads) == 1
    assert len(server.requests) == 3


async def test_a_refused_tunnel(proxy: Proxy) -> None:
    exchange = await get("https://127.0.0.1:1/", ClientOptions(proxy=f"http://me:s3cret@{proxy.place}"))
    assert exchange.failure is not None and exchange.failure.kind == "proxy"
    assert proxy.place in exchange.failure.message and "403" in exchange.failure.message
    assert "s3cret" not in exchange.failure.message


async def test_a_proxy_that_is_not_there() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{bound.getsockname()[1]}"
        exchange = await get("http://example.invalid/", ClientOptions(proxy=f"http://me:s3cret@{place}"))
    assert exchange.failure is not None and exchange.failure.kind == "proxy"
    assert place in exchange.failure.message
    assert "s3cret" not in exchange.failure.message


@pytest.mark.parametrize("proxy_url", ["gopher://127.0.0.1:1", "http://[::1", "http://u:s3cret@:x"])
async def test_proxies_that_are_none(proxy_url: str) -> None:
    with pytest.raises(ClientOptionsError) as told:
        async with Client(ClientOptions(proxy=proxy_url)):
            pass
    assert "s3cret" not in str(told.value)


async def test_a_broken_proxy_of_the_environment_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "gopher://127.0.0.1:1")
    exchange = await get("http://127.0.0.1:9/", ClientOptions())
    assert exchange.failure is not None and exchange.failure.kind == "proxy"


def test_no_proxy_is_judged_by_host_and_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "http://p:1")
    monkeypatch.setenv("no_proxy", "inner.example:8000,.corp")
    options = ClientOptions()
    assert proxy_for(options, scheme="https", host="outer.example", port=443) == "http://p:1"
    assert proxy_for(options, scheme="https", host="inner.example", port=443) == "http://p:1"
    assert proxy_for(options, scheme="http", host="inner.example", port=8000) is None
    assert proxy_for(options, scheme="http", host="gw.corp", port=80) is None
