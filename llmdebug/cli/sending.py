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
from llmdebug.debugger.outcome import Outcome, outcome
from llmdebug.debugger.visible import visible
from llmdebug.http.exchange import Exchange, Request

_CODES: dict[Outcome, ExitCode] = {
    "answered": ExitCode.OK,
    "refused": ExitCode.REFUSED,
    "no_answer": ExitCode.NO_ANSWER,
}
_UNSENT = frozenset({"bad_url", "bad_request"})


def exit_code(exchange: Exchange, ended: Outcome) -> ExitCode:
    """A request that never reached the wire is its author's mistake, not a missing answer."""
    if exchange.failure is not None and exchange.failure.kind in _UNSENT:
        return ExitCode.USAGE
    return _CODES[ended]


def send(
    reference: str, connection: Connection, *, diagnose: bool, dry_run: bool, as_json: bool, show_secrets: bool
) -> int:
    request = read_and_warn(reference, connection)
    if dry_run:
        return _print_request(request, connection, as_json=as_json, show_secrets=show_secrets)
    return asyncio.run(_send(request, connection, diagnose=diagnose, as_json=as_json, show_secrets=show_secrets))


def read_and_warn(reference: str, connection: Connection) -> Request:
    """The request, after everything that is to be said before it is sent."""
    request, warnings = connection.request(reference)
    for warning in warnings:
        say(warning)
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


async def _send(request: Request, connection: Connection, *, diagnose: bool, as_json: bool, show_secrets: bool) -> int:
    async with connection.session(request) as session:
        printer = Printer(session, as_json=as_json, show_secrets=show_secrets)
        sent = await session.send(request, on_event=printer.event)
        ended = outcome(sent.exchange)
        printer.answer(sent)
        diagnosis = None
        if diagnose and ended == "refused":
            with progress_line() as progress:
                diagnosis = (await session.diagnose(sent, progress=progress)).diagnosis
        if as_json:
            print_json(exchange_json(printer.shown(sent.exchange), ended, id_=sent.id, diagnosis=diagnosis))
        elif diagnosis is not None:
            tell_shown("\n" + report(diagnosis, sys.stderr).rstrip("\n"))
        printer.warnings()
    return exit_code(sent.exchange, ended)
