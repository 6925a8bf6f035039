"""An answer that is coming in, shown as it grows; and one that is there, read beside the event loop."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from llmdebug.http.exchange import Exchange
from llmdebug.tui.acts.drafting import forget_draft
from llmdebug.tui.acts.keeping import bring_back, make_room
from llmdebug.tui.views.reading import QUICK_BYTES, read_response
from llmdebug.tui.worksheet import Entry

if TYPE_CHECKING:
    from llmdebug.debugger.session import Session
    from llmdebug.tui.screens.main import MainScreen

TICK_S = 0.1
TURN_S = 0.008
"""How long the event loop is held while a stream's events are read."""


async def watch_arrival(screen: MainScreen, entry: Entry) -> None:
    """Shows that time passes, and what has arrived; nothing is drawn where nothing changed."""
    pane = screen.response
    shown = (-1, 0, 0)
    while True:
        await asyncio.sleep(TICK_S)
        now = (int(entry.waited), len(entry.events), entry.received)
        if screen.entry is not entry or now == shown:
            continue
        await _feed(screen, entry)
        if screen.entry is not entry or entry.state != "waiting":
            continue
        if now[1:] == shown[1:] and entry.events:
            pane.refresh_title()
        else:
            follows = pane.is_at_end or not shown[1]
            pane.rebuild()
            if entry.events and follows:
                pane.move_end()
        shown = now


async def _feed(screen: MainScreen, entry: Entry) -> None:
    """The text of what has arrived, in turns."""
    while True:
        if screen.entry is not entry or screen.response.feed(entry, time.perf_counter() + TURN_S):
            return
        await asyncio.sleep(0)


async def take_answer(screen: MainScreen, session: Session, entry: Entry, made: Exchange) -> None:
    """The answer, or what arrived of it, without its secrets, in the entry and on the screen."""
    from llmdebug.debugger.outcome import outcome

    response = made.response
    reading = None
    if response is None or len(response.body) <= QUICK_BYTES:
        entry.exchange, entry.state = session.redacted(made), outcome(made)
    else:
        exchange = await asyncio.to_thread(session.redacted, made)
        if exchange.response is not None:
            reading = await asyncio.to_thread(read_response, exchange.response)
        entry.exchange, entry.state = exchange, await asyncio.to_thread(outcome, made)
    make_room(screen, entry)
    if screen.steps is not None and entry.step is not None:
        entry.was = screen.steps.was(entry.step)
        count = len(screen.stepper.attempts.of(entry.step)) if screen.stepper is not None else 0
        entry.attempt, entry.attempts = count if count > entry.attempts else 0, count
    if screen.entry is entry:
        screen.response.show(entry, reading=reading)
        screen.request.show(entry, screen.base_url)
        screen.diagnosis.show(entry, linked=screen.linked)
    forget_draft(screen, entry)
    screen.show_list()


def read_later(screen: MainScreen, entry: Entry, exchange: Exchange) -> None:
    """A large answer that is looked at again: shown when it is read."""
    screen.start(_read(screen, entry, exchange))


async def _read(screen: MainScreen, entry: Entry, exchange: Exchange) -> None:
    make_room(screen, entry)
    if entry.away and screen.session is not None:
        await bring_back(screen, screen.session, entry)
        exchange = entry.exchange or exchange
    if exchange.response is None:
        return
    reading = await asyncio.to_thread(read_response, exchange.response)
    if screen.entry is entry and entry.exchange is exchange:
        screen.response.show(entry, reading=reading)


def tell_warnings(screen: MainScreen, session: Session) -> None:
    """What went wrong beside the work, each sentence once."""
    new = [warning for warning in session.warnings if warning not in screen.told_warnings]
    if new:
        screen.told_warnings.update(new)
        screen.tell(" ".join(new), "warning")
