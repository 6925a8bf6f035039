"""What `replay` does."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import msgspec

from llmdebug.cli.connection import Connection, named_values
from llmdebug.cli.exit_codes import ExitCode
from llmdebug.cli.guard import CommandError
from llmdebug.cli.progress import progress_line
from llmdebug.cli.replay_report import JsonReport, ReplayReport, TextReport
from llmdebug.cli.talk import say, tell
from llmdebug.debugger.aim import Aim, first_aimed
from llmdebug.debugger.attempts import Attempt
from llmdebug.debugger.condition import Condition, SlowExpressionError, first_met, parse_condition
from llmdebug.debugger.facts import facts_of
from llmdebug.debugger.recorder import NotRecordedError
from llmdebug.debugger.resume import file_key, last_run, take_up
from llmdebug.debugger.stepper import ASK_ABOVE, Pace, Stepper, Stop
from llmdebug.formats.exchanges import Exchanges
from llmdebug.formats.har import MAX_HAR_BYTES
from llmdebug.formats.lines_index import RecordedLines
from llmdebug.formats.loading import Format, is_recording, open_exchanges
from llmdebug.http.credentials import default_base_url
from llmdebug.http.exchange import Request
from llmdebug.http.wire import UnsendableError, prepare
from llmdebug.recording.folder import state_folder
from llmdebug.recording.history import FILE_NAME


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """One field for each option that is the replay's own."""

    file: str
    format: Format | None
    answers: tuple[str, ...]
    model: str
    until: tuple[str, ...]
    fail_on: str | None
    first: int
    to: int | None
    record: Path | None
    resume: bool
    pace: Pace
    agreed: bool
    diagnose: bool
    as_json: bool


def replay(wanted: Replay, connection: Connection) -> int:
    until = [parse_condition(source) for source in wanted.until]
    fail_on = None if wanted.fail_on is None else parse_condition(wanted.fail_on)
    if connection.base_url is not None:
        _refuse_unsendable(connection.base_url)
    if wanted.record is not None:
        _refuse_to_damage(wanted.record, wanted)
    exchanges = _opened(wanted, connection)
    for warning in exchanges.warnings:
        say(warning)
    if connection.insecure:
        say("WARNING: --insecure: no certificate is checked, anybody on the way can read and change this.")
    if wanted.to is not None and wanted.to < wanted.first:
        raise CommandError(f"--to {wanted.to:,} lies before --from {wanted.first:,}: there is no step between them.")
    if wanted.first > len(exchanges):
        raise CommandError(f"{wanted.file} holds {len(exchanges):,} requests: there is no step {wanted.first:,}.")
    return asyncio.run(_replay(wanted, connection, exchanges, until, fail_on))


def _refuse_unsendable(url: str) -> None:
    """Raises CommandError where no step could be sent to this address."""
    try:
        prepare(Request(method="GET", url=url))
    except UnsendableError as error:
        raise CommandError(f"--url: {error.message}") from None


def _refuse_to_damage(out: Path, wanted: Replay) -> None:
    """A recording is appended to: raises CommandError where OUT is another kind of file, or one that is read."""
    if not out.exists():
        return
    if not out.is_file():
        raise CommandError(f"--record {out} is no file that keeps anything: name a new file, or a recording.")
    for read in (wanted.file, *wanted.answers):
        if Path(read).exists() and out.samefile(read):
            raise CommandError(f"--record {out} is the file that is replayed: name another one to record in.")
    try:
        with out.open("rb") as file:
            first = file.readline(MAX_HAR_BYTES)
    except OSError as error:
        raise CommandError(f"--record {out} cannot be read: {error.strerror}. Name another file.") from None
    if first and not is_recording(first):
        raise CommandError(f"--record {out} is no recording of llmdebug and is left as it is: name a new file.")


def _opened(wanted: Replay, connection: Connection) -> Exchanges:
    with progress_line() as progress:
        return open_exchanges(
            wanted.file,
            format=wanted.format,
            base_url=connection.base_url,
            default_base_url=default_base_url(os.environ),
            variables=named_values(connection.variables),
            send_secrets=connection.send_secrets,
            answers=wanted.answers,
            progress=lambda done, of: progress(f"reading {wanted.file}", done, of),
        )


