"""The founding story, played on the demo's server and printed: what llmdebug is for, and a test of all of it."""

from __future__ import annotations

import asyncio
import json
import sys

from llmdebug.cli.answer import request_text, status_line
from llmdebug.cli.exit_codes import ExitCode
from llmdebug.cli.ink import Ink
from llmdebug.cli.report import report
from llmdebug.cli.talk import say
from llmdebug.debugger.evidence import with_tokens
from llmdebug.debugger.outcome import outcome
from llmdebug.debugger.session import Session
from llmdebug.debugger.tokenizing import Tokenizing
from llmdebug.debugger.visible import visible
from llmdebug.demo.server import REQUESTS, DemoServer
from llmdebug.formats.http_file import read_http_file
from llmdebug.http.exchange import Exchange, Request

REQUEST = "prompt-token-ids"
_SHOWN_HEADERS = frozenset({"content-type"})


class _WentOtherwise(Exception):
    """The story did not go as it should; the text says where."""


def tell_story() -> int:
    with DemoServer() as server:
        file = read_http_file(REQUESTS, variables={"base_url": server.base_url})
        try:
            asyncio.run(_story(server, file.request(REQUEST)))
        except _WentOtherwise as error:
            say(f"the story went otherwise: {error}")
            return ExitCode.REFUSED
    return ExitCode.OK


async def _story(server: DemoServer, request: Request) -> None:
    async with Session(base_url=server.base_url, sources=[server.source], keep=False) as session:
        _chapter("1. A request is sent", f"The server is {server.base_url}, its source {server.source}.")
        refused = await session.send(request)
        _show(refused.exchange)
        if outcome(refused.exchange) != "refused":
            raise _WentOtherwise("the server should have refused this request")
        _chapter("2. It was refused. Why?")
        async with Tokenizing(session) as tokens:
            finding = await with_tokens(session, tokens, await session.diagnose(refused), progress=_quietly)
        diagnosis = finding.diagnosis
        sys.stdout.write(report(diagnosis, sys.stdout))
        if not diagnosis.sites or not diagnosis.sites[0].excerpt:
            raise _WentOtherwise("the diagnosis names no line of the server's source")
        if not diagnosis.remedies or not diagnosis.remedies[0].requests:
            raise _WentOtherwise("the diagnosis offers no request to send instead")
        _chapter("3. Remedy 1 is sent")
        trial = await session.try_remedy(finding, 1)
        for sent in trial.sent:
            _show(sent.exchange)
        if trial.verdict != "confirmed":
            raise _WentOtherwise("the remedy was not answered with 2xx")
        _chapter("4. Confirmed", "The diagnosis is right: the request that it proposes is answered.")


def _quietly(what: str) -> None:
    """The story tells of results only."""


def _chapter(title: str, text: str = "") -> None:
    print("\n" + Ink(sys.stdout)(f"== {title}", "cyan") + (f"\n{text}" if text else ""))


def _show(exchange: Exchange) -> None:
    request = exchange.request
    headers = tuple(pair for pair in request.headers if pair[0].lower() in _SHOWN_HEADERS)
    short = Request(method=request.method, url=request.url, headers=headers, body=_compact(request.body))
    print(visible(request_text(short)))
    print("\n→ " + visible(status_line(exchange)))
    if exchange.response is not None:
        print(visible(_compact(exchange.response.body).decode("utf-8", "replace")))


def _compact(body: bytes) -> bytes:
    """JSON on one line."""
    try:
        return json.dumps(json.loads(body), ensure_ascii=False).encode()
    except ValueError:
        return body
