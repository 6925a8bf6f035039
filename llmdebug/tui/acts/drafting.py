"""Unsent edits, kept each second and offered again after a dropped connection."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from llmdebug.http.exchange import Request
from llmdebug.tui.worksheet import Entry, same_request

if TYPE_CHECKING:
    from llmdebug.tui.screens.main import MainScreen

EACH_S = 1.0


class Drafting:
    """Keeps the edit under way of one session."""

    def __init__(self, session_name: str) -> None:
        self.session_name = session_name
        self.offered: Request | None = None
        """A draft of an earlier run that the user may take up again."""
        self.offered_at = 0.0
        self._saved: Request | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._problem = ""

    def changed(self, screen: MainScreen) -> None:
        """Something was typed: it is kept within a second."""
        if self._waiting is None or self._waiting.done():
            self._waiting = screen.start(self._later(screen))

    async def _later(self, screen: MainScreen) -> None:
        await asyncio.sleep(EACH_S)
        request = edited_request(screen)
        if request is None or (self._saved is not None and same_request(request, self._saved)):
            return
        problem = await asyncio.to_thread(self.save, request, dict(screen.secrets))
        if problem and problem != self._problem:
            self._problem = problem
            screen.tell(f"The unsent edit is not kept: {problem}", "warning")

    def save(self, request: Request, secrets: dict[str, str]) -> str:
        """Why it cannot be kept; empty where it is."""
        from llmdebug.recording.drafts import Drafts
        from llmdebug.recording.folder import HistoryError

        try:
            Drafts().save(self.session_name, request, secrets)
        except HistoryError as error:
            return str(error)
        self._saved = request
        return ""

    def load(self) -> None:
        """Looks for a draft of an earlier run."""
        from llmdebug.recording.drafts import Drafts
        from llmdebug.recording.folder import HistoryError

        try:
            draft = Drafts().load(self.session_name)
        except HistoryError as error:
            self._problem = str(error)
            return
        if draft is not None:
            self.offered, self.offered_at = draft.request, draft.saved_at

    def forget(self) -> None:
        from llmdebug.recording.drafts import Drafts
        from llmdebug.recording.folder import HistoryError

        self._saved = self.offered = None
        try:
            Drafts().discard(self.session_name)
        except HistoryError as error:
            self._problem = str(error)


def edited_request(screen: MainScreen) -> Request | None:
    """The edit as it stands: what is in the editor, else the request where it was changed."""
    entry = screen.entry
    if screen.editor is not None:
        from llmdebug.tui.acts.editing import typed_request

        return typed_request(screen)
    return entry.request if entry is not None and entry.is_changed else None


def keep_now(screen: MainScreen) -> None:
    """For an end without warning: keeps the edit at once."""
    request = edited_request(screen)
    if request is not None and screen.drafting is not None:
        screen.drafting.save(request, dict(screen.secrets))


def forget_draft(screen: MainScreen, entry: Entry) -> None:
    """The edit was sent: it is in the history now."""
    if screen.drafting is not None and not entry.is_changed and screen.editor is None:
        screen.start(_forget(screen.drafting))


async def _forget(drafting: Drafting) -> None:
    await asyncio.to_thread(drafting.forget)


def take_up(screen: MainScreen) -> None:
    """The draft of an earlier run becomes the edit of its request, or a request of its own."""
    drafting = screen.drafting
    if drafting is None or drafting.offered is None:
        screen.tell("No unsent edit was kept.")
        return
    draft, drafting.offered = drafting.offered, None
    place = screen.worksheet.named(draft.name) if draft.name else -1
    if place >= 0:
        screen.worksheet.go(place)
        screen.worksheet.entries[place].request = draft
    else:
        screen.worksheet.insert_after_current(draft)
    screen.show_entry(home=True)
    screen.activate("request")


def offer(screen: MainScreen) -> None:
    """Says that there is a draft, and which key takes it up."""
    drafting = screen.drafting
    if drafting is None or drafting.offered is None:
        return
    if screen.worksheet.holds(drafting.offered):
        drafting.offered = None
        return
    when = time.strftime("%d %b %H:%M", time.localtime(drafting.offered_at))
    from llmdebug.tui.commands import BY_NAME

    key = screen.keymap.shown(BY_NAME["take-draft"])
    name = drafting.offered.name or drafting.offered.url
    screen.tell(f"An unsent edit of {name} from {when} was kept: {key} takes it up again.", "warning")
