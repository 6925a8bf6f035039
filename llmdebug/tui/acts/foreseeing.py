"""What the linked source will refuse or ignore in the request that stands in the editor, marked while it is typed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.tui.requesttext import RequestTextError, body_line, parse_request
from llmdebug.tui.views.requestview import is_json, marks_of, problem_of

if TYPE_CHECKING:
    from llmdebug.tui.screens.main import MainScreen

REST_S = 0.35
"""The hand rests that much longer before the source is asked."""


async def foresee(screen: MainScreen) -> None:
    """Asks the source about the text in the editor, and marks what it says; nothing is shown of a text that changed."""
    editor, base, session = screen.editor, screen.edit_base, screen.session
    if editor is None or base is None or session is None or not session.is_linked:
        return
    await asyncio.sleep(REST_S)
    text = editor.text
    try:
        request = parse_request(text, base, screen.base_url)
    except RequestTextError:
        return
    if not is_json(request) or problem_of(request.body):
        return
    try:
        told = await session.check(request)
    except Exception as error:
        screen.show_problem(f"The source could not be asked: {type(error).__name__}: {error}", "warning")
        return
    if screen.editor is editor and editor.text == text:
        _show(screen, told, text, request.body)


def _show(screen: MainScreen, told: Diagnosis, text: str, body: bytes) -> None:
    editor = screen.editor
    if editor is None:
        return
    starts = body_line(text) - 1
    marks = marks_of(text.partition("\n\n")[2], told, body)
    editor.set_marks({starts + at: mark for at, mark in marks.items()})
    if told.kind == "none":
        screen.show_problem("")
    else:
        where = f" ({told.sites[0].file.rpartition('/')[2]}:{told.sites[0].line})" if told.sites else ""
        screen.show_problem(told.summary + where, "warning" if told.kind == "ignored_field" else "error")
