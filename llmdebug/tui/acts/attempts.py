"""The attempts of a step: each shown again with the request as it was sent, its answer and its diagnosis."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from llmdebug.tui.worksheet import Entry, same_request

if TYPE_CHECKING:
    from llmdebug.debugger.session import Session
    from llmdebug.debugger.stepper import Stepper
    from llmdebug.http.exchange import Request
    from llmdebug.tui.screens.main import MainScreen
    from llmdebug.tui.stepsheet import StepSheet


def before(screen: MainScreen) -> None:
    """The attempt before the one that is shown; before the first the recorded answer, before that the last."""
    entry, sheet = screen.entry, screen.steps
    if entry is None or sheet is None:
        return
    if entry.diagnosing:
        screen.tell("The diagnosis of this attempt is under way: look at the other one then.", "warning")
        return
    first = 0 if sheet.has_answer(entry) else 1
    shown = entry.attempt or (0 if entry.is_recorded else entry.attempts + 1)
    _start(screen, entry, shown - 1 if shown > first else entry.attempts)


def show_answer_of(screen: MainScreen, entry: Entry) -> None:
    """The last answer that the request got as it stands now, if any: no other's stands beside it."""
    stepper, sheet, step = screen.stepper, screen.steps, entry.step
    if stepper is None or sheet is None or step is None or entry.diagnosing:
        return
    count = len(stepper.attempts.of(step))
    asked = (n for n in range(count, 0, -1) if same_request(_request(stepper, entry, n), entry.request))
    number = next(asked, 0)
    if number or (sheet.has_answer(entry) and same_request(entry.original, entry.request)):
        _start(screen, entry, number)


def _request(stepper: Stepper, entry: Entry, number: int) -> Request:
    attempt = stepper.attempts.of(entry.step or 0)[number - 1]
    return entry.original if attempt.edit is None else attempt.edit


def _start(screen: MainScreen, entry: Entry, number: int) -> None:
    session, sheet = screen.session, screen.steps
    if session is not None and sheet is not None:
        screen.sending = screen.start(_shown(screen, session, sheet, entry, number))


async def _shown(screen: MainScreen, session: Session, sheet: StepSheet, entry: Entry, number: int) -> None:
    """Puts an attempt in the entry's place, the recorded one for 0; an edit that was not sent comes back with undo."""
    try:
        told = await _put(session, sheet, entry, number)
    finally:
        screen.sending = None
    if told:
        screen.tell(told, "warning")
        return
    if screen.entry is entry:
        screen.show_entry(home=True)
    await _traced(screen, session, sheet, entry)


async def _put(session: Session, sheet: StepSheet, entry: Entry, number: int) -> str:
    """Why it cannot be shown; empty where it is."""
    from llmdebug.debugger.outcome import outcome

    stepper, step = sheet.stepper, entry.step
    if stepper is None or step is None:
        return ""
    read = stepper.attempts.exchange if number else lambda at, _number: sheet.exchanges.exchange(at)
    exchange = await asyncio.to_thread(read, step, number - 1)
    if exchange is None:
        return f"Attempt {number} is kept nowhere: it cannot be shown again."
    entry.put_aside()
    entry.remember()
    entry.request = entry.sent = _request(stepper, entry, number) if number else entry.original
    entry.exchange = await asyncio.to_thread(session.redacted, exchange)
    entry.state = await asyncio.to_thread(outcome, exchange)
    attempt = stepper.attempts.of(step)[number - 1] if number else None
    entry.id, entry.away, entry.applied = attempt.id if attempt is not None else "", 0, None
    entry.attempt, entry.attempts, entry.is_recorded = number, len(stepper.attempts.of(step)), attempt is None
    recorded = sheet.exchanges.row(step)
    changed = attempt is not None and attempt.changed
    entry.was = str(recorded.status if recorded.status is not None else recorded.failure) if changed else ""
    said = entry.said.get(number)
    entry.finding, entry.diagnosis, entry.undiagnosed = None, None, ""
    entry.settled, entry.settled_text = "", ""
    if said is not None:
        entry.finding, entry.diagnosis, entry.undiagnosed = said.finding, said.diagnosis, said.undiagnosed
        entry.settled, entry.settled_text = said.settled, said.settled_text
    return ""


async def _traced(screen: MainScreen, session: Session, sheet: StepSheet, entry: Entry) -> None:
    """A refusal that was not diagnosed when it came is now."""
    stepper = sheet.stepper
    if stepper is None or entry.step is None or entry.state != "refused" or not entry.attempt:
        return
    if entry.attempt in entry.said or entry.undiagnosed:
        return
    from llmdebug.debugger.session import SentExchange
    from llmdebug.tui.acts.sending import diagnose

    exchange = await asyncio.to_thread(stepper.attempts.exchange, entry.step, entry.attempt - 1)
    if exchange is not None:
        await diagnose(screen, session, entry, SentExchange(id=entry.id, exchange=exchange))
