"""Putting a remedy in place of the request."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from llmdebug.http.exchange import Request
from llmdebug.http.secrets import redact
from llmdebug.tui.commands import BY_NAME
from llmdebug.tui.worksheet import Applied, Entry

if TYPE_CHECKING:
    from llmdebug.debugger.session import Session, Trial
    from llmdebug.tui.screens.main import MainScreen


def apply(screen: MainScreen, number: int) -> None:
    """The remedy's request stands in the request pane from now on; nothing is sent yet."""
    from llmdebug.debugger.session import SessionError

    entry, session = screen.entry, screen.session
    if entry is None or session is None or entry.finding is None or entry.diagnosis is None:
        return
    finding = entry.finding
    try:
        proposed = session.apply(finding, number)
    except SessionError as error:
        screen.tell(str(error), "warning")
        return
    added = _added_when_sent(entry, finding.exchange.request)
    requests = [shown_request(screen, _without(request, added)) for request in proposed]
    title = entry.diagnosis.remedies[number - 1].title
    applied = Applied(number=number, title=title, finding=finding, request=requests[0])
    if len(requests) == 1:
        entry.remember()
        entry.request, entry.applied = requests[0], applied
    else:
        entry = _fan_out(screen, entry, requests, applied)
    screen.show_entry(home=True)
    send_key = screen.keymap.shown(BY_NAME["send"])
    many = f" It takes {len(requests)} requests, which go out one after the other." if len(requests) > 1 else ""
    screen.tell(f"Remedy {number}: {title}. Press {send_key} to send it.{many}")


def try_all(screen: MainScreen) -> None:
    """Sends every remedy; the request stays as it is."""
    if screen.entry is not None and screen.session is not None and screen.sending is None:
        screen.sending = screen.start(_try_all(screen, screen.session, screen.entry))


async def _try_all(screen: MainScreen, session: Session, entry: Entry) -> None:
    from llmdebug.debugger import experiment
    from llmdebug.debugger.session import SessionError
    from llmdebug.tui.acts.tokens import HeldRemedies

    def told(n: int, trial: Trial) -> None:
        entry.finding, entry.diagnosis = trial.finding, trial.finding.diagnosis
        following = trial.next.diagnosis.summary if trial.verdict == "settled" and trial.next is not None else ""
        screen.tell(f"Remedy {n}: {_ENDED[trial.verdict]}" + (f": {following}" if following else "."))

    try:
        if entry.finding is None:
            return
        held = HeldRemedies(screen, session, entry.finding)
        try:
            tried = await experiment.try_all(session, entry.finding, on_trial=told, hold=held.hold)
        except SessionError as error:
            screen.tell(f"{error}{held.told()}", "warning")
        else:
            outcomes = _outcomes(tried)
            screen.tell(outcomes + held.told(), "warning" if held.numbers else "text")
        screen.held = (entry.finding, frozenset(held.numbers))
    finally:
        screen.sending = None
        screen.show_entry()


_ENDED: dict[str, str] = {
    "confirmed": "answered",
    "settled": "refused for another reason",
    "refuted": "refused",
    "no_answer": "no answer",
}


def _outcomes(tried: list[tuple[int, Trial]]) -> str:
    """Which were answered, which not: `answered: 1, 3; refused for another reason: 4 (bad value); refused: 2`."""
    parts = []
    for verdict, word in _ENDED.items():
        numbers = [f"{n}{_next_kind(trial)}" for n, trial in tried if trial.verdict == verdict]
        if numbers:
            parts.append(f"{word}: {', '.join(numbers)}")
    return f"Remedies tried. {'; '.join(parts).capitalize()}."


def _next_kind(trial: Trial) -> str:
    if trial.verdict != "settled" or trial.next is None:
        return ""
    return f" ({trial.next.diagnosis.kind.replace('_', ' ')})"


def _added_when_sent(entry: Entry, wire: Request) -> frozenset[str]:
    """Headers that sending added: they will be added again."""
    own = {name.lower() for name, _ in (entry.sent or entry.request).headers}
    return frozenset(name.lower() for name, _ in wire.headers if name.lower() not in own)


def _without(request: Request, names: frozenset[str]) -> Request:
    headers = tuple(pair for pair in request.headers if pair[0].lower() not in names)
    return msgspec.structs.replace(request, headers=headers)


def _fan_out(screen: MainScreen, entry: Entry, requests: list[Request], applied: Applied) -> Entry:
    """A remedy of several requests: an entry for each, behind the one it replaces."""
    entries = []
    for place, request in enumerate(requests, start=1):
        named = msgspec.structs.replace(request, name=f"{entry.name} ({place}/{len(requests)})")
        made = screen.worksheet.insert_after_current(named)
        made.finding, made.diagnosis = entry.finding, entry.diagnosis
        entries.append(made)
    for one, following in pairwise(entries):
        one.next_of_fan_out = following
    first = entries[0]
    first.applied = Applied(number=applied.number, title=applied.title, finding=applied.finding, request=first.request)
    screen.worksheet.go(screen.worksheet.index_of(first))
    return first


def shown_request(screen: MainScreen, request: Request) -> Request:
    """The request as it is kept and shown: its secrets by name."""
    clean, found = redact(request, screen.secrets)
    screen.secrets.update(found)
    if screen.session is not None:
        screen.session.know(found, request.url)
    elif found:
        screen.early_secrets.append((found, request.url))
    return clean
