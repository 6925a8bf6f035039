"""Sending a request, showing its answer as it comes in, and asking for a diagnosis of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from llmdebug.http.exchange import Exchange, Failure, StreamEvent
from llmdebug.tui.acts.arriving import take_answer, tell_warnings, watch_arrival
from llmdebug.tui.acts.tokens import is_held_back, weigh
from llmdebug.tui.views.responseview import status_spans
from llmdebug.tui.views.rows import plain
from llmdebug.tui.views.safetext import shorten
from llmdebug.tui.worksheet import Entry, same_request

if TYPE_CHECKING:
    from llmdebug.debugger.session import Finding, SentExchange, Session, Trial
    from llmdebug.tui.screens.main import MainScreen

LOOK_EACH_S = 0.3
"""How often is looked how far a diagnosis is."""


def send(screen: MainScreen) -> None:
    """Sends what stands in the request pane, and after it the rest of a remedy of several requests."""
    entry = screen.entry
    if entry is None or screen.sending is not None:
        return
    if screen.session is None and not screen.ready.is_set():
        screen.tell("It is sent as soon as the debugger is loaded.")
    screen.sending = screen.start(send_when_ready(screen, entry))


def cancel(screen: MainScreen) -> None:
    """Once; after it, and once the answer is all there, what arrived is only put away."""
    if screen.sending is not None and not screen.ending:
        screen.sending.cancel()


async def send_when_ready(screen: MainScreen, entry: Entry) -> None:
    try:
        await screen.ready.wait()
        if screen.session is not None:
            if await is_held_back(screen, screen.session, entry):
                return
            await _send_all(screen, screen.session, entry)
        else:
            screen.tell(screen.broken, "error")
    finally:
        screen.sending = None


async def _send_all(screen: MainScreen, session: Session, first: Entry) -> None:
    sent: list[SentExchange] = []
    applied = first.applied
    as_proposed = applied is not None and applied.request.body == first.request.body
    entry: Entry | None = first
    try:
        while entry is not None:
            made = await _send_one(screen, session, entry)
            if made is None:
                break
            sent.append(made)
            if entry.state != "answered":
                break
            entry, before = entry.next_of_fan_out, entry
            if entry is not None and screen.entry is before:
                screen.worksheet.go(screen.worksheet.index_of(entry))
    finally:
        screen.sending = None
        screen.show_entry()
    if applied is not None and as_proposed and sent:
        await _settle(screen, session, first, sent)
    elif sent:
        await diagnose(screen, session, first, sent[-1])
    _tell_unseen(screen, first)


async def _send_one(screen: MainScreen, session: Session, entry: Entry) -> SentExchange | None:
    """None where it was cancelled or could not be sent at all."""
    _begin(entry)
    screen.show_entry()
    watching = asyncio.create_task(watch_arrival(screen, entry))
    partial: list[Exchange] = []

    def received(count: int) -> None:
        entry.received = count

    def cancelled(left: Exchange) -> None:
        entry.ending = screen.ending = True
        partial.append(left)
        screen.tell("Cancelled: the connection is closed.", "warning")
        screen.response.refresh_title()

    try:
        made = await _made(
            screen, session, entry, on_event=entry.events.append, on_bytes=received, on_partial=cancelled
        )
        entry.ending = screen.ending = True
        entry.id = made.id
        await take_answer(screen, session, entry, made.exchange)
    except asyncio.CancelledError:
        unsent = Failure(kind="cancelled", message="Cancelled before the request was sent.")
        left = partial[-1] if partial else Exchange(request=entry.request, failure=unsent)
        await take_answer(screen, session, entry, left)
        return None
    except Exception as error:
        entry.exchange, entry.sent, entry.state = None, None, "new"
        screen.tell(told_error(error), "error")
        return None
    finally:
        watching.cancel()
        entry.ending = screen.ending = False
        entry.events, entry.received = [], 0
    tell_warnings(screen, session)
    return made


async def _made(
    screen: MainScreen,
    session: Session,
    entry: Entry,
    *,
    on_event: Callable[[StreamEvent], None],
    on_bytes: Callable[[int], None],
    on_partial: Callable[[Exchange], None],
) -> SentExchange:
    """A step of a recording is sent by its stepper, which keeps it beside the recorded one."""
    stepper = screen.stepper
    if stepper is None or entry.step is None:
        request = entry.request if stepper is None else stepper.filled(entry.request)
        return await session.send(request, on_event=on_event, on_bytes=on_bytes, on_partial=on_partial)
    if same_request(entry.request, entry.original):
        stepper.edits.pop(entry.step, None)
    else:
        stepper.edits[entry.step] = entry.request
    before = len(stepper.attempts.of(entry.step))
    try:
        return await stepper.resend(entry.step, on_event=on_event)
    except asyncio.CancelledError:
        left = stepper.attempts.exchange(entry.step)
        if left is not None and len(stepper.attempts.of(entry.step)) > before:
            on_partial(left)
        raise


def _begin(entry: Entry) -> None:
    entry.state = "waiting"
    entry.began = time.monotonic()
    entry.events, entry.received = [], 0
    entry.remember()
    entry.put_aside()
    entry.sent = entry.request
    entry.finding = entry.diagnosis = entry.exchange = None
    entry.id, entry.away = "", 0
    entry.settled, entry.settled_text, entry.undiagnosed = "", "", ""
    entry.is_recorded, entry.was = False, ""


async def diagnose(screen: MainScreen, session: Session, entry: Entry, sent: SentExchange, *, log: str = "") -> None:
    """Asks for a diagnosis of an answer, `log` beside it, and shows how far that is."""
    finding = await _watched(screen, entry, session, sent, log)
    if finding is None:
        return
    entry.finding = finding
    said = finding.diagnosis
    silent = said.kind == "none" and (not said.notes or (not screen.linked and entry.state == "answered"))
    entry.diagnosis = None if silent else said
    if screen.stepper is not None and entry.step is not None:
        from llmdebug.debugger.facts import judged

        screen.stepper.attempts.judge(entry.step, judged(said), entry.attempt - 1)
    _show_diagnosis(screen, entry)
    screen.start(weigh(screen, session, entry, finding))


async def _watched(screen: MainScreen, entry: Entry, session: Session, sent: SentExchange, log: str) -> Finding | None:
    def progress(what: str, done: int, of: int) -> None:
        entry.diagnosing = f"{what} {done:,}/{of:,}"

    entry.diagnosing, entry.undiagnosed = "reading the answer", ""
    watching = asyncio.create_task(_watch(screen, entry))
    try:
        return await session.diagnose(sent, log=log, progress=progress)
    except Exception as error:
        entry.undiagnosed = told_error(error)
        return None
    finally:
        watching.cancel()
        entry.diagnosing = ""
        if screen.entry is entry:
            screen.diagnosis.show(entry, linked=screen.linked)


async def _watch(screen: MainScreen, entry: Entry) -> None:
    shown = ""
    while True:
        await asyncio.sleep(LOOK_EACH_S)
        if screen.entry is entry and entry.diagnosing != shown:
            shown = entry.diagnosing
            screen.diagnosis.refresh_title()


async def _settle(screen: MainScreen, session: Session, entry: Entry, sent: list[SentExchange]) -> None:
    """A remedy was sent: what its answer says of the diagnosis."""
    applied = entry.applied
    if applied is None:
        return
    entry.applied = None
    entry.diagnosing = "settling the diagnosis"
    try:
        trial: Trial = await session.settle(applied.finding, applied.number, sent)
    except Exception as error:
        entry.undiagnosed = told_error(error)
        _show_diagnosis(screen, entry)
        return
    finally:
        entry.diagnosing = ""
    last = sent[-1].exchange
    answered = f"answered {last.response.status}" if last.response is not None else "no answer"
    told = {
        "confirmed": f"Confirmed by experiment: “{applied.title}” was {answered}.",
        "settled": f"Settled: “{applied.title}” gets past this refusal ({answered}). Refused next:",
        "refuted": f"Refuted: “{applied.title}” was refused too ({answered}). The next diagnosis:",
        "no_answer": f"Still open: “{applied.title}” got no complete answer.",
    }
    shown = trial.next if trial.next is not None else trial.finding
    for of_trial in _fan_out(entry):
        of_trial.settled, of_trial.settled_text = trial.verdict, told[trial.verdict]
        of_trial.finding, of_trial.diagnosis = shown, shown.diagnosis
    _show_diagnosis(screen, entry)


def _tell_unseen(screen: MainScreen, entry: Entry) -> None:
    """Where one pane fills the terminal, what became of the request is told in the last line."""
    if not (screen.is_single or screen.zoomed) or screen.active != "request" or screen.entry is not entry:
        return
    if entry.exchange is None:
        return
    role, status = "ok" if entry.state == "answered" else "error", plain(status_spans(entry.exchange))
    told = entry.settled_text or entry.undiagnosed or (entry.diagnosis.summary if entry.diagnosis is not None else "")
    status += f". {shorten(told, 2 * screen.size.width)}" if told else "."
    screen.tell(status + screen.keymap.told(" {next-pane} shows more."), role)


def _fan_out(entry: Entry) -> list[Entry]:
    entries = [entry]
    while entries[-1].next_of_fan_out is not None:
        entries.append(entries[-1].next_of_fan_out)
    return entries


def _show_diagnosis(screen: MainScreen, entry: Entry) -> None:
    here = screen.entry
    if here is not None and here in _fan_out(entry):
        screen.request.rebuild()
        screen.diagnosis.show(here, linked=screen.linked)
    screen.title_bar.update()
    screen.bottom.update()


def told_error(error: Exception) -> str:
    """A sentence for the user; the debugger's own errors are sentences already."""
    from llmdebug.debugger.answervariables import VariableError
    from llmdebug.debugger.conditiontext import SlowExpressionError
    from llmdebug.debugger.session import SessionError
    from llmdebug.formats.errors import FormatError
    from llmdebug.http.options import ClientOptionsError

    if isinstance(error, SessionError | ClientOptionsError | FormatError | VariableError | SlowExpressionError):
        return str(error)
    return f"an error of llmdebug itself: {type(error).__name__}: {error}"
