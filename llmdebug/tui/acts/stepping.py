"""Stepping through a recording: the debugger's verbs, by key."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from llmdebug.tui.acts.arriving import TICK_S, tell_warnings
from llmdebug.tui.acts.sending import diagnose, send_when_ready, told_error
from llmdebug.tui.panes.bars import Question, Refusal

if TYPE_CHECKING:
    from llmdebug.debugger.condition import ConditionError
    from llmdebug.debugger.stepper import Stepper, Stop
    from llmdebug.tui.screens.main import MainScreen
    from llmdebug.tui.stepsheet import StepSheet

YES = frozenset({"y", "yes"})


def step(screen: MainScreen) -> None:
    """Sends the next step, and looks at it."""
    stepper, sheet = screen.stepper, screen.steps
    if stepper is None or sheet is None:
        return
    if stepper.done:
        screen.tell(screen.keymap.told("All steps are done: {restart} begins again."))
        return
    sheet.current = stepper.at
    told = stepper.pass_over()
    screen.show_entry(home=True)
    if told:
        screen.show_list()
        screen.tell(told, "warning")
        return
    screen.sending = screen.start(_step(screen, stepper, sheet))


async def _step(screen: MainScreen, stepper: Stepper, sheet: StepSheet) -> None:
    from llmdebug.debugger.attempts import is_done

    here, before = stepper.at, len(stepper.attempts.of(stepper.at))
    await send_when_ready(screen, sheet.entries[here])
    if stepper.at == here and any(is_done(one.row) for one in stepper.attempts.of(here)[before:]):
        stepper.go_to(here + 1)
        screen.show_list()


def go_on(screen: MainScreen) -> None:
    """To the next breakpoint, or to the end."""
    _agreed(screen, None)


def run_to_here(screen: MainScreen) -> None:
    """Up to the step under the cursor of the list, or the one that is looked at."""
    sheet, stepper = screen.steps, screen.stepper
    if sheet is None or stepper is None:
        return
    to = screen.requests.under_cursor if screen.active == "requests" else sheet.current
    if to <= stepper.at:
        screen.tell(f"Step {stepper.at + 1:,} is next: run to a later one.", "warning")
    else:
        _agreed(screen, min(to, len(sheet.exchanges)))


def _agreed(screen: MainScreen, to: int | None) -> None:
    """Asks before many requests go out."""
    from llmdebug.debugger.stepper import ASK_ABOVE

    stepper = screen.stepper
    if stepper is None:
        return
    count = stepper.left(to)
    if not count:
        screen.tell(screen.keymap.told("All steps are done: {restart} begins again."))
    elif count <= ASK_ABOVE:
        screen.sending = screen.start(_go_on(screen, stepper, to))
    else:

        def answered(text: str) -> None:
            if text.strip().lower() in YES:
                screen.sending = screen.start(_go_on(screen, stepper, to))
            else:
                screen.tell("Nothing was sent.")

        screen.ask(Question(f"send {count:,} requests? [y/N]", "", answered))


async def _go_on(screen: MainScreen, stepper: Stepper, to: int | None) -> None:
    sheet = screen.steps
    if sheet is None:
        return
    stepper.edits.update(sheet.edited())
    screen.replaying, stepper.diagnose = True, screen.linked
    watching = asyncio.create_task(_watch(screen, stepper))
    began = stepper.at
    stop: Stop | None = None
    try:
        stop = await stepper.go_on(to=to, agreed=True)
    except asyncio.CancelledError:
        screen.tell(f"Stopped before step {stepper.at + 1:,}. What was answered is kept.", "warning")
    except Exception as error:
        screen.tell(told_error(error), "error")
    finally:
        watching.cancel()
        screen.replaying, stepper.diagnose, screen.sending = False, False, None
        for sent in range(began, min(stepper.at + 1, len(sheet.exchanges))):
            sheet.steps.forget(sent)
    await _look(screen, sheet, stop)
    tell_warnings(screen, stepper.session)


async def _watch(screen: MainScreen, stepper: Stepper) -> None:
    """How far it is, where it changed."""
    shown = -1
    while True:
        await asyncio.sleep(TICK_S)
        if stepper.at != shown:
            shown = stepper.at
            screen.requests.rebuild()
            screen.title_bar.update()


async def _look(screen: MainScreen, sheet: StepSheet, stop: Stop | None) -> None:
    """Shows the step that brought the stop, and traces its refusal."""
    stepper = screen.stepper
    if stepper is None:
        return
    at = stepper.at if stop is None or stop.last is None else stop.last
    if stop is not None and stop.why == "end":
        at = len(sheet.exchanges) - 1
    sheet.current = min(at, len(sheet.exchanges) - 1)
    screen.show_entry(home=True)
    if stop is None:
        return
    attempt = sheet.attempt(sheet.current)
    entry, session = screen.entry, screen.session
    screen.tell(told_stop(stop, len(sheet.exchanges)), "warning" if stop.why == "unreachable" else "text")
    now = stepper.attempts.exchange(sheet.current)
    if attempt is not None and attempt.outcome == "refused" and entry is not None and session is not None and now:
        from llmdebug.debugger.session import SentExchange

        await diagnose(screen, session, entry, SentExchange(id=attempt.id, exchange=now))


def told_stop(stop: Stop, count: int) -> str:
    """One sentence."""
    from llmdebug.debugger.conditiontext import shortened

    condition = shortened(stop.condition)
    following = f"step {stop.at + 1:,} is next" if stop.at < count else "it was the last step"
    if stop.why == "breakpoint" and stop.last is None:
        return f"Stopped before step {stop.at + 1:,}: {condition or 'a breakpoint is there'}."
    if stop.why == "breakpoint":
        return f"Stopped behind step {(stop.last or 0) + 1:,}: {condition}; {following}."
    if stop.why == "stream":
        return f"Stopped inside the stream of step {(stop.last or 0) + 1:,}: {condition}; {following}."
    if stop.why == "unreachable":
        return f"Stopped at step {stop.at + 1:,}: the server cannot be reached."
    return "All steps are done." if stop.why == "end" else f"Stopped before step {stop.at + 1:,}."


def break_(screen: MainScreen) -> None:
    """A condition, or a mark on the step under the cursor; the same again takes it away."""
    stepper, sheet = screen.stepper, screen.steps
    if stepper is None or sheet is None:
        return
    here = screen.requests.under_cursor if screen.active == "requests" else sheet.current

    def asked(text: str) -> Refusal | None:
        from llmdebug.debugger.condition import ConditionError

        try:
            told = _broken(stepper, text.strip(), here)
        except ConditionError as error:
            return refusal_of(error, text)
        screen.show_list()
        screen.tell(told, "ok")
        return None

    screen.ask(Question(f"break when (empty: at step {here + 1:,})", "", asked))


def refusal_of(error: ConditionError, text: str) -> Refusal:
    """What is wrong with a condition that was typed."""
    indent = len(text) - len(text.lstrip()) if error.source != text else 0
    at = error.offset + indent
    return Refusal(f"column {at + 1}: {error.expected}", at)


def _broken(stepper: Stepper, source: str, here: int) -> str:
    """Sets or takes away a breakpoint; what to tell. Raises ConditionError."""
    from llmdebug.debugger.condition import parse_condition
    from llmdebug.debugger.conditiontext import shortened

    if not source:
        stepper.marks ^= {here}
        set_ = here in stepper.marks
        return f"The breakpoint at step {here + 1:,} is {'set' if set_ else 'taken away'}."
    known = [one for one in stepper.breakpoints if one.source == source]
    if known:
        stepper.breakpoints.remove(known[0])
        return f"No break any more when {shortened(source)}."
    stepper.breakpoints.append(parse_condition(source))
    return f"Break when {shortened(source)}."


def skip(screen: MainScreen) -> None:
    """Passes over the next step."""
    stepper, sheet = screen.stepper, screen.steps
    if stepper is None or sheet is None or stepper.done:
        return
    sheet.current = stepper.at
    stepper.skip()
    screen.show_entry(home=True)
    screen.tell(f"Step {sheet.current + 1:,} is skipped.")


def restart(screen: MainScreen) -> None:
    """From the first step again; breakpoints and edits stay."""
    stepper, sheet = screen.stepper, screen.steps
    if stepper is None or sheet is None:
        return
    stepper.restart()
    for step in list(sheet.steps.made):
        sheet.steps.forget(step)
    sheet.current = 0
    screen.show_entry(home=True)
    screen.tell("At the first step again; what was sent is in the history.")


def pace(screen: MainScreen) -> None:
    """Between no waiting and the recorded times."""
    stepper = screen.stepper
    if stepper is None:
        return
    stepper.pace = "recorded" if stepper.pace == "none" else "none"
    told = "Steps wait for one another as they did when they were recorded."
    screen.tell(told if stepper.pace == "recorded" else "Steps follow one another without a pause.")
