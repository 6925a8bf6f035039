"""Copying: a place, the request as curl, a body, the diagnosis, a line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from llmdebug.tui.acts.looking import tree_of
from llmdebug.tui.clipboard import copy
from llmdebug.tui.views.diagnosisview import diagnosis_text
from llmdebug.tui.views.rows import plain

if TYPE_CHECKING:
    from llmdebug.tui.screens.main import MainScreen


def choose(screen: MainScreen) -> None:
    """The next key says what."""
    screen.copying = True


def to_clipboard(screen: MainScreen, what: str, text: str) -> None:
    """Copies, and says what went where."""
    from llmdebug.recording.folder import HistoryError, state_folder

    try:
        folder = state_folder()
    except HistoryError:
        from pathlib import Path

        folder = Path("/nonexistent")
    driver = screen.app._driver
    written = driver.write if driver is not None else lambda _text: None
    where = copy(text, environment=os.environ, write=written, folder=folder)
    if driver is not None:
        driver.flush()
    screen.tell(f"{what} {where}.", "warning" if where.startswith("nowhere") else "ok")


def place(screen: MainScreen) -> None:
    site = screen.diagnosis.site
    if site is not None:
        tree = tree_of(screen, site)
        found = f"{tree.root / site.file if tree is not None else site.file}:{site.line}"
        to_clipboard(screen, found, found)


def curl(screen: MainScreen) -> None:
    from llmdebug.formats.curl import curl_command

    if screen.entry is not None:
        to_clipboard(screen, "curl command", curl_command(screen.entry.request))


def request_body(screen: MainScreen) -> None:
    if screen.entry is not None:
        to_clipboard(screen, "request body", screen.entry.request.body.decode("utf-8", "replace"))


def response_body(screen: MainScreen) -> None:
    exchange = screen.entry.exchange if screen.entry is not None else None
    if exchange is not None and exchange.response is not None:
        to_clipboard(screen, "response body", exchange.response.body.decode("utf-8", "replace"))
    else:
        screen.tell("There is no response body to copy.", "warning")


def diagnosis(screen: MainScreen) -> None:
    if screen.entry is not None and screen.entry.diagnosis is not None:
        to_clipboard(screen, "diagnosis", diagnosis_text(screen.entry.diagnosis))


def line(screen: MainScreen) -> None:
    pane = screen.pane
    if len(pane.rows):
        to_clipboard(screen, "line", plain(pane.rows.row(pane.cursor)).strip())
