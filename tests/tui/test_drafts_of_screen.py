"""Unsent edits: kept within a second, offered again, forgotten when sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from screen_fakes import FakeSession, answer, driven, request

from llmdebug.recording.drafts import Drafts
from llmdebug.tui.acts import drafting


async def test_an_edit_is_kept_and_forgotten_when_sent(own_state: Path) -> None:
    async with driven(FakeSession([answer(200, b"{}")]), request()) as app:
        app.main.drafting = drafting.Drafting("test")
        await app.press("e")
        await app.until(lambda: app.main.editor is not None)
        await app.press("X")
        await app.until(lambda: Drafts().load("test") is not None)
        await app.press("escape")
        assert "line 1" in app.message() or app.main.editor is None
        if app.main.editor is not None:
            await app.press("backspace", "escape")
        await app.press("s")
        await app.until(lambda: Drafts().load("test") is None)


async def test_a_draft_is_offered_and_taken_up() -> None:
    Drafts().save("test", request(b'{"prompt": "kept"}'))
    async with driven(FakeSession(), request(), request(name="other")) as app:
        app.main.drafting = drafting.Drafting("test")
        app.main.drafting.load()
        drafting.offer(app.main)
        assert "U takes it up again" in app.message()
        await app.press("U")
        await app.shows('"prompt": "kept"')
        assert len(app.main.worksheet.entries) == 2, "it belongs to the request of its name"


async def test_a_secret_of_an_edit_is_kept_by_name() -> None:
    async with driven(FakeSession(), request(headers=(("Authorization", "Bearer sk-very-secret"),))) as app:
        app.main.drafting = drafting.Drafting("test")
        app.main.entry.request = request(b"{}", headers=(("Authorization", "Bearer sk-very-secret"),))  # type: ignore[union-attr]
        drafting.keep_now(app.main)
    draft = Drafts().load("test")
    assert draft is not None
    assert draft.request.headers == (("Authorization", "Bearer {{secret:AUTHORIZATION}}"),)


async def test_a_folder_that_takes_no_draft_is_told_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    async with driven(FakeSession(), request()) as app:
        app.main.drafting = drafting.Drafting("test")
        monkeypatch.setenv("LLMDEBUG_STATE_DIR", str(blocked))
        await app.press("e")
        await app.until(lambda: app.main.editor is not None)
        await app.press("X")
        await app.shows("The unsent edit is not kept")


async def test_text_that_is_no_request_is_left_by_a_second_escape(own_state: Path) -> None:
    async with driven(FakeSession(), request(), size=(120, 40)) as app:
        app.main.drafting = drafting.Drafting("test")
        await app.press("e")
        await app.until(lambda: app.main.editor is not None)
        editor = app.main.editor
        assert editor is not None
        before, typed = app.main.entry.request, editor.text.replace("\n", "\nZZZ ", 1)  # type: ignore[union-attr]
        editor.text = typed
        await app.press("escape")
        await app.shows("not left: line 2: A header is 'Name: value'; a blank line ends the headers. Esc again leaves")
        await app.shows("Esc done")
        await app.press("escape")
        assert app.main.editor is None
        assert app.main.entry.request == before  # type: ignore[union-attr]
        assert "U takes up what was typed" in app.message()
        await app.press("U")
        assert app.main.entry.request.body.decode() == typed  # type: ignore[union-attr]


async def test_what_is_typed_after_a_refused_escape_is_no_second_one(own_state: Path) -> None:
    async with driven(FakeSession(), request()) as app:
        await app.press("e")
        await app.until(lambda: app.main.editor is not None)
        editor = app.main.editor
        assert editor is not None
        editor.text = "nonsense"
        await app.press("escape", "x", "escape")
        await app.shows("not left: line 1")
        assert editor.is_attached
        await app.press("escape")
        assert app.main.editor is None
        assert "as it was before the edit" in app.message()
