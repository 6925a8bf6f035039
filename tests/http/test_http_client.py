from __future__ import annotations

import asyncio
import gzip
import socket
import struct
import zlib
from collections.abc import AsyncIterator, Callable

import pytest
from raw_server import Answer, RawServer

from llmdebug import __version__
from llmdebug.http.client import Client, ClientOptions
from llmdebug.http.exchange import Exchange, Request, StreamEvent

DIRECT = ClientOptions(trust_env=False)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def post(place: str, body: bytes = b"{}", path: str = "/v1/completions") -> Request:
    return Request(method="POST", url=f"http://{place}{path}", body=body)


async def send(request: Request, options: ClientOptions | None = None) -> Exchange:
    async with Client(options or DIRECT) as client:
        return await client.send(request)


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    async with RawServer() as raw:
        yield raw


async def test_the_bytes_on_the_wire_are_those_of_the_exchange(server: RawServer) -> None:
    place = await server.start(OK)
    body = b'{"a": 1, "a": 2,\n"b":1.0e0}\xff'
    request = Request(
        method="POST",
        url=f"http://{place}/a/../b//c;d?x={{%7b}}&x=%2F#part",
        headers=(("x-One", "1"), ("Accept", "text/plain"), ("X-ONE", "2"), ("x-u", "ü")),
        body=body,
    )
    exchange = await send(request)
    head = "".join(f"{name}: {value}\r\n" for name, value in exchange.request.headers)
    expected = f"POST /a/../b//c;d?x={{%7b}}&x=%2F HTTP/1.1\r\n{head}\r\n".encode() + body
    assert server.requests == [expected]
    assert exchange.request.headers == (
        ("Host", place),
        ("x-One", "1"),
        ("Accept", "text/plain"),
        ("X-ONE", "2"),
        ("x-u", "ü"),
        ("Content-Length", str(len(body))),
        ("User-Agent", f"llmdebug/{__version__}"),
        ("Accept-Encoding", "gzip, deflate"),
    )
    assert exchange.failure is None


async def test_a_stale_length_and_chunking_of_a_recording_are_corrected(server: RawServer) -> None:
    place = await server.start(OK)
    headers = (("content-length", "999"), ("Transfer-Encoding", "chunked"), ("Host", "other.example"))
    exchange = await send(Request(method="PATCH", url=f"http://{place}/", headers=headers, body=b"abc"))
    assert server.requests[0].startswith(b"PATCH / HTTP/1.1\r\nHost: other.example\r\ncontent-length: 3\r\n")
    assert server.requests[0].endswith(b"\r\n\r\nabc")
    assert b"chunked" not in server.requests[0]
    assert exchange.response is not None


async def test_user_and_password_of_the_url_become_a_header(server: RawServer) -> None:
    place = await server.start(OK)
    exchange = await send(Request(method="get", url=f"http://me:p%40ss@{place}"))
    assert server.requests[0].startswith(b"get / HTTP/1.1\r\n")
    assert b"Authorization: Basic bWU6cEBzcw==\r\n" in server.requests[0]
    assert exchange.request.url == f"http://{place}"


async def test_response_keeps_raw_headers_and_status(server: RawServer) -> None:
    place = await server.start(
        b"HTTP/1.1 418 I'm a teapot\r\n"
        b"X-b: 1\r\nx-B: 2\r\nSet-Cookie: a\r\nx-l: \xfc\r\nContent-Length: 3\r\n\r\n\x00\xff\xfe"
    )
    exchange = await send(post(place))
    response = exchange.response
    assert response is not None
    assert (response.status, response.reason, response.http_version) == (418, "I'm a teapot", "HTTP/1.1")
    assert response.headers[:4] == (("X-b", "1"), ("x-B", "2"), ("Set-Cookie", "a"), ("x-l", "ü"))
    assert response.body == b"\x00\xff\xfe"


async def test_times_come_in_order(server: RawServer) -> None:
    place = await server.start(OK)
    timing = (await send(post(place))).timing
    assert timing is not None
    assert timing.connect is not None and timing.first_byte is not None and timing.end is not None
    assert 0 < timing.connect <= timing.first_byte <= timing.end


