"""The worksheet of a recording: an entry for each of its steps, made when it is looked at; there may be 100,000.

What is added beside them (a copy, a pasted request) stands behind the steps.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, MutableSequence
from typing import TYPE_CHECKING, overload

from llmdebug.debugger.aim import Aim, aimed
from llmdebug.formats.exchanges import Exchanges, Row
from llmdebug.http.exchange import Exchange, Request
from llmdebug.http.secrets import redact_exchange
from llmdebug.tui.worksheet import Entry, State, Worksheet, same_request

if TYPE_CHECKING:
    from llmdebug.debugger.attempts import Attempt
    from llmdebug.debugger.stepper import Stepper

MADE = 256
"""Entries that nobody touched and that stay in memory."""


class StepEntries(MutableSequence[Entry]):
    """The steps' entries, and behind them those that were added."""

    def __init__(self, count: int, make: Callable[[int], Entry]) -> None:
        self._count = count
        self._make = make
        self.made: dict[int, Entry] = {}
        self.added: list[Entry] = []

    def __len__(self) -> int:
        return self._count + len(self.added)

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> MutableSequence[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | MutableSequence[Entry]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = index if index >= 0 else index + len(self)
        if not 0 <= place < len(self):
            raise IndexError(index)
        if place >= self._count:
            return self.added[place - self._count]
        found = self.made.get(place)
        if found is None:
            self._make_room()
            found = self.made[place] = self._make(place)
        return found

    def __setitem__(self, index: int | slice, value: Entry | Iterable[Entry]) -> None:
        raise TypeError("steps are not replaced")

    def __delitem__(self, index: int | slice) -> None:
        raise TypeError("steps are not deleted")

    def insert(self, index: int, value: Entry) -> None:
        """Behind the steps, wherever it is wanted."""
        self.added.insert(max(index - self._count, 0), value)

    def forget(self, step: int) -> bool:
        """It is made anew when it is looked at; False where it was edited, and stays."""
        found = self.made.get(step)
        if found is None or not same_request(found.request, found.original):
            return False
        del self.made[step]
        return True

    def _make_room(self) -> None:
        if len(self.made) < MADE:
            return
        for step in list(self.made):
            self.forget(step)


class StepSheet(Worksheet):
    """`entries` of a recording. The stepper comes with the debugger's session."""

    def __init__(self, exchanges: Exchanges, aim: Aim) -> None:
        self.exchanges = exchanges
        self.aim = aim
        self.stepper: Stepper | None = None
        self.shown: list[int] | None = None
        """The steps that meet the filter; None where there is none."""
        self.filter = ""
        self._prepare: Callable[[Request], Request] | None = None
        self.steps = StepEntries(len(exchanges), self._entry)
        super().__init__(entries=self.steps)

    @property
    def recording(self) -> StepSheet:
        return self

    def prepare(self, shown: Callable[[Request], Request]) -> None:
        self._prepare = shown
        self.steps.made.clear()

    def insert_after_current(self, request: Request) -> Entry:
        entry = Entry(request=request, original=request)
        self.steps.added.append(entry)
        self.current = len(self.steps) - 1
        return entry

    def index_of(self, entry: Entry) -> int:
        if entry.step is not None:
            return entry.step
        place = next((n for n, one in enumerate(self.steps.added) if one is entry), -1)
        return place if place < 0 else place + len(self.exchanges)

    def named(self, name: str) -> int:
        return next((step for step in range(len(self.exchanges)) if self.exchanges.row(step).name == name), -1)

    def holds(self, request: Request) -> bool:
        """Among those that were looked at: nothing is read for it."""
        entries = (*self.steps.made.values(), *self.steps.added)
        return any(same_request(request, entry.request) for entry in entries)

    def edited(self) -> dict[int, Request]:
        """The steps whose request is not the recorded one."""
        made = self.steps.made.items()
        return {step: entry.request for step, entry in made if not same_request(entry.request, entry.original)}

    @property
    def listed(self) -> int:
        """How many rows the list has: the steps that meet the filter, and what was added."""
        return (len(self.exchanges) if self.shown is None else len(self.shown)) + len(self.steps.added)

    def entry_at(self, place: int) -> int:
        """The entry that stands at a row of the list."""
        if self.shown is None:
            return place
        return self.shown[place] if place < len(self.shown) else place - len(self.shown) + len(self.exchanges)

    def place_of(self, index: int) -> int | None:
        """The row of the list that shows an entry; None where the filter hides it."""
        if self.shown is None:
            return index
        if index >= len(self.exchanges):
            return index - len(self.exchanges) + len(self.shown)
        place = bisect_left(self.shown, index)
        return place if place < len(self.shown) and self.shown[place] == index else None

    def attempt(self, step: int) -> Attempt | None:
        return self.stepper.attempts.last(step) if self.stepper is not None else None

    def has_answer(self, entry: Entry) -> bool:
        """Whether an answer was recorded of the step."""
        if entry.step is None:
            return False
        row = self.exchanges.row(entry.step)
        return row.status is not None or bool(row.failure)

    def was(self, step: int) -> str:
        """The recorded status of a step whose last answer is another; empty where nothing changed."""
        attempt = self.attempt(step)
        if attempt is None or not attempt.changed:
            return ""
        recorded = self.exchanges.row(step)
        return str(recorded.status) if recorded.status is not None else recorded.failure

    def row(self, step: int) -> Row:
        """What came of a step last: now, else when it was recorded."""
        attempt = self.attempt(step)
        return self.exchanges.row(step) if attempt is None else attempt.row

    def _entry(self, step: int) -> Entry:
        recorded = self.exchanges.exchange(step)
        request = aimed(recorded.request, self.aim)
        request = self._prepare(request) if self._prepare is not None else request
        entry = Entry(request=request, original=request, step=step)
        attempt = self.attempt(step)
        now = self.stepper.attempts.exchange(step) if attempt is not None and self.stepper is not None else None
        if attempt is not None and now is not None and self.stepper is not None:
            entry.exchange, entry.state = redact_exchange(now, self.stepper.session.secrets)[0], attempt.outcome
            entry.request = entry.sent = self.stepper.edits.get(step, request)
            entry.attempt = entry.attempts = len(self.stepper.attempts.of(step))
            entry.was = self.was(step)
        elif recorded.response is not None or recorded.failure is not None:
            entry.exchange, entry.state, entry.sent = redact_exchange(recorded)[0], state_of(recorded), request
            entry.is_recorded = True
        return entry


def state_of(recorded: Exchange) -> State:
    """By the status alone."""
    if recorded.response is None:
        return "no_answer"
    return "answered" if 200 <= recorded.response.status < 300 else "refused"
