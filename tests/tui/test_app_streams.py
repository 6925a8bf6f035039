"""Streams from a real server: as fast as it can, cancelled, and broken off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from screen_fakes import Driven

from llmdebug.http.exchange import Request
from llmdebug.tui.app import DebuggerApp
from llmdebug.tui.opening import Opening
from llmdebug.tui.views.answertext import LIVE_CHARACTERS
from llmdebug.tui.worksheet import Worksheet

EVENT = b'data: {"choices": [{"index": 0, "delta": {"content": "word and more "}}]}\n\n'
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
Answering = Callable[[asyncio.StreamWriter], Coroutine[Any, Any, None]]


@asynccontextmanager
async def driven_by(answering: Answering) -> AsyncIterator[Driven]:
    """The app with its real debugger, in front of a server that answers so."""

    serving: list[asyncio.Task[Any]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.append(task)
        try:
            line = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0]
            if b"/stream" in line:
                await answering(writer)
            else:
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    worksheet = Worksheet()
    worksheet.add(Request(method="POST", url=f"{url}/stream", body=b"{}"))
    app = DebuggerApp(Opening(base_url=url), worksheet=worksheet)
    try:
        async with app.run_test(size=(80, 24)) as pilot:
            await app.main.ready.wait()
            await pilot.pause()
            yield Driven(app, pilot)
    finally:
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        server.close()


def flood(count: int, seen: asyncio.Event | None = None) -> Answering:
    """Sends events without a pause, after one that is `seen` where that is given; 0 for without an end."""

    async def answering(writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM)
        sent = 0
        if seen is not None:
            writer.write(EVENT * 100)
            sent = 100
            await seen.wait()
        while not count or sent < count:
            writer.write(EVENT * 100)
            await writer.drain()
            sent += 100

    return answering


async def test_a_flood_is_read_whole_and_its_end_stays_in_sight() -> None:
    seen = asyncio.Event()
    async with driven_by(flood(20_000, seen)) as app:
        await app.press("s")
        await app.until(lambda: "word and more" in app.screen())
        seen.set()
        await app.until(lambda: app.main.sending is None and app.main.entry is not None)
        entry, pane = app.main.entry, app.main.response
        assert entry is not None
        assert entry.exchange is not None
        assert entry.exchange.response is not None
        assert len(entry.exchange.response.events) == 20_000
        assert pane.text is not None
        assert pane.text.choices[0].text == "word and more " * 20_000
        await app.until(lambda: pane.cursor == len(pane.rows) - 1)
        await app.press("tab", "g", "slash", *"more", "enter")
        assert "and more" in app.screen()


async def test_a_flood_without_end_is_cancelled_and_what_came_is_kept(own_state: Path) -> None:
    async with driven_by(flood(0)) as app:
        entry = app.main.entry
        assert entry is not None
        await app.press("s")
        await app.until(lambda: len(entry.events) > 10_000)
        rows = app.main.response.make_rows(40)
        assert len(rows) <= LIVE_CHARACTERS / 10, "what is drawn does not grow with the stream"
        title = app.screen().split("\n")[1]
        assert "receiving" in title
        assert "x cancels" in title
        await app.press("x")
        await app.until(lambda: app.main.sending is None)
        assert entry.exchange is not None
        assert entry.exchange.response is not None
        assert len(entry.exchange.response.events) > 10_000
        await app.shows("200, cancelled")
        assert "was arriving. What arrived is" in app.screen()
        assert "No answer came" not in app.screen()
        session = app.main.session
        assert session is not None
        history = own_state / "history.jsonl"
        assert b'"cancelled"' in await asyncio.to_thread(history.read_bytes)


async def test_a_cancel_before_anything_came_says_so() -> None:
    async def silent(_writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with driven_by(silent) as app:
        await app.press("s")
        await app.shows("waiting for the model")
        await app.press("x")
        await app.shows("nothing had arrived")
        assert "is kept" not in app.screen()


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n30\r\n",
    ],
)
async def test_an_answer_that_breaks_off_is_said_to(head: bytes) -> None:
    async def breaking(writer: asyncio.StreamWriter) -> None:
        writer.write(head + b'data: {"choices": [')
        await writer.drain()

    async with driven_by(breaking) as app:
        await app.press("s")
        await app.shows("broke off in the middle")
        await app.shows(", broke off")
        assert "nothing was refused" not in app.screen()
        assert "Nothing is wrong" not in app.screen()
