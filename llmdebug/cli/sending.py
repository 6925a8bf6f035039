"""What `send` does."""

from __future__ import annotations

import asyncio
import sys

from llmdebug.cli.answer import request_text
from llmdebug.cli.connection import Connection
from llmdebug.cli.exchange_json import exchange_json, request_json
from llmdebug.cli.exit_codes import ExitCode
from llmdebug.cli.guard import CommandError
from llmdebug.cli.json_line import print_json
from llmdebug.cli.printer import Printer
from llmdebug.cli.progress import progress_line
from llmdebug.cli.report import report
from llmdebug.cli.talk import say, tell_shown
from llmdebug.cli.tokenwise import tokenizing, warn_of_ids, weighed
from llmdebug.debugger.outcome import Outcome, outcome
from llmdebug.debugger.visible import visible
from llmdebug.formats.answerreferences import names_in
from llmdebug.formats.http_file import split_selector
from llmdebug.formats.logfile import LogFile
from llmdebug.formats.serverlog import looks_like_log
from llmdebug.http.exchange import Exchange, Request

_CODES: dict[Outcome, ExitCode] = {
    "answered": ExitCode.OK,
    "refused": ExitCode.REFUSED,
    "no_answer": ExitCode.NO_ANSWER,
}
LOG_SECONDS = 1.0
"""So long a log is watched for a trace after the answer."""
_UNSENT = frozenset({"bad_url", "bad_request"})


def exit_code(exchange: Exchange, ended: Outcome) -> ExitCode:
    """A request that never reached the wire is its author's mistake, not a missing answer."""
    if exchange.failure is not None and exchange.failure.kind in _UNSENT:
        return ExitCode.USAGE
    return _CODES[ended]


def send(
    reference: str,
    connection: Connection,
    *,
    diagnose: bool,
    log: str | None,
    dry_run: bool,
    as_json: bool,
    show_secrets: bool,
) -> int:
    request = read_and_warn(reference, connection)
    if dry_run:
        return _print_request(request, connection, as_json=as_json, show_secrets=show_secrets)
    written = LogFile(log) if log is not None else None
    return asyncio.run(
        _send(request, connection, diagnose=diagnose, log=written, as_json=as_json, show_secrets=show_secrets)
    )


def read_and_warn(reference: str, connection: Connection) -> Request:
    """The request, after everything that is to be said before it is sent."""
    request, warnings = connection.request(reference)
    for warning in warnings:
        say(warning)
    needed = ", ".join(sorted(names_in(request)))
    if needed:
        file = split_selector(reference)[0]
        raise CommandError(f"The request needs the answer of {needed}: `llmdebug replay {file}` sends that first.")
    if connection.insecure:
        say("WARNING: --insecure: no certificate is checked, anybody on the way can read and change this.")
    return request


def _print_request(request: Request, connection: Connection, *, as_json: bool, show_secrets: bool) -> int:
    """The request with every header that would go over the wire."""
    from llmdebug.http.wire import UnsendableError, prepare

    session = connection.session(request)
    try:
        complete = prepare(session.prepared(request)).request
    except UnsendableError as error:
        raise CommandError(error.message) from error
    shown = complete if show_secrets else session.redacted(Exchange(request=complete)).request
    if as_json:
        print_json(request_json(shown))
    else:
        text = request_text(shown)
        print(visible(text) if sys.stdout.isatty() else text)
    return ExitCode.OK


async def _send(
    request: Request,
    connection: Connection,
    *,
    diagnose: bool,
    log: LogFile | None,
    as_json: bool,
    show_secrets: bool,
) -> int:
    async with connection.session(request) as session, tokenizing(session, connection) as tokens:
        printer = Printer(session, as_json=as_json, show_secrets=show_secrets)
        await warn_of_ids(tokens, request)
        if log is not None:
            log.mark()
        sent = await session.send(request, on_event=printer.event)
        ended = outcome(sent.exchange)
        printer.answer(sent)
        diagnosis = None
        written = await _written(log, ended) if diagnose and log is not None else ""
        if log is not None and ended == "refused" and diagnose and not written.strip():
            say(f"{log.path}: Nothing was written to the log while this was answered, so it settles nothing.")
        dropped = ended == "answered" and session.is_linked
        if diagnose and (ended == "refused" or dropped or looks_like_log(written)):
            with progress_line() as progress:
                finding = await session.diagnose(sent, log=written, progress=progress)
            diagnosis = (await weighed(session, tokens, finding)).diagnosis
        if diagnosis is not None and ended == "answered" and diagnosis.kind == "none":
            diagnosis = None
            for defect in await asyncio.to_thread(session.trees.defects):
                say(f"{defect}.")
        if as_json:
            print_json(exchange_json(printer.shown(sent.exchange), ended, id_=sent.id, diagnosis=diagnosis))
        elif diagnosis is not None:
            tell_shown("\n" + report(diagnosis, sys.stderr).rstrip("\n"))
        printer.warnings()
    return exit_code(sent.exchange, ended)


async def _written(log: LogFile, ended: Outcome) -> str:
    """What the server wrote about the request; servers write it a moment after they answer."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + LOG_SECONDS
    written = log.new()
    while ended == "refused" and not looks_like_log(written) and loop.time() < ends:
        await asyncio.sleep(0.05)
        written = log.new()
    return written
