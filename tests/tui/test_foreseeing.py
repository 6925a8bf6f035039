"""What the linked source says of a request is marked while it is typed."""

from __future__ import annotations

from pathlib import Path

import msgspec
from screen_fakes import FakeSession, diagnosis, driven, request

from llmdebug.diagnosis.verdict import Diagnosis

TAKEN = Diagnosis(summary="Nothing in the linked source speaks against this request", kind="none")


async def test_a_refusal_is_marked_while_it_is_typed(tree: Path) -> None:
    session = FakeSession([], [], tree)
    session.foreseen = msgspec.structs.replace(diagnosis(), summary="Will be refused: /prompt is required")
    async with driven(session, request()) as app:
        await app.press("e")
        await app.until(lambda: app.main.editor is not None)
        editor = app.main.editor
        assert editor is not None and editor.marks == {}
        await app.press("end", "space")
        await app.shows("Will be refused: /prompt is required")
        assert "✗" in editor.marks.values()
        assert session.sent == []
        session.foreseen = TAKEN
        await app.press("backspace")
        await app.until(lambda: "Will be refused" not in app.screen())
        assert editor.marks == {}


async def test_what_will_have_no_effect_is_a_warning(tree: Path) -> None:
    session = FakeSession([], [], tree)
    session.foreseen = Diagnosis(summary="/model will have no effect", kind="ignored_field", ignored=("/model",))
    async with driven(session, request()) as app:
        await app.press("e")
        await app.until(lambda: app.main.editor is not None)
        await app.press("end", "space")
        await app.shows("? /model will have no effect")
        assert app.main.editor is not None
        await app.until(lambda: app.main.editor is not None and "?" in app.main.editor.marks.values())
