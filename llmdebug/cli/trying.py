"""What `try` does."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import msgspec

from llmdebug.cli.connection import Connection
from llmdebug.cli.exchange_json import ExchangeJson, exchange_json
from llmdebug.cli.exit_codes import ExitCode
from llmdebug.cli.ink import Ink
from llmdebug.cli.json_line import print_json
from llmdebug.cli.printer import Printer
from llmdebug.cli.progress import progress_line
from llmdebug.cli.report import report
from llmdebug.cli.sending import exit_code, read_and_warn
from llmdebug.cli.talk import say, tell
from llmdebug.cli.tokenwise import held_back, tokenizing, warn_of_ids, weighed
from llmdebug.debugger.experiment import try_all
from llmdebug.debugger.outcome import Outcome, outcome
from llmdebug.debugger.session import Finding, SentExchange, Session, SessionError, Trial
from llmdebug.debugger.tokenizing import Tokenizing
from llmdebug.debugger.trials import Verdict, no_longer
from llmdebug.debugger.visible import visible
from llmdebug.http.exchange import Request

_CODES: dict[Verdict, ExitCode] = {
    "confirmed": ExitCode.OK,
    "settled": ExitCode.REFUSED,
    "refuted": ExitCode.REFUSED,
    "no_answer": ExitCode.NO_ANSWER,
}
_COLOURS: dict[Verdict, str] = {"confirmed": "green", "settled": "yellow", "refuted": "red", "no_answer": "yellow"}


class TrialJson(msgspec.Struct, frozen=True, kw_only=True):
    """What `try --json` prints, on one line."""

    schema: str = "llmdebug.trial/1"
    verdict: Verdict | None
    """None where nothing was tried: `refused` tells why."""
    remedy: int
    refused: ExchangeJson
    """The original request, with its diagnosis."""
    sent: tuple[ExchangeJson, ...] = ()
    """The remedy's requests; the last has its diagnosis where it was refused too."""


def try_remedy(
    reference: str, connection: Connection, n: int | None, *, bad_ids: bool, as_json: bool, show_secrets: bool
) -> int:
    """Remedy `n`; all of them for None. With `bad_ids` those too whose ids have no token."""
    request = read_and_warn(reference, connection)
    return asyncio.run(_try(request, connection, n, bad_ids=bad_ids, as_json=as_json, show_secrets=show_secrets))


async def _try(
    request: Request, connection: Connection, n: int | None, *, bad_ids: bool, as_json: bool, show_secrets: bool
) -> int:
    async with connection.session(request) as session, tokenizing(session, connection) as tokens:
        await warn_of_ids(tokens, request)
        printer = Printer(session, as_json=True, show_secrets=show_secrets)
        sent = await session.send(request)
        printer.answer(sent)
        ended = outcome(sent.exchange)
        if ended != "refused":
            return _not_refused(sent, ended, n or 1, printer, as_json=as_json)
        finding = await weighed(session, tokens, await _diagnosed(session, sent))
        if not as_json:
            sys.stdout.write(report(finding.diagnosis, sys.stdout))
            sys.stdout.flush()
        if n is None:
            return await _try_all(session, sent, finding, printer, None if bad_ids else tokens, as_json=as_json)
        try:
            requests = session.apply(finding, n)
            held = "" if bad_ids else await held_back(tokens, n, requests)
            if held:
                raise SessionError(held)
        except SessionError as error:
            say(str(error))
            if as_json:
                print_json(_trial_json(n, sent, finding, printer))
            return ExitCode.NO_REMEDY
        with progress_line() as progress:
            trial = await session.try_remedy(finding, n, progress=progress)
        for answer in trial.sent:
            printer.answer(answer)
        if as_json:
            print_json(_trial_json(n, sent, trial.finding, printer, trial))
        else:
            _print_verdict(trial, n)
            if trial.next is not None:
                sys.stdout.write("\n" + report(trial.next.diagnosis, sys.stdout))
        printer.warnings()
        return _CODES[trial.verdict]


async def _try_all(
    session: Session,
    sent: SentExchange,
    finding: Finding,
    printer: Printer,
    tokens: Tokenizing | None,
    *,
    as_json: bool,
) -> int:
    """Tells of each trial when it is over: a line of text, or one of JSON.

    With `tokens`, remedies whose ids have no token are held back.
    """

    async def hold(n: int, requests: Sequence[Request]) -> str:
        held = await held_back(tokens, n, requests) if tokens is not None else ""
        if held:
            say(held)
        return held and "Every remedy that could be sent holds ids without a token."

    def told(n: int, trial: Trial) -> None:
        for answer in trial.sent:
            printer.answer(answer)
        if as_json:
            print_json(_trial_json(n, sent, trial.finding, printer, trial))
        else:
            _print_verdict(trial, n)
        sys.stdout.flush()

    try:
        tried = await try_all(session, finding, on_trial=told, hold=hold)
    except SessionError as error:
        say(str(error))
        return ExitCode.NO_REMEDY
    printer.warnings()
    return min(_CODES[trial.verdict] for _, trial in tried)


async def _diagnosed(session: Session, sent: SentExchange) -> Finding:
    with progress_line() as progress:
        return await session.diagnose(sent, progress=progress)


def _not_refused(sent: SentExchange, ended: Outcome, n: int, printer: Printer, *, as_json: bool) -> ExitCode:
    tell("The request was not refused: there is nothing to try." if ended == "answered" else "Nothing was tried.")
    if as_json:
        print_json(TrialJson(verdict=None, remedy=n, refused=exchange_json(printer.shown(sent.exchange), ended)))
    printer.warnings()
    return exit_code(sent.exchange, ended)


def _trial_json(
    n: int, sent: SentExchange, finding: Finding, printer: Printer, trial: Trial | None = None
) -> TrialJson:
    tried = () if trial is None else trial.sent
    following = None if trial is None or trial.next is None else trial.next.diagnosis
    return TrialJson(
        verdict=None if trial is None else trial.verdict,
        remedy=n,
        refused=exchange_json(printer.shown(sent.exchange), "refused", id_=sent.id, diagnosis=finding.diagnosis),
        sent=tuple(
            exchange_json(
                printer.shown(item.exchange),
                outcome(item.exchange),
                id_=item.id,
                diagnosis=following if item is tried[-1] else None,
            )
            for item in tried
        ),
    )


def _print_verdict(trial: Trial, n: int) -> None:
    ink = Ink(sys.stdout)
    answers = ", ".join(
        str(item.exchange.response.status) if item.exchange.response else "no answer" for item in trial.sent
    )
    told = ""
    if trial.verdict == "settled" and trial.next is not None:
        next_one = visible(" ".join(trial.next.diagnosis.summary.split()))
        told = f", {no_longer(trial.finding.diagnosis)}; next it refuses: {next_one}"
    elif trial.verdict == "refuted":
        told = ", the same refusal again"
    print(f"\n{ink(trial.verdict.replace('_', ' '), _COLOURS[trial.verdict])}: remedy {n} was sent: {answers}{told}")