async def test_no_redirect_is_followed(server: RawServer) -> None:
    place = await server.start(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")
    exchange = await send(post(place))
    assert exchange.response is not None and exchange.response.status == 307
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 204 No Content\r\n\r\n", b"HTTP/1.1 304 Not Modified\r\n\r\n", b"HTTP/1.0 500\r\n\r\n"],
)
async def test_a_status_without_a_body(server: RawServer, answer: bytes) -> None:
    exchange = await send(post(await server.start(answer)))
    assert exchange.response is not None and exchange.response.body == b""
    assert exchange.failure is None


async def test_interim_answers_are_passed_over(server: RawServer) -> None:
    exchange = await send(post(await server.start(b"HTTP/1.1 100 Continue\r\n\r\n" + OK)))
    assert exchange.response is not None and exchange.response.status == 200


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("gzip, identity", gzip.compress),
        ("br", lambda data: data),
        ("gzip", lambda data: data),
    ],
)
async def test_content_codings(server: RawServer, coding: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(b"hello " * 50)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(packed)}\r\n\r\n"
    exchange = await send(post(await server.start(head.encode() + packed)))
    assert exchange.response is not None
    assert exchange.response.body == b"hello " * 50
    assert exchange.failure is None


async def test_a_cut_gzip_body_is_incomplete_and_kept(server: RawServer) -> None:
    packed = gzip.compress(bytes(range(256)) * 400)[:-20]
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    exchange = await send(post(await server.start(head.encode() + packed)))
    assert exchange.failure is not None and exchange.failure.kind == "incomplete"
    assert exchange.response is not None and exchange.response.body.startswith(bytes(range(256)))


async def test_half_a_body_is_kept(server: RawServer) -> None:
    place = await server.start(b'HTTP/1.1 400 Bad Request\r\nContent-Length: 100\r\n\r\n{"error":')
    exchange = await send(post(place))
    assert exchange.response is not None
    assert (exchange.response.status, exchange.response.body) == (400, b'{"error":')
    assert exchange.failure is not None and exchange.failure.kind == "incomplete"
    assert place in exchange.failure.message


@pytest.mark.parametrize(
    ("answer", "kind", "told"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "not_http", "SSH-2.0"),
        (b"\x15\x03\x01\x00\x02\x02\x46\r\n\r\n", "not_http", "https://"),
        (b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n", "not_http", "not HTTP"),
        (b"", "reset", "without an answer"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "reset", "check the port"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "reset", "without an answer"),
    ],
)
async def test_answers_that_are_none(server: RawServer, answer: bytes, kind: str, told: str) -> None:
    place = await server.start(answer)
    exchange = await send(post(place))
    assert exchange.response is None
    assert exchange.failure is not None
    assert exchange.failure.kind == kind
    assert place in exchange.failure.message and told in exchange.failure.message
    assert exchange.request.body == b"{}"


async def test_a_reset_connection(server: RawServer) -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    exchange = await send(post(await server.start(reset)))
    assert exchange.failure is not None and exchange.failure.kind == "reset"


async def test_nobody_listens() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        exchange = await send(post(f"127.0.0.1:{bound.getsockname()[1]}"))
    assert exchange.failure is not None and exchange.failure.kind == "refused"
    assert exchange.request.body == b"{}"
    assert exchange.timing is not None and exchange.timing.connect is None


async def test_a_name_that_does_not_exist() -> None:
    exchange = await send(post("no-such-host.invalid"))
    assert exchange.failure is not None and exchange.failure.kind == "dns"
    assert "no-such-host.invalid" in exchange.failure.message


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("ftp://host/x", "bad_url"),
        ("/v1/models", "bad_url"),
        ("http://", "bad_url"),
        ("http://:80/", "bad_url"),
        ("http://host:99999/", "bad_url"),
        ("http://host:0/", "bad_url"),
        ("http://ho st/", "bad_url"),
        ("http://[::1/", "bad_url"),
        ("", "bad_url"),
    ],
)
async def test_urls_that_lead_nowhere(url: str, kind: str) -> None:
    exchange = await send(Request(method="GET", url=url))
    assert exchange.failure is not None and exchange.failure.kind == kind
    assert exchange.request.url == url


@pytest.mark.parametrize(
    "request_",
    [
        Request(method="GE T", url="http://127.0.0.1/"),
        Request(method="GET", url="http://127.0.0.1/", headers=(("A\r\nB", "x"),)),
        Request(method="GET", url="http://127.0.0.1/", headers=(("A", "x\r\nB: y"),)),
        Request(method="GET", url="http://127.0.0.1/", headers=(("", "x"),)),
        Request(method="GET", url="http://127.0.0.1/", headers=(("A", "\ud800"),)),
    ],
)
async def test_requests_that_http_cannot_carry(request_: Request) -> None:
    exchange = await send(request_)
    assert exchange.failure is not None and exchange.failure.kind == "bad_request"


