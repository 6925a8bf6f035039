"""A replay taken up where it stood, from the notes that it left in its recording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from llmdebug.debugger.attempts import attempt_of, is_done
from llmdebug.debugger.facts import judged_note
from llmdebug.debugger.session import NOTE as DIAGNOSIS
from llmdebug.debugger.session import SentExchange
from llmdebug.debugger.stepper import RunNote, Stepper
from llmdebug.formats.errors import FormatError
from llmdebug.formats.lines_index import RecordedLines
from llmdebug.formats.resent import NOTE


class Interrupted(msgspec.Struct, frozen=True, kw_only=True):
    """A replay as a recording has it."""

    run: str
    of: int
    """Steps of the file when it was replayed."""
    answered: dict[int, int]
    """The last answered exchange of each step, by step: its number in the recording."""

    @property
    def at(self) -> int:
        """The step to go on with."""
        return max(self.answered, default=-1) + 1


def file_key(path: str) -> str:
    """What a file is called in the notes of its replays."""
    return str(Path(path).absolute()) if path != "-" else "-"


def last_run(recorded: RecordedLines, file: str) -> Interrupted | None:
    """The last replay of this file in a recording; None where there is none."""
    found: Interrupted | None = None
    for number in recorded.noted(NOTE):
        try:
            note = msgspec.convert(recorded.note(number, NOTE), RunNote)
        except (msgspec.ValidationError, FormatError):
            continue
        if note.file != file:
            continue
        if found is None or found.run != note.run:
            found = Interrupted(run=note.run, of=note.of, answered={})
        if recorded.answered(number) and is_done(recorded.row(number)):
            found.answered[note.step] = number
    return found


def take_up(
    stepper: Stepper,
    recorded: RecordedLines,
    run: Interrupted,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Puts a stepper where the run stood. Reads each exchange: off an event loop. Raises FormatError."""
    if run.of != len(stepper.exchanges):
        told = f"It held {run.of:,} requests when it was replayed, now {len(stepper.exchanges):,}: begin again."
        raise FormatError(stepper.exchanges.path, told)
    for done, (step, number) in enumerate(sorted(run.answered.items())):
        now = recorded.exchange(number)
        sent = SentExchange(id=recorded.ids[number], exchange=now)
        found = judged_note(recorded.note(number, DIAGNOSIS))
        stepper.attempts.add(attempt_of(step, sent, stepper.exchanges.exchange(step), found))
        if progress is not None:
            progress(done + 1, len(run.answered))
    numbers = {recorded.ids[number]: number for number in run.answered.values()}
    stepper.attempts.earlier = lambda id_: recorded.exchange(numbers[id_]) if id_ in numbers else None
    stepper.run = run.run
    stepper.at = run.at
