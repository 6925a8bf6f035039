"""A paste into the panes: it becomes a request, its body, an answer to diagnose, or the log beside one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from llmdebug.http.exchange import Exchange, Request, Timing
from llmdebug.tui.acts.remedies import shown_request
from llmdebug.tui.opening import HEADERS, standard_requests
from llmdebug.tui.paste import Pasted, quoted_body, understand

if TYPE_CHECKING:
    from llmdebug.tui.screens.main import MainScreen


def paste(screen: MainScreen, text: str) -> None:
    """Tells what it took the text for."""
    pasted = understand(text)
    if pasted.kind == "nothing":
        screen.tell(pasted.problem, "warning")
    elif pasted.kind == "answer":
        screen.start(_answer(screen, pasted))
    elif pasted.kind == "log":
        screen.start(_log(screen, pasted.log))
    elif pasted.kind == "body":
        _body(screen, pasted.body)
    elif pasted.request is not None:
        request = shown_request(screen, pasted.request)
        entry = screen.worksheet.insert_after_current(request)
        for other in pasted.others:
            screen.worksheet.insert_after_current(shown_request(screen, other))
        screen.worksheet.go(screen.worksheet.index_of(entry))
        if screen.base_url is None:
            screen.base_url = _origin(request.url)
        screen.show_entry(home=True)
        screen.activate("request")
        next_keys = screen.keymap.told("{send} sends it, {edit} edits it.")
        more = f" and {len(pasted.others)} more" if pasted.others else ""
        screen.tell(f"Pasted: {request.method} {request.url}{more}. {next_keys}", "ok")


def _origin(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    return scheme + mark + rest.partition("/")[0]


def _body(screen: MainScreen, body: bytes) -> None:
    """The pasted body, in place of the current request's, or of a new one where there is none yet."""
    entry = screen.entry
    if entry is None or entry.request.method == "GET":
        base = screen.base_url or "http://localhost:8000"
        screen.base_url = base
        request = msgspec.structs.replace(_route_for(body, base), body=body, name="")
        screen.worksheet.insert_after_current(shown_request(screen, request))
    else:
        entry.remember()
        entry.request = shown_request(screen, msgspec.structs.replace(entry.request, body=body))
    screen.show_entry(home=True)
    screen.activate("request")
    here = screen.entry
    path = here.request.url if here is not None else ""
    screen.tell(f"Pasted as the body of {path}; " + screen.keymap.told("{undo} undoes it."), "ok")


def _route_for(body: bytes, base_url: str) -> Request:
    """The standard route whose body looks like this one."""
    chat, completion, _ = standard_requests(base_url)
    return chat if b'"messages"' in body else msgspec.structs.replace(completion, headers=HEADERS)


async def _answer(screen: MainScreen, pasted: Pasted) -> None:
    """A refusal that another client got, as the answer to the request that is looked at."""
    from llmdebug.debugger.session import SentExchange
    from llmdebug.tui.acts.sending import diagnose

    session, entry, answer = screen.session, screen.entry, pasted.answer
    if session is None or answer is None:
        screen.tell("The debugger is still being loaded: paste again in a moment.", "warning")
        return
    quoted = quoted_body(answer)
    if quoted:
        base = _route_for(quoted, screen.base_url or "http://localhost:8000")
        if entry is not None and entry.request.method == "POST":
            base = entry.request
        request = shown_request(screen, msgspec.structs.replace(base, body=quoted, name=""))
        entry = screen.worksheet.insert_after_current(request)
    elif entry is None:
        entry = screen.worksheet.insert_after_current(
            Request(method="POST", url=(screen.base_url or "http://localhost:8000"), headers=HEADERS)
        )
    exchange = Exchange(request=entry.request, response=answer, timing=Timing(started_at=time.time()))
    entry.exchange, entry.sent, entry.state = exchange, entry.request, "refused"
    entry.finding = entry.diagnosis = entry.applied = None
    entry.settled = entry.settled_text = ""
    screen.show_entry(home=True)
    screen.activate("diagnosis")
    told = "Pasted as the answer to this request; {edit} puts the request that was refused in its place."
    if quoted:
        told = "Pasted, with the request's body as the answer quotes it; {edit} changes it."
    screen.tell(screen.keymap.told(told), "ok")
    await diagnose(screen, session, entry, SentExchange(id="", exchange=exchange))


async def _log(screen: MainScreen, log: str) -> None:
    """What the server wrote about the request that is looked at: its answer is diagnosed anew."""
    from llmdebug.debugger.session import SentExchange
    from llmdebug.tui.acts.sending import diagnose

    session, entry = screen.session, screen.entry
    if session is None or entry is None or entry.exchange is None:
        told = "This is a server's log: {send} sends the request that it is about, then paste it again."
        screen.tell(screen.keymap.told(told), "warning")
        return
    screen.activate("diagnosis")
    screen.tell("Pasted as the server's log beside this answer.", "ok")
    id_ = entry.finding.id if entry.finding is not None else ""
    await diagnose(screen, session, entry, SentExchange(id=id_, exchange=entry.exchange), log=log)
