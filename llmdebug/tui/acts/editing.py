"""Changing the request: in the app's editor, in the user's own, or by a command."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING

import msgspec

from llmdebug.http.exchange import Request
from llmdebug.tui.acts.attempts import show_answer_of
from llmdebug.tui.acts.drafting import keep_now
from llmdebug.tui.acts.remedies import shown_request
from llmdebug.tui.opening import standard_requests
from llmdebug.tui.panes.bars import Question
from llmdebug.tui.requesttext import (
    MAX_EDITED_BYTES,
    RequestTextError,
    body_line,
    head_text,
    parse_request,
    request_text,
)
from llmdebug.tui.views.requestview import editable_body, is_json, marks_of, problem_of
from llmdebug.tui.views.responseview import size
from llmdebug.tui.views.streamtext import assistant_turn
from llmdebug.tui.worksheet import Entry

if TYPE_CHECKING:
    from llmdebug.tui.panes.editor import RequestEditor
    from llmdebug.tui.screens.main import MainScreen

CHECK_AFTER_S = 0.15
UNKNOWN_SERVER = "http://localhost:8000"


def edit(screen: MainScreen) -> None:
    """Opens the editor at the body."""
    _open(screen, None)


def edit_here(screen: MainScreen) -> None:
    """Opens the editor at the line under the cursor."""
    _open(screen, screen.request.body_line)


def _open(screen: MainScreen, line: int | None) -> None:
    entry = screen.entry or _new(screen)
    body = editable_body(entry.request.body)
    if body is None:
        told = f"a body of {size(len(entry.request.body))}, or one that is no text, is not edited here"
        other = screen.keymap.told("{edit-outside} opens your own editor.")
        screen.tell(f"{told} (up to {size(MAX_EDITED_BYTES)}): {other}", "warning")
        return
    from llmdebug.tui.panes.editor import RequestEditor

    text = request_text(entry.request, screen.base_url, body)
    screen.title_bar.update()
    editor = RequestEditor(text, screen.theme)
    editor.app_keys = frozenset(
        key for command in screen.keymap.in_context("editor") for key in screen.keymap.keys[command.name]
    )
    head_lines = head_text(entry.request, screen.base_url).count("\n")
    editor.set_marks(_marks(entry, body, head_lines))
    screen.activate("request")
    screen.editor = editor
    screen.edit_base = entry.request
    screen.place()
    screen.mount(editor, before=screen.bottom)
    row = head_lines + (line or 0) if entry.request.body else 0
    editor.move_cursor((min(row, editor.document.line_count - 1), 0))
    editor.focus()
    screen.request.refresh_title()


def _marks(entry: Entry, body: str, starts: int) -> dict[int, str]:
    """Marks by line of the whole text, whose body starts at a line."""
    if entry.diagnosis is None or entry.sent is None or entry.settled == "confirmed":
        return {}
    return {starts + at: mark for at, mark in marks_of(body, entry.diagnosis, entry.sent.body).items()}


def _new(screen: MainScreen) -> Entry:
    """A request to begin with, where there is none."""
    screen.base_url = screen.base_url or UNKNOWN_SERVER
    return screen.worksheet.insert_after_current(standard_requests(screen.base_url)[0])


def typed_request(screen: MainScreen) -> Request | None:
    """The request that stands in the editor; what is no request yet is kept as its body."""
    editor, base = screen.editor, screen.edit_base
    if editor is None or base is None:
        return None
    try:
        return parse_request(editor.text, base, screen.base_url)
    except RequestTextError:
        return msgspec.structs.replace(base, body=editor.text.encode("utf-8", "surrogatepass"))


def typed(screen: MainScreen) -> None:
    """A letter was typed: what stands there is checked when the hand rests, and kept within a second."""
    if screen.drafting is not None:
        screen.drafting.changed(screen)
    if screen.checking is not None:
        screen.checking.cancel()
    screen.checking = screen.start(_check_later(screen))


async def _check_later(screen: MainScreen) -> None:
    await asyncio.sleep(CHECK_AFTER_S)
    check(screen)
    from llmdebug.tui.acts.foreseeing import foresee

    await foresee(screen)


def check(screen: MainScreen) -> None:
    """What is wrong in the editor, while typing."""
    editor, base = screen.editor, screen.edit_base
    if editor is None or base is None:
        return
    text = editor.text
    try:
        request = parse_request(text, base, screen.base_url)
        problem = problem_of(request.body) if is_json(request) else ""
    except RequestTextError as error:
        problem = f"line {error.line}: {error}"
    if problem or screen.request.problem or screen.session is None or not screen.session.is_linked:
        screen.show_problem(problem)
    screen.request.problem = problem
    screen.request.refresh_title()
    entry = screen.entry
    if entry is not None and entry.diagnosis is not None:
        start = body_line(text) - 1
        body = text.partition("\n\n")[2]
        editor.set_marks(_marks(entry, body, start))


def closed(screen: MainScreen) -> bool:
    """Closes the editor and keeps the edit; False where the text is no request, which is told."""
    editor, base, entry = screen.editor, screen.edit_base, screen.entry
    if editor is None or base is None or entry is None:
        return False
    try:
        edited = parse_request(editor.text, base, screen.base_url)
    except RequestTextError as error:
        again = screen.keymap.told(" {leave-editor} again leaves it as it was.")
        editor.refused = editor.text
        if screen.checking is not None:
            screen.checking.cancel()
        screen.show_problem(f"not left: line {error.line}: {error}{again}")
        return False
    if editable_body(base.body) == edited.body.decode("utf-8", "replace"):
        edited = msgspec.structs.replace(edited, body=base.body)
    entry.request = shown_request(screen, edited)
    _take_away(screen, editor)
    return True


def _take_away(screen: MainScreen, editor: RequestEditor) -> None:
    screen.editor = screen.edit_base = None
    screen.request.problem = ""
    screen.show_problem("")
    screen.set_focus(None)
    editor.remove()
    screen.place()
    screen.show_entry()


def leave(screen: MainScreen) -> None:
    """What is no request is left only when it is asked for twice, and kept as a draft."""
    editor = screen.editor
    if editor is not None and editor.text == editor.refused:
        _give_up(screen, editor)
    else:
        closed(screen)


def _give_up(screen: MainScreen, editor: RequestEditor) -> None:
    typed_so_far, drafting = typed_request(screen), screen.drafting
    _take_away(screen, editor)
    told = "The request is as it was before the edit"
    if drafting is not None and typed_so_far is not None and not drafting.save(typed_so_far, dict(screen.secrets)):
        drafting.offered, drafting.offered_at = typed_so_far, time.time()
        told += screen.keymap.told("; {take-draft} takes up what was typed, as its body")
    screen.tell(f"{told}.", "warning")


def leave_and_send(screen: MainScreen) -> None:
    from llmdebug.tui.acts.sending import send

    if closed(screen):
        send(screen)


def format_body(screen: MainScreen) -> None:
    """Indents the JSON in the editor anew."""
    editor = screen.editor
    if editor is None:
        return
    head, _, body = editor.text.partition("\n\n")
    formatted = editable_body(body.encode("utf-8", "surrogatepass"))
    if formatted is not None and formatted != body:
        end = editor.document.end
        row = editor.cursor_location[0]
        editor.replace(f"{head}\n\n{formatted}", (0, 0), end)
        editor.move_cursor((min(row, editor.document.line_count - 1), 0))


def undo(screen: MainScreen) -> None:
    """Back to the request before this one: what was sent, what a remedy or a paste replaced, or what it came as."""
    entry = screen.entry
    if entry is None:
        return
    entry.go_back()
    screen.show_entry(home=True)
    if entry.is_stale:
        show_answer_of(screen, entry)


def duplicate(screen: MainScreen) -> None:
    entry = screen.entry
    if entry is not None:
        copied = msgspec.structs.replace(entry.request, name=f"{entry.name} copy")
        screen.worksheet.insert_after_current(copied)
        screen.show_entry(home=True)


def append_turn(screen: MainScreen) -> None:
    """Adds the answer to the messages, and an empty turn of the user behind it."""
    entry, text = screen.entry, screen.response.text
    message = assistant_turn(text) if text is not None else None
    if entry is None or message is None:
        screen.tell("The answer holds no assistant message to append.", "warning")
        return
    try:
        body = msgspec.json.decode(entry.request.body)
    except msgspec.DecodeError:
        body = None
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        screen.tell("The request has no list of messages to append to.", "warning")
        return
    turns = [*body["messages"], message]
    turns += [
        {"role": "tool", "tool_call_id": call["id"], "content": ""} for call in message.get("tool_calls", [])
    ] or [{"role": "user", "content": ""}]
    changed = msgspec.json.encode({**body, "messages": turns})
    grown = msgspec.structs.replace(entry.request, body=changed, name=f"{entry.name}, next turn")
    screen.worksheet.insert_after_current(grown)
    screen.show_entry(home=True)
    edit(screen)
    _to_empty_content(screen)


def _to_empty_content(screen: MainScreen) -> None:
    """The cursor between the quotes of the last empty content."""
    editor = screen.editor
    if editor is None:
        return
    lines = editor.text.split("\n")
    for row in range(len(lines) - 1, -1, -1):
        column = lines[row].find('"content": ""')
        if column >= 0:
            editor.move_cursor((row, column + len('"content": "')))
            return


def save(screen: MainScreen) -> None:
    """Appends the request to a .http file; the session's own is proposed."""
    entry = screen.entry
    if entry is None:
        return

    def chosen(path: str) -> None:
        if path.strip():
            screen.start(_save(screen, entry, os.path.expanduser(path.strip())))

    screen.ask(Question("append to", screen.save_file or screen.opening.file or "requests.http", chosen))


