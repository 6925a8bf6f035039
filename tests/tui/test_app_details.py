"""What people stumbled over, each held by a test."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from screen_fakes import FakeSession, answer, diagnosis, driven, request
from textual.events import Paste

from llmdebug.tui.app import DebuggerApp

REFUSED = (
    "openai.BadRequestError: Error code: 400 - {'object': 'error', 'message': \"[{'type': 'missing', 'loc': ('body', "
    "'prompt'), 'msg': 'Field required', 'input': {'model': 'quoted', 'prompt_token_ids': [1]}}]\", 'code': 400}"
)


async def test_a_pasted_refusal_brings_the_body_that_it_quotes() -> None:
    async with driven(FakeSession(said=[diagnosis()]), request()) as app:
        app.main.post_message(Paste(REFUSED))
        await app.shows("as the answer quotes it")
        assert app.main.entry is not None
        assert app.main.entry.request.body == b'{"model":"quoted","prompt_token_ids":[1]}'
        assert app.main.entry.request.url == request().url
        assert len(app.main.worksheet.entries) == 2


async def test_escape_leaves_the_list_of_requests() -> None:
    async with driven(FakeSession(), request(), request(name="other")) as app:
        await app.press("p", "j", "escape")
        assert app.main.active == "request"
        assert app.main.worksheet.current == 0


async def test_the_place_of_a_local_tree_is_copied_whole(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []

    def copy(text: str, **_options: object) -> str:
        copied.append(text)
        return "to a test"

    monkeypatch.setattr("llmdebug.tui.acts.copying.copy", copy)
    async with driven(FakeSession([answer()], [diagnosis()], tree), request()) as app:
        await app.press("s")
        await app.shows("server.py:3")
        await app.press("y", "p")
    assert copied == [f"{tree}/server.py:3"]


async def test_why_there_is_no_editor_is_told_whole(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "an-editor-with-a-rather-long-name-that-nobody-has-ever-installed-anywhere")
    async with driven(FakeSession([answer()], [diagnosis()], tree), request()) as app:
        await app.press("s")
        await app.shows("server.py:3")
        await app.press("o")
        await app.shows("The source is shown here")
        assert "instead." in app.screen()
        assert "# line 9" in app.screen()
        await app.press("j")
        assert "instead." not in app.screen()


async def test_a_redirect_says_where_to() -> None:
    moved = answer(307, b"", reason="Temporary Redirect", headers=(("Location", "http://other.test/v1/x"),))
    async with driven(FakeSession([moved]), request(), size=(120, 40)) as app:
        await app.press("s")
        await app.shows("Location: http://other.test/v1/x")
        assert "(redirects" in app.screen()


async def test_the_first_page_down_of_the_help_scrolls() -> None:
    async with driven(FakeSession(), request()) as app:
        await app.press("question_mark")
        first = app.screen().split("\n")[1]
        await app.press("pagedown")
        assert app.screen().split("\n")[1] != first
        await app.press("g")
        assert app.screen().split("\n")[1] == first


async def test_a_remedy_stands_once_where_there_is_room(tree: Path) -> None:
    async with driven(FakeSession([answer()], [diagnosis()], tree), request(), size=(120, 50)) as app:
        await app.press("s")
        await app.shows("send the ids as prompt")
        await app.press("tab", "tab", "z")
        await app.shows("also worth reading")
        assert app.screen().count("send the ids as prompt") == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1:30000", "http://gpu-7.example:8000"])
async def test_a_small_terminal_shows_the_whole_address(url: str) -> None:
    async with driven(FakeSession(), request(), size=(40, 10), base_url=url) as app:
        assert url in app.screen().split("\n")[0]


async def test_what_is_found_above_has_rows_above_it(tree: Path) -> None:
    async with driven(FakeSession([answer()], [diagnosis()], tree), request()) as app:
        await app.press("s")
        await app.shows("server.py:3")
        await app.press("v", "G", "slash", *"line 30", "enter")
        await app.shows("# line 30")
        lines = app.screen().split("\n")
        assert "# line 28" in lines[1]


async def test_a_body_of_very_many_lines_stays_as_in_the_file() -> None:
    body = b'{"ids": [\n' + b"1,\n" * 20_000 + b"1\n]}"
    async with driven(FakeSession(), request(body)) as app:
        assert len(app.main.request.document.lines) == body.count(b"\n") + 1


@pytest.mark.parametrize(
    ("body", "told"),
    [(b"[" * 100_000 + b"]" * 100_000, "nested too deep"), (b'["' + b"x" * 65_000_000 + b'needle"]', "too large")],
    ids=["deep", "large"],
)
async def test_json_that_is_not_formatted_says_why_and_is_walked_through(body: bytes, told: str) -> None:
    async with driven(FakeSession([answer(200, body)]), request()) as app:
        await app.press("s")
        await app.shows(told)
        pane = app.main.response
        assert len(pane.rows) > 4_000
        await app.press("tab", "pagedown", "pagedown")
        assert 10 < pane.cursor < 40
        await app.press("G")
        assert pane.cursor == len(pane.rows) - 1
        await app.press("g", "slash", *("needle" if b"needle" in body else "]]"), "enter")
        assert pane.cursor > 1_000
        assert pane.needle


async def test_an_empty_line_unlinks_and_a_folder_without_a_server_warns(tmp_path: Path) -> None:
    folder = tmp_path / "nothing"
    folder.mkdir()
    (folder / "notes.txt").write_text("no server", encoding="utf-8")
    from llmdebug.tui.opening import Opening
    from llmdebug.tui.worksheet import Worksheet

    worksheet = Worksheet()
    worksheet.add(request())
    app: Any = DebuggerApp(Opening(base_url="http://127.0.0.1:9", probe=False), worksheet=worksheet)
    async with app.run_test(size=(100, 24)) as pilot:
        from screen_fakes import Driven

        screen = Driven(app, pilot)
        await app.main.ready.wait()
        await screen.press("L", "ctrl+u", *os.fspath(folder), "enter")
        await screen.shows("it holds no source of a server")
        assert app.main.linked
        await screen.press("L")
        await screen.shows("empty unlinks")
        await screen.press("ctrl+u", "enter")
        await screen.shows("No source is linked any more")
        assert not app.main.linked
