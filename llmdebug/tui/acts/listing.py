"""What is listed: the steps that meet a condition, the refusals by their place, an earlier replay, the history."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from llmdebug.http.baseurl import split
from llmdebug.tui.acts.remedies import shown_request
from llmdebug.tui.acts.sending import told_error
from llmdebug.tui.acts.stepping import refusal_of
from llmdebug.tui.panes.bars import Question, Refusal

if TYPE_CHECKING:
    from llmdebug.debugger.condition import Condition
    from llmdebug.debugger.stepper import Stepper
    from llmdebug.http.exchange import Exchange
    from llmdebug.tui.screens.main import MainScreen
    from llmdebug.tui.stepsheet import StepSheet


def filter_(screen: MainScreen) -> None:
    """Asks for a condition; an empty one lists all steps."""
    sheet = screen.steps
    if sheet is None:
        return

    def asked(text: str) -> Refusal | None:
        from llmdebug.debugger.condition import ConditionError, parse_condition

        if not text.strip():
            _show(screen, sheet, None, "")
            return None
        try:
            condition = parse_condition(text)
        except ConditionError as error:
            return refusal_of(error, text)
        screen.start(_filtered(screen, sheet, condition))
        return None

    screen.ask(Question("list where (empty: all)", sheet.filter, asked))


async def _filtered(screen: MainScreen, sheet: StepSheet, condition: Condition) -> None:
    from llmdebug.debugger.conditiontext import shortened
    from llmdebug.debugger.filter import matching

    stop = threading.Event()
    screen.tell(f"Looking for {shortened(condition.source)} …")
    attempts = sheet.stepper.attempts if sheet.stepper is not None else None
    try:
        found = await asyncio.to_thread(matching, condition, sheet.exchanges, attempts=attempts, cancelled=stop.is_set)
    except Exception as error:
        screen.tell(told_error(error), "error")
        return
    finally:
        stop.set()
    _show(screen, sheet, found, condition.source)


def _show(screen: MainScreen, sheet: StepSheet, found: list[int] | None, source: str) -> None:
    sheet.shown, sheet.filter = found, source
    screen.activate("requests")
    screen.requests.rebuild(home=True)
    screen.show_list()
    if found is None:
        screen.tell("All steps are listed.")
    else:
        from llmdebug.debugger.conditiontext import shortened

        told = f"{len(found):,} of {len(sheet.exchanges):,} steps: {shortened(source)}."
        screen.tell(told, "ok" if found else "warning")


def refusals(screen: MainScreen) -> None:
    """The refusals of this replay, by the line that refused."""
    from llmdebug.tui.screens.refusals import RefusalsScreen

    if screen.stepper is not None:
        screen.app.push_screen(RefusalsScreen(screen, screen.stepper))


def history(screen: MainScreen) -> None:
    """All that was ever sent and is kept."""
    from llmdebug.tui.screens.history import HistoryScreen

    screen.app.push_screen(HistoryScreen(screen))


def add_recorded(screen: MainScreen, exchange: Exchange) -> None:
    """An exchange of the history as a request of its own, with the answer that it got."""
    from llmdebug.tui.stepsheet import state_of

    entry = screen.worksheet.insert_after_current(shown_request(screen, exchange.request))
    if exchange.response is not None or exchange.failure is not None:
        entry.exchange, entry.sent, entry.state = exchange, entry.request, state_of(exchange)
        entry.is_recorded = True
    screen.base_url = screen.base_url or split(exchange.request.url)[0]
    screen.show_entry(home=True)
    screen.activate("request")


def resume(screen: MainScreen) -> None:
    """Looks for the last replay of this file in the history."""
    sheet, stepper = screen.steps, screen.stepper
    if sheet is not None and stepper is not None:
        screen.tell("Looking for the last replay …")
        screen.start(_resumed(screen, sheet, stepper))


async def _resumed(screen: MainScreen, sheet: StepSheet, stepper: Stepper) -> None:
    try:
        told = await asyncio.to_thread(_taken_up, stepper)
    except Exception as error:
        screen.tell(told_error(error), "error")
        return
    for step in list(sheet.steps.made):
        sheet.steps.forget(step)
    sheet.current = min(stepper.at, len(sheet.exchanges) - 1)
    screen.show_entry(home=True)
    screen.tell(told)


def _taken_up(stepper: Stepper) -> str:
    from llmdebug.debugger.resume import last_run, take_up
    from llmdebug.formats.lines_index import RecordedLines
    from llmdebug.recording.folder import state_folder
    from llmdebug.recording.history import FILE_NAME

    recorded = RecordedLines(state_folder() / FILE_NAME)
    run = last_run(recorded, stepper.file)
    if run is None or not run.answered:
        return "The history holds no replay of this file."
    take_up(stepper, recorded, run)
    return f"{len(run.answered):,} steps were answered; " + (
        "nothing is left to send." if stepper.done else f"step {stepper.at + 1:,} is next."
    )