async def _save(screen: MainScreen, entry: Entry, path: str) -> None:
    from llmdebug.formats.errors import FormatError
    from llmdebug.formats.http_writing import append_http_file

    try:
        await asyncio.to_thread(append_http_file, path, entry.request)
    except FormatError as error:
        screen.tell(str(error), "error")
        return
    screen.save_file = path
    screen.tell(f"Saved to {path}; secrets stand there by name.", "ok")


def edit_outside(screen: MainScreen) -> None:
    """The whole request in the user's editor."""
    from llmdebug.tui.acts.looking import run_editor
    from llmdebug.tui.editor import edited_text

    entry = screen.entry
    if entry is None:
        return
    body = editable_body(entry.request.body)
    if body is None:
        try:
            body = entry.request.body.decode("utf-8")
        except UnicodeDecodeError:
            screen.tell("The body is no text: it cannot be edited.", "warning")
            return
    text = request_text(entry.request, screen.base_url, body)
    line = head_text(entry.request, screen.base_url).count("\n") + 1
    changed, told = edited_text(text, line, lambda arguments: run_editor(screen, arguments), screen.editor_command)
    if told:
        screen.tell(told, "error")
    if changed is None or changed == text:
        return
    try:
        edited = parse_request(changed, entry.request, screen.base_url)
    except RequestTextError as error:
        screen.tell(f"line {error.line}: {error} The request stays as it was.", "error")
        unreadable = msgspec.structs.replace(entry.request, body=changed.encode("utf-8", "surrogatepass"))
        if screen.drafting is not None:
            screen.drafting.save(unreadable, dict(screen.secrets))
        return
    entry.request = shown_request(screen, edited)
    screen.show_entry()
    keep_now(screen)
