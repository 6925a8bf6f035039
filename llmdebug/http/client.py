"""The client: sends one request exactly as it stands and keeps exactly what came back.

Trouble of the network is never an exception but a Failure beside its request. No redirect is
followed, no cookie kept, nothing sent twice.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import anyio.lowlevel
import httpx

from llmdebug.http.arrival import Arrival
from llmdebug.http.exchange import Exchange, Failure, Request, StreamEvent, Timing
from llmdebug.http.failure import failure_of
from llmdebug.http.options import (
    ClientOptions,
    ClientOptionsError,
    proxy_for,
    proxy_place,
    tls_context,
    transport,
)
from llmdebug.http.wire import UnsendableError, WireRequest, prepare

__all__ = ["Client", "ClientOptions", "ClientOptionsError"]

OnEvent = Callable[[StreamEvent], None]
OnBytes = Callable[[int], None]
OnPartial = Callable[[Exchange], None]


class Client:
    """Use as an async context manager. Entering it raises ClientOptionsError for unusable options."""

    def __init__(self, options: ClientOptions | None = None) -> None:
        self._options = options or ClientOptions()
        self._tls: ssl.SSLContext | None = None
        self._transports: dict[str | None, httpx.AsyncHTTPTransport] = {}

    async def __aenter__(self) -> Self:
        self._tls = tls_context(self._options)
        await anyio.lowlevel.checkpoint()  # loads what the first connection would otherwise be timed with
        if self._options.proxy:
            self._transport(proxy_for(self._options, scheme="http", host="", port=0))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for opened in self._transports.values():
            await opened.aclose()
        self._transports.clear()

    async def send(
        self,
        request: Request,
        *,
        on_event: OnEvent | None = None,
        on_bytes: OnBytes | None = None,
        on_partial: OnPartial | None = None,
    ) -> Exchange:
        """Sends and waits for the whole answer.

        `on_event` is called for each event of a stream as it arrives, `on_bytes` with the size of the
        decoded body so far. When the calling task is cancelled, the connection is closed, `on_partial`
        gets what had arrived (with a Failure of kind `cancelled`), and CancelledError goes on.
        """
        started_at, start = time.time(), time.perf_counter()
        try:
            wire = prepare(request)
        except UnsendableError as error:
            failure = Failure(kind=error.kind, message=error.message)
            return Exchange(request=request, failure=failure, timing=Timing(started_at=started_at))
        arrival = Arrival(wire.request, started_at=started_at, max_body_bytes=self._options.max_body_bytes)
        proxy = proxy_for(self._options, scheme=wire.scheme, host=wire.host, port=wire.port)
        conversation = _Conversation(wire, arrival, start, self._options, on_event, on_bytes)
        place = proxy_place(proxy) if proxy else ""
        try:
            failure_or_none = await self._converse(conversation, proxy)
        except asyncio.CancelledError:
            conversation.finish()
            if on_partial is not None:
                told = f"Cancelled before {wire.where} answered: nothing had arrived."
                if arrival.answered:
                    told = f"Cancelled while the answer of {wire.where} was arriving. What arrived is kept."
                on_partial(arrival.exchange(Failure(kind="cancelled", message=told)))
            raise
        except ClientOptionsError as error:
            failure_or_none = Failure(kind="proxy", message=str(error))
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            tls = wire.scheme == "https"
            failure_or_none = failure_of(error, where=wire.where, proxy=place, tls=tls, answered=arrival.answered)
        conversation.finish()
        return arrival.exchange(failure_or_none or conversation.damage())

    async def _converse(self, conversation: _Conversation, proxy: str | None) -> Failure | None:
        total_s = self._options.total_timeout_s
        total, first_byte = asyncio.timeout(total_s), asyncio.timeout(None)
        where = conversation.wire.where
        try:
            async with total, first_byte:
                return await conversation.run(self._transport(proxy), first_byte)
        except TimeoutError:
            if first_byte.expired():
                waited = f"{self._options.first_byte_timeout_s:g}"
                told = f"{where} took the request but sent no answer within {waited} s."
                return Failure(kind="first_byte_timeout", message=told)
            if total.expired():
                kept = "What arrived is kept." if conversation.answered else "Nothing had arrived."
                told = f"{where} was not done within {total_s:g} s. {kept}"
                return Failure(kind="total_timeout", message=told)
            raise

    def _transport(self, proxy: str | None) -> httpx.AsyncHTTPTransport:
        if self._tls is None:
            raise RuntimeError("the client is not entered")
        found = self._transports.get(proxy)
        if found is None:
            found = self._transports[proxy] = transport(self._tls, proxy)
        return found


class _ExactUrl(httpx.URL):
    """A URL that keeps its target as written, where httpx would resolve dots and re-quote."""

    def __init__(self, wire: WireRequest) -> None:
        host = f"[{wire.host}]" if ":" in wire.host else wire.host
        super().__init__(f"{wire.scheme}://{host}:{wire.port}/")
        self._target = wire.target

    @property
    def raw_path(self) -> bytes:
        return self._target


class _Conversation:
    """One request on its way and its answer coming in."""

    def __init__(
        self,
        wire: WireRequest,
        arrival: Arrival,
        start: float,
        options: ClientOptions,
        on_event: OnEvent | None,
        on_bytes: OnBytes | None,
    ) -> None:
        self.wire = wire
        self._arrival = arrival
        self._start = start
        self._options = options
        self._on_event = on_event
        self._on_bytes = on_bytes
        self._first_byte: asyncio.Timeout | None = None

    async def run(self, transport: httpx.AsyncHTTPTransport, first_byte: asyncio.Timeout) -> Failure | None:
        self._first_byte = first_byte
        response = await transport.handle_async_request(self._http_request())
        first_byte.reschedule(None)
        try:
            extensions = response.extensions
            self._arrival.head(
                response.status_code,
                _text(extensions.get("reason_phrase", b"")),
                _text(extensions.get("http_version", b"HTTP/1.1")),
                tuple((_text(name), _text(value)) for name, value in response.headers.raw),
                at=self._now(),
            )
            async for piece in response.aiter_raw():
                for events in self._arrival.data(piece, at=self._now()):
                    self._tell(events)
                    await asyncio.sleep(0)  # a server that never pauses leaves nobody else a turn
                if self._arrival.too_large:
                    return self._too_large()
        finally:
            await response.aclose()
        return None

    @property
    def answered(self) -> bool:
        return self._arrival.answered

    def finish(self) -> None:
        """The last events, from what had arrived when the answer ended or broke off."""
        self._tell(self._arrival.finish(at=self._now()))

    def damage(self) -> Failure | None:
        if not self._arrival.damaged:
            return None
        told = f"The compressed body from {self.wire.where} is damaged. What could be read of it is kept."
        return Failure(kind="incomplete", message=told)

    def _http_request(self) -> httpx.Request:
        sent = self.wire.request
        request = httpx.Request(
            sent.method,
            _ExactUrl(self.wire),
            headers=[(name.encode("ascii"), value.encode("utf-8")) for name, value in sent.headers],
            content=sent.body,
            extensions={"timeout": {"connect": self._options.connect_timeout_s}, "trace": self._trace},
        )
        request.method = sent.method
        request.url = _ExactUrl(self.wire)
        return request

    async def _trace(self, name: str, info: dict[str, Any]) -> None:
        if name.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._arrival.connect = self._now()
        elif name.endswith("send_request_headers.started") and self._first_byte is not None:
            limit = self._options.first_byte_timeout_s
            loop = asyncio.get_running_loop()
            self._first_byte.reschedule(None if limit is None else loop.time() + limit)

    def _tell(self, events: list[StreamEvent]) -> None:
        if self._on_event is not None:
            for event in events:
                self._on_event(event)
        if self._on_bytes is not None:
            self._on_bytes(self._arrival.size)

    def _too_large(self) -> Failure:
        limit = self._options.max_body_bytes
        told = f"The answer of {self.wire.where} is larger than {limit:,} bytes; its beginning is kept."
        return Failure(kind="too_large", message=told)

    def _now(self) -> float:
        return time.perf_counter() - self._start


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
