"""Old answers make room for new ones, and come back when they are looked at."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from raw_server import RawServer
from screen_fakes import Driven, driven, request

from llmdebug.debugger.session import Session
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.tui.acts import keeping
from llmdebug.tui.acts.keeping import HEAD, body_of, too_many
from llmdebug.tui.worksheet import Entry

SIZE = 150_000
GET = Request(method="GET", url="http://h/")


def entry(size: int, began: float) -> Entry:
    made = Exchange(request=GET, response=Response(status=200, body=b"x" * size))
    return Entry(request=GET, original=GET, state="answered", exchange=made, began=began)


def test_the_oldest_large_answers_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as it takes; small ones, the one looked at, and one on its way stay."""
    monkeypatch.setattr(keeping, "MOST_BYTES", 400_000)
    old, older, small, new = entry(SIZE, 2), entry(SIZE, 1), entry(100, 0), entry(SIZE, 3)
    waiting = entry(SIZE, 0.5)
    waiting.state = "waiting"
    listed = [old, older, small, new, waiting, Entry(request=GET, original=GET)]
    assert too_many(listed, new) == [older, old]
    assert too_many(listed, older) == [old, new]
    assert too_many(listed[:2], old) == []


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    async with RawServer() as server:
        yield server


def numbered(letter: str) -> bytes:
    """An answer that ends otherwise than it begins."""
    body = f'"{letter * SIZE} the end of {letter}"'.encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def is_answered(app: Driven, made: Entry) -> bool:
    return app.main.sending is None and body_of(made) > SIZE


@pytest.mark.parametrize("keep", [True, False])
async def test_an_answer_that_made_room_comes_back_from_the_recording(
    server: RawServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keep: bool
) -> None:
    """Where nothing is recorded its head stays, and that is said."""
    monkeypatch.setattr(keeping, "MOST_BYTES", SIZE + 10)
    monkeypatch.setenv("LLMDEBUG_STATE_DIR", str(tmp_path))
    place = await server.start(numbered("a"))
    session = Session(base_url=f"http://{place}", keep=keep, probing=False)
    asked = [request(b"{}", url=f"http://{place}/{n}") for n in "ab"]
    async with session, driven(session, *asked, base_url=f"http://{place}") as app:
        for number, made in enumerate(app.main.worksheet.entries):
            app.main.worksheet.go(number)
            app.main.show_entry()
            await app.press("s")
            await app.until(partial(is_answered, app, made))
        first = app.main.worksheet.entries[0]
        assert (body_of(first), first.away > SIZE) == (HEAD, True)
        app.main.worksheet.go(0)
        app.main.show_entry()
        if keep:
            await app.until(lambda: body_of(first) > SIZE and not first.away)
            second = app.main.worksheet.entries[1]
            assert body_of(second) == HEAD
        else:
            await app.shows("made room for newer answers")
