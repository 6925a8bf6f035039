"""Terminals of every size, bodies of every kind, and text that means harm."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from screen_fakes import FakeSession, answer, diagnosis, driven, request
from textual.events import Paste

from llmdebug.http.exchange import Request
from llmdebug.tui.views.safetext import width

HOSTILE = (
    "\x1b[2J\x1b]52;c;ZXZpbA==\x07\u202e\u200bA\u0301\u0301\u0301\u0301\u0301\u0301日本語\x9b31m👩‍👩‍👧‍👦\r\n\t\x00"
)
SIZES = [(40, 10), (20, 5), (80, 24), (120, 40), (200, 60), (10, 3), (300, 12)]


def steers(screen: str) -> list[str]:
    return [letter for letter in screen if (ord(letter) < 32 and letter != "\n") or letter in "\x9b\u202e\u200b"]


@pytest.mark.parametrize("size", SIZES)
async def test_every_size(size: tuple[int, int], tree: Path) -> None:
    session = FakeSession([answer()], [diagnosis()], tree)
    async with driven(session, request(), size=size) as app:
        await app.press("s")
        await app.until(lambda: app.main.entry is not None and app.main.entry.diagnosis is not None)
        for key in ("tab", "j", "G", "tab", "G", "z", "z", "p", "enter", "question_mark", "G", "escape", "e", "escape"):
            await app.press(key)
        lines = app.screen().split("\n")
        assert len(lines) == size[1]
        assert all(width(line) <= size[0] for line in lines)


async def test_a_small_terminal_shows_one_pane_and_tab_the_next(tree: Path) -> None:
    session = FakeSession([answer()], [diagnosis()], tree)
    async with driven(session, request(), size=(40, 10)) as app:
        assert "Request" in app.screen()
        assert "Diagnosis" not in app.screen()
        await app.press("s", "tab")
        await app.shows("400 Bad Request")
        await app.press("tab")
        await app.shows("server.py:3")


async def test_a_small_terminal_tells_what_became_of_the_request(tree: Path) -> None:
    session = FakeSession([answer(), answer(200, b"{}")], [diagnosis()], tree)
    async with driven(session, request(), size=(40, 10)) as app:
        await app.press("s")
        await app.shows("400 Bad Request · 12 ms")
        assert "/prompt is required and missing" in app.screen()
        assert "Tab shows more" in app.screen()
        await app.press("1", "s")
        await app.shows("Confirmed by experiment")


async def test_the_title_of_a_long_answer_cuts_no_number() -> None:
    body = msgspec.json.encode({"data": [{"id": n} for n in range(1_000)]})
    async with driven(FakeSession([answer(400, body)]), request()) as app:
        await app.press("s")
        await app.shows("1/3,004")
        assert f"│ 400 · 12 ms · {len(body) / 1000:.1f} kB" in app.screen()


async def test_resizing_while_a_stream_runs() -> None:
    go_on = asyncio.Event()

    async def streamed(on_event: Any) -> object:
        from screen_fakes import stream

        for n, event in enumerate(stream(*["word "] * 40)):
            on_event(event)
            if n == 20:
                await go_on.wait()
        return answer(200, b"", events=stream(*["word "] * 40))

    async with driven(FakeSession([streamed]), request()) as app:
        await app.press("s")
        await app.shows("word word")
        for size in ((40, 10), (120, 40), (79, 24)):
            await app.pilot.resize_terminal(*size)
            await app.pilot.pause()
        go_on.set()
        await app.until(lambda: app.main.sending is None)
        assert app.screen().count("word") >= 30


@pytest.mark.parametrize("theme", ["dark", "light", "high-contrast", "ansi16", "colour-blind", "monochrome"])
async def test_hostile_text_reaches_no_pane(theme: str, tmp_path: Path) -> None:
    evil = request(
        msgspec.json.encode({HOSTILE: HOSTILE, "x": [HOSTILE]}),
        name=HOSTILE,
        url=f"http://server.test/{HOSTILE.strip()}",
        headers=(("X-Evil", HOSTILE),),
    )
    raw = answer(400, HOSTILE.encode("utf-8", "surrogatepass") * 3, reason=HOSTILE, headers=((HOSTILE, HOSTILE),))
    said = diagnosis(summary=HOSTILE, notes=(HOSTILE,), records=(HOSTILE,), ignored=("/" + HOSTILE,))
    async with driven(FakeSession([raw], [said]), evil, size=(120, 40), theme=theme) as app:
        await app.press("s")
        await app.until(lambda: app.main.entry is not None and app.main.entry.diagnosis is not None)
        for key in ("tab", "t", "t", "tab", "t", "tab", "e", "x", "backspace", "escape", "question_mark", "escape"):
            await app.press(key)
            assert steers(app.screen()) == []
        app.main.tell(HOSTILE)
        app.main.post_message(Paste(HOSTILE))
        await app.pilot.pause()
        assert steers(app.screen()) == []


async def test_no_color_and_the_lists_marks_stay(monkeypatch: pytest.MonkeyPatch, tree: Path) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    session = FakeSession([answer()], [diagnosis()], tree)
    async with driven(session, request(), theme="auto") as app:
        assert app.app.colours.name == "monochrome"
        await app.press("s")
        await app.shows("3 ▶     prompt")
        styles = {
            str(s.style.color.name)
            for strip in app.app.screen._compositor.render_strips()
            for s in strip
            if s.style and s.style.color
        }
        assert styles <= {"default"}


async def test_a_hundred_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    body = b'{"data": "' + b"x" * 100_000_000 + b'"}'
    async with driven(FakeSession([answer(200, body)]), request()) as app:
        await app.press("s")
        await app.until(lambda: app.main.sending is None and app.main.response.document is not None)
        await app.shows("100.0 MB")
        began = time.process_time()
        await app.press("tab", "l", "l", "t", "G")
        assert time.process_time() - began < 5


async def test_a_million_lines_and_a_binary_body() -> None:
    lines = msgspec.json.encode([{"n": n} for n in range(340_000)])
    session = FakeSession([answer(200, lines), answer(200, bytes(range(256)) * 100)])
    async with driven(session, request()) as app:
        await app.press("s")
        await app.until(lambda: app.main.sending is None and "1,020,0" in app.screen())
        await app.press("tab", "G")
        await app.shows("1,020,002/1,020,002")
        await app.press("slash", *'"n": 170000', "enter")
        await app.shows('"n": 170000')
        await app.press("escape", "minus", "g")
        await app.press("s")
        await app.shows("00000000  00 01 02 03")


async def test_ten_thousand_requests() -> None:
    requests = [request(name=f"number {n}") for n in range(10_000)]
    async with driven(FakeSession(), *requests) as app:
        await app.press("p", "G")
        await app.shows("number 9999")
        await app.press("slash", *"number 5000", "enter", "enter")
        await app.until(lambda: app.main.worksheet.current == 5000)
        await app.press("right_square_bracket")
        assert app.main.worksheet.current == 5001


async def test_a_body_too_large_or_binary_is_not_edited_here() -> None:
    large = request(b'{"a": "' + b"x" * 300_000 + b'"}')
    async with driven(FakeSession(), large, request(b"\xff\xfe\x00", "binary")) as app:
        await app.press("e")
        assert "E opens your own editor" in app.message()
        await app.press("right_square_bracket", "e")
        assert app.main.editor is None


async def test_without_any_request() -> None:
    keys = ("s", "o", "v", "y", "1", "a", "u", "w", "d", "z", "tab", "z", "p", "enter", "space", "minus", "t")
    async with driven(FakeSession(), base_url=None) as app:
        await app.shows("Paste a curl command")
        for key in keys:
            await app.press(key)
        assert app.main.worksheet.entries == []
        await app.press("e")
        await app.until(lambda: app.main.editor is not None)
        await app.press("escape")
        await app.shows("POST /v1/chat/completions")


async def test_the_editor_that_fails_or_is_absent(monkeypatch: pytest.MonkeyPatch, tree: Path) -> None:
    session = FakeSession([answer()], [diagnosis()], tree)
    async with driven(session, request()) as app:
        await app.press("s")
        await app.shows("server.py:3")
        monkeypatch.setenv("EDITOR", "false")
        await app.press("o")
        await app.shows("ended with status 1")
        monkeypatch.setenv("EDITOR", "no-such-editor")
        await app.press("o")
        await app.shows("not installed here")
        await app.shows("# line 9")


async def test_the_palette_does_what_it_finds() -> None:
    async with driven(FakeSession([answer(200, b"{}")]), request()) as app:
        await app.press("colon")
        await app.shows("Commands")
        await app.press(*"zzzz")
        await app.shows("No command is called so")
        await app.press("ctrl+u", *"send the request as")
        await app.press("enter")
        await app.shows("200")


async def test_every_command_can_be_asked_for_at_any_time(monkeypatch: pytest.MonkeyPatch, tree: Path) -> None:
    from llmdebug.tui.commands import COMMANDS

    monkeypatch.setenv("EDITOR", "true")
    session = FakeSession([answer()], [diagnosis()], tree)
    async with driven(session, request()) as app:
        for _ in range(2):
            for command in COMMANDS:
                if command.name in ("quit", "cancel"):
                    continue
                app.main.perform(command, command.keys[0])
                await app.pilot.pause()
                while len(app.app.screen_stack) > 1:
                    app.app.pop_screen()
                    await app.pilot.pause()
                app.main.bottom.question = None
                if app.main.editor is not None:
                    await app.press("escape")
            await app.until(lambda: app.main.sending is None)
        assert "an error of llmdebug itself" not in app.screen()


def test_a_request_with_no_name_is_listed_by_its_path() -> None:
    from llmdebug.tui.worksheet import Entry

    nameless = Request(method="GET", url="http://x/v1/models?a=b")
    assert Entry(request=nameless, original=nameless).name == "GET /v1/models"
