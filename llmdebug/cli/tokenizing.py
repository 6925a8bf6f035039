"""What `tokens` does."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from typing import Any

import msgspec

from llmdebug.cli.connection import Connection
from llmdebug.cli.exit_codes import ExitCode
from llmdebug.cli.guard import CommandError
from llmdebug.cli.json_line import print_json
from llmdebug.cli.stages import stages
from llmdebug.cli.talk import say
from llmdebug.cli.token_report import report_json, report_text
from llmdebug.debugger.tokenizing import Tokenizing
from llmdebug.diagnosis.question import parse_body
from llmdebug.http.credentials import default_base_url
from llmdebug.http.exchange import Request
from llmdebug.tokens.report import TokenReport
from llmdebug.tokens.values import NobodyCountsError

MAX_INPUT = 64_000_000
GIVE_ONE = "Give a tokenizer with --tokenizer: a folder, a tokenizer.json or a Hugging Face id."
_SEPARATOR = re.compile(r"[\s,;]+")


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for; exactly one of `text`, `ids` and `request`."""

    tokenizer: str
    text: str | None = None
    ids: str | None = None
    request: str | None = None
    rendered: bool = False
    compare: bool = False


def show_tokens(wanted: Wanted, connection: Connection, *, as_json: bool) -> int:
    given = [option for option in (wanted.text, wanted.ids, wanted.request) if option is not None]
    if len(given) != 1:
        raise CommandError("Say what to read: one of --text, --ids and --request.")
    body, request = _body(wanted, connection)
    base_url = connection.base_url or (request.url if request else "") or default_base_url(os.environ) or ""
    if not wanted.tokenizer and not base_url:
        raise CommandError("There is neither a tokenizer nor a server: give --tokenizer or --base-url.")
    try:
        report = asyncio.run(_read(wanted, connection, body, base_url))
    except NobodyCountsError as error:
        code = ExitCode.NO_ANSWER if error.silent else ExitCode.USAGE
        raise CommandError(f"{error} {GIVE_ONE}", code) from error
    if not report.prompts:
        raise CommandError("The request holds neither a prompt, nor ids, nor messages.")
    if wanted.rendered:
        _print_rendered(report)
    elif as_json:
        print_json(report_json(report))
    else:
        print(report_text(report, sys.stdout), end="")
    return ExitCode.REFUSED if is_refused(report) else ExitCode.OK


def is_refused(report: TokenReport) -> bool:
    """Whether a server would have a reason to refuse this."""
    broken = any(prompt.outside or prompt.fault or prompt.problem for prompt in report.prompts)
    return broken or (report.over or 0) > 0


async def _read(wanted: Wanted, connection: Connection, body: Any, base_url: str) -> TokenReport:
    async with connection.session(Request(method="GET", url=base_url)) as session:
        server = session if base_url else None
        async with Tokenizing(server, name=wanted.tokenizer) as tokens:
            with stages() as progress:
                return await tokens.read(body, progress=progress, compare=wanted.compare)


def _body(wanted: Wanted, connection: Connection) -> tuple[Any, Request | None]:
    """The body to read, and the request it is of."""
    if wanted.request is not None:
        request, warnings = connection.request(wanted.request)
        for warning in warnings:
            say(warning)
        if not request.body:
            raise CommandError(f"{wanted.request}: this request has no body, so it holds no prompt.")
        body, problem = parse_body(request.body)
        if problem:
            raise CommandError(f"{wanted.request}: the body is no JSON: {problem}.")
        return body, request
    if wanted.text is not None:
        return {"prompt": _utf8(_input(wanted.text))}, None
    return {"prompt": _ids(_input(wanted.ids or ""))}, None


def _utf8(text: str) -> str:
    """Raises CommandError for bytes of the command line that are no UTF-8: Python hands them on as half surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        place = len(text[: error.start].encode("utf-8"))
        raise CommandError(f"--text is no UTF-8: byte {place} is none of it.") from error
    return text


def _input(given: str) -> str:
    """Raises CommandError."""
    if given != "-":
        return given
    data = sys.stdin.buffer.read(MAX_INPUT + 1)
    if len(data) > MAX_INPUT:
        raise CommandError(f"stdin holds more than {MAX_INPUT:,} bytes: that is more than is read as one prompt.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(f"stdin is no UTF-8: byte {error.start} is none of it.") from error


def _ids(text: str) -> list[int]:
    """Raises CommandError."""
    found: list[int] = []
    for word in _SEPARATOR.split(text.strip().strip("[]").strip()):
        if not re.fullmatch(r"[+-]?[0-9]{1,30}", word):
            raise CommandError(f"{word[:40]!r} is no id: write them as 1,2,3.")
        found.append(int(word))
    return found


def _print_rendered(report: TokenReport) -> None:
    for prompt in report.prompts:
        if prompt.reading is not None:
            print(prompt.reading.text)
        else:
            say(prompt.problem or (prompt.fault.told if prompt.fault else ""))
