"""The app on the real debugger and the demo's server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from screen_fakes import Driven

from llmdebug.demo.server import DemoServer
from llmdebug.tui.app import DebuggerApp
from llmdebug.tui.opening import Opening, demo_opening, first_worksheet


@asynccontextmanager
async def opened(size: tuple[int, int] = (120, 40), **opening: Any) -> AsyncIterator[Driven]:
    given = demo_opening() if opening.pop("demo", False) else Opening(**opening)
    worksheet, problem = first_worksheet(given)
    assert not problem
    app = DebuggerApp(given, theme="dark", worksheet=worksheet)
    async with app.run_test(size=size) as pilot:
        async with asyncio.timeout(60):
            await app.main.ready.wait()
        yield Driven(app, pilot)


async def test_the_founding_story() -> None:
    async with opened(demo=True) as app:
        await app.press("s")
        await app.shows("400 Bad Request")
        await app.shows("declares CompletionRequest.prompt")
        await app.shows("▶     prompt: str | list[str]")
        await app.press("1", "s")
        await app.shows("Confirmed by experiment")
        await app.shows("200 OK")
        await app.press("tab", "tab", "t", "G")
        await app.shows("confirmed: remedy")
        said = app.main.entry.diagnosis if app.main.entry is not None else None
        assert said is not None and "confirmed: remedy 1 passed" in [step.text for step in said.trail]


async def test_all_remedies_are_tried_where_the_request_stays() -> None:
    async with opened(demo=True) as app:
        await app.press("s")
        await app.shows("declares CompletionRequest.prompt")
        await app.press("R")
        await app.shows("Remedies tried. Answered: 1")
        await app.shows("400 Bad Request")
        await app.press("tab", "tab", "t", "G")
        await app.shows("confirmed: remedy")
        said = app.main.entry.diagnosis if app.main.entry is not None else None
        assert said is not None and "confirmed: remedy 1 passed" in [step.text for step in said.trail]


async def test_the_first_minute_with_only_a_url() -> None:
    with DemoServer() as server:
        async with opened(base_url=server.base_url) as app:
            await app.shows("POST /tokenize")
            await app.shows('"model": "alice"')
            assert "No source is linked" in app.screen()
            await app.press("s")
            await app.shows("200 OK")
            await app.press("L")
            app.main.bottom.paste(str(server.source))
            await app.press("enter")
            await app.shows("source nanoserve")


async def test_a_stream_with_its_text_and_events() -> None:
    async with opened(demo=True) as app:
        names = [entry.request.name for entry in app.main.worksheet.entries]
        app.main.worksheet.go(names.index("chat-stream"))
        app.main.show_entry()
        await app.press("s")
        await app.until(
            lambda: app.main.sending is None and app.main.entry is not None and app.main.entry.state != "new"
        )
        await app.shows("200 OK")
        await app.shows("completion_tokens")
        await app.press("tab", "tab")
        app.main.activate("response")
        await app.press("t")
        await app.shows(" stop")


async def test_a_source_that_is_none_is_told_and_the_rest_works() -> None:
    with DemoServer() as server:
        async with opened(base_url=server.base_url, sources=("/no/such/tree",)) as app:
            await app.shows("there is no such folder")
            await app.press("s")
            await app.shows("200 OK")