async def test_a_server_that_never_answers(server: RawServer) -> None:
    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.until_hung_up(reader)

    exchange = await send(post(await server.start(wait)), ClientOptions(trust_env=False, first_byte_timeout_s=0.05))
    assert exchange.failure is not None and exchange.failure.kind == "first_byte_timeout"
    assert "0.05 s" in exchange.failure.message
    async with asyncio.timeout(10):
        await server.hung_up.wait()


def endless(server: RawServer) -> Answer:
    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\ndata: 2\n\ndata: ha")
        await writer.drain()
        await server.until_hung_up(reader)

    return stream


async def test_a_stream_that_never_ends_is_kept_at_the_total_timeout(server: RawServer) -> None:
    exchange = await send(
        post(await server.start(endless(server))), ClientOptions(trust_env=False, total_timeout_s=0.3)
    )
    assert exchange.failure is not None and exchange.failure.kind == "total_timeout"
    assert exchange.response is not None
    assert [event.data for event in exchange.response.events] == ["1", "2", "ha"]
    async with asyncio.timeout(10):
        await server.hung_up.wait()


async def test_cancelling_closes_the_connection_and_keeps_what_came(server: RawServer) -> None:
    place = await server.start(endless(server))
    partial: list[Exchange] = []
    second = asyncio.Event()

    def on_event(event: StreamEvent) -> None:
        if event.data == "2":
            second.set()

    async with Client(DIRECT) as client:
        task = asyncio.create_task(client.send(post(place), on_event=on_event, on_partial=partial.append))
        async with asyncio.timeout(10):
            await second.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(10):
            await server.hung_up.wait()
    [exchange] = partial
    assert exchange.failure is not None and exchange.failure.kind == "cancelled"
    assert exchange.response is not None
    assert [event.data for event in exchange.response.events][:2] == ["1", "2"]


async def test_cancelling_before_the_answer(server: RawServer) -> None:
    arrived = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await server.until_hung_up(reader)

    place = await server.start(wait)
    partial: list[Exchange] = []
    async with Client(DIRECT) as client:
        task = asyncio.create_task(client.send(post(place), on_partial=partial.append))
        async with asyncio.timeout(10):
            await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(10):
            await server.hung_up.wait()
    assert partial[0].response is None
    assert partial[0].request.body == b"{}"


async def test_events_come_as_they_arrive(server: RawServer) -> None:
    seen = asyncio.Event()

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n" + b'{"a":1}\n')
        await writer.drain()
        await seen.wait()
        writer.write(b'{"a":2}\n')

    sizes: list[int] = []
    async with Client(DIRECT) as client:
        exchange = await client.send(
            post(await server.start(stream)), on_event=lambda _: seen.set(), on_bytes=sizes.append
        )
    assert exchange.response is not None
    first, second = exchange.response.events
    assert (first.data, second.data) == ('{"a":1}', '{"a":2}')
    assert first.at < second.at
    assert sizes[-1] == 16


async def test_a_body_beyond_the_limit_is_cut(server: RawServer) -> None:
    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not reader.at_eof():
            writer.write(b"x" * 10_000)
            await writer.drain()

    exchange = await send(post(await server.start(flood)), ClientOptions(trust_env=False, max_body_bytes=25_000))
    assert exchange.failure is not None and exchange.failure.kind == "too_large"
    assert exchange.response is not None and exchange.response.body == b"x" * 25_000


async def test_a_gzip_bomb_is_cut(server: RawServer) -> None:
    packed = gzip.compress(b"\0" * 30_000_000)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    exchange = await send(
        post(await server.start(head.encode() + packed)), ClientOptions(trust_env=False, max_body_bytes=1000)
    )
    assert exchange.failure is not None and exchange.failure.kind == "too_large"
    assert exchange.response is not None and len(exchange.response.body) == 1000


async def test_an_answer_before_the_body_was_read(server: RawServer) -> None:
    """A server that refuses a large upload answers and closes without reading it all."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
        await writer.drain()
        await server.until_hung_up(reader)

    place = await server.start(refuse, wait_for_request=False)
    exchange = await send(post(place, body=b"x" * 5_000_000))
    assert exchange.response is not None and exchange.response.status == 413