async def _replay(
    wanted: Replay,
    connection: Connection,
    exchanges: Exchanges,
    until: list[Condition],
    fail_on: Condition | None,
) -> int:
    aim = Aim(base_url=connection.base_url or "", model=wanted.model, send_secrets=connection.send_secrets)
    first = first_aimed(exchanges, aim)
    if first is None:
        raise CommandError(exchanges.problem(0))
    async with connection.session(first, record_in=wanted.record) as session:
        if wanted.record is not None and not session.records:
            raise CommandError(session.warnings[-1])
        with progress_line() as progress:
            await session.link_given(progress=progress)
        stepper = Stepper(
            session,
            exchanges,
            aim=aim,
            pace=wanted.pace,
            diagnose=(wanted.diagnose and bool(session.trees.trees)) or (fail_on is not None and fail_on.of_diagnosis),
            file=file_key(wanted.file),
        )
        stepper.breakpoints = until
        _take_place(stepper, wanted)
        run = _Run(stepper, fail_on, JsonReport() if wanted.as_json else TextReport(len(exchanges)))
        try:
            stop = await run.until_it_stops(wanted)
            run.report.end(stepper, stop)
        except (asyncio.CancelledError, SlowExpressionError, NotRecordedError):
            run.report.end(stepper, Stop(why="interrupted", at=stepper.at))
            raise
        finally:
            for warning in session.warnings:
                say(warning)
        return run.exit_code(stop)


def _take_place(stepper: Stepper, wanted: Replay) -> None:
    """The step to begin with: the one asked for, or where the last replay stood."""
    stepper.go_to(wanted.first - 1)
    if not wanted.resume:
        return
    file = wanted.record or state_folder() / FILE_NAME
    if not file.exists() or not file.stat().st_size:
        tell(f"{file} holds nothing yet: beginning at step {stepper.at + 1:,}.")
        return
    recorded = RecordedLines(file)
    run = last_run(recorded, stepper.file)
    if run is None:
        tell(f"{file} holds no replay of {wanted.file}: beginning at step {stepper.at + 1:,}.")
        return
    take_up(stepper, recorded, run)
    done = f"{len(run.answered):,} of {len(stepper.exchanges):,} were answered"
    tell(f"{done}; " + ("nothing is left to send." if stepper.done else f"going on with step {stepper.at + 1:,}."))


class _Run:
    """A replay on its way."""

    def __init__(self, stepper: Stepper, fail_on: Condition | None, report: ReplayReport) -> None:
        self._stepper = stepper
        self._fail_on = fail_on
        self._failed = False
        self._passed = False
        self.report = report

    async def until_it_stops(self, wanted: Replay) -> Stop:
        stepper = self._stepper
        count = stepper.left(wanted.to)
        if count > ASK_ABOVE and not wanted.agreed:
            _ask(count, stepper)
        with progress_line() as progress:
            size = len(stepper.exchanges)

            def tell_attempt(attempt: Attempt) -> None:
                self._attempt(attempt)
                if wanted.as_json or not sys.stdout.isatty():
                    progress("replay", attempt.step + 1, size)

            return await stepper.go_on(to=wanted.to, agreed=True, on_attempt=tell_attempt, on_passed=self._pass)

    def _attempt(self, attempt: Attempt) -> None:
        stepper = self._stepper
        recorded = stepper.exchanges.exchange(attempt.step)
        if self._fail_on is not None and not self._failed:
            now = stepper.attempts.exchange(attempt.step)
            facts = None if now is None else facts_of(now, recorded=recorded, diagnosis=attempt.judged)
            self._failed = facts is not None and first_met((self._fail_on,), facts, attempt.step) is not None
        self.report.attempt(attempt, stepper.exchanges.row(attempt.step))

    def _pass(self, step: int, told: str) -> None:
        self._passed = True
        self.report.passed(step, told, self._stepper.exchanges.row(step))

    def exit_code(self, stop: Stop) -> ExitCode:
        """A breakpoint first, for somebody waits there; then what went worst."""
        if stop.why in ("breakpoint", "stream"):
            return ExitCode.BREAKPOINT
        outcomes = {attempt.outcome for attempt in self._stepper.attempts}
        if "no_answer" in outcomes:
            return ExitCode.NO_ANSWER
        if self._failed:
            return ExitCode.FAILED
        if self._fail_on is None and "refused" in outcomes:
            return ExitCode.REFUSED
        return ExitCode.USAGE if self._passed else ExitCode.OK


def _ask(count: int, stepper: Stepper) -> None:
    """Raises CommandError unless the user agrees."""
    where = stepper.request(stepper.at).url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    question = f"{count:,} requests would be sent to {where}"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandError(f"{question}: give --yes, or fewer with --from and --to.")
    sys.stderr.write(f"{question}. Send them? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandError("Nothing was sent.")
