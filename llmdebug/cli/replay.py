"""`llmdebug replay`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdebug.cli import options
from llmdebug.cli import replay_options as own
from llmdebug.cli.connected import connected

if TYPE_CHECKING:
    from llmdebug.cli.connection import Connection


@connected()
def command(
    file: own.File,
    *,
    connection: Connection,
    model: own.Model = "",
    until: own.Until,
    fail_on: own.FailOn = None,
    first: own.First = 1,
    to: own.To = None,
    record: own.Record = None,
    resume: own.Resume = False,
    pace: own.Pace = own.PaceOption.none,
    yes: own.Yes = False,
    format: own.Format = None,
    answers: options.Answers,
    diagnose: own.Diagnose = True,
    as_json: options.AsJson = False,
) -> int:
    """Send recorded requests again, one after the other, and compare the answers with the recorded ones.

    stdout gets a line for each step and the refusals by the place that refused; with --json one object a line.
    """
    from llmdebug.cli.replaying import Replay, replay

    wanted = Replay(
        file=file,
        format=None if format is None else format.value,
        answers=tuple(answers),
        model=model,
        until=tuple(until),
        fail_on=fail_on,
        first=first,
        to=to,
        record=record,
        resume=resume,
        pace=pace.value,
        agreed=yes,
        diagnose=diagnose,
        as_json=as_json,
    )
    return replay(wanted, connection)
