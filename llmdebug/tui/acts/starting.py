"""The first minute: what is on the screen before anybody was asked, and what is learnt then."""

from __future__ import annotations

import asyncio
import contextlib
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from llmdebug.tui.acts.drafting import Drafting, offer
from llmdebug.tui.acts.linking import learn
from llmdebug.tui.acts.remedies import shown_request
from llmdebug.tui.opening import MODEL

if TYPE_CHECKING:
    from llmdebug.debugger.session import Session
    from llmdebug.tui.screens.main import MainScreen

KEEPING_S = 10.0
"""How long the end waits for what was under way to be recorded."""


def start(screen: MainScreen) -> None:
    """After the first paint: loads the debugger, starts the demo, asks the server."""
    screen.worksheet.prepare(lambda request: shown_request(screen, request))
    screen.start(_start(screen))


async def _start(screen: MainScreen) -> None:
    try:
        await _load(screen)
    except Exception as error:
        screen.broken = f"The debugger could not be loaded: {type(error).__name__}: {error}"
        screen.tell(screen.broken, "error")
    finally:
        screen.ready.set()
    if screen.session is not None and screen.opening.demo is None:
        screen.start(learn(screen, screen.session))
    offering = screen.session is not None and screen.opening.file is None and not screen.opening.demo
    if offering and screen.session is not None and screen.base_url:
        await _ask_server(screen, screen.session, screen.base_url)


async def _load(screen: MainScreen) -> None:
    from llmdebug.tui.app import DebuggerApp

    opening = screen.opening
    app = screen.app
    if isinstance(app, DebuggerApp):
        screen.editor_command = app.editor_command
    if opening.demo is not None:
        await asyncio.to_thread(screen.closing.enter_context, opening.demo)
    await asyncio.to_thread(import_module, "llmdebug.tui.acts.table")
    session = await _session(screen, opening.sources)
    screen.session = session
    if session is not None:
        for found, url in screen.early_secrets:
            session.know(found, url)
        await asyncio.to_thread(_prepare_steps, screen, session)
    screen.drafting = Drafting(opening.file or ("demo" if opening.demo else screen.base_url or "llmdebug"))
    await asyncio.to_thread(screen.drafting.load)
    screen.show_entry()
    if isinstance(app, DebuggerApp) and app.notices:
        screen.tell(" ".join(app.notices), "warning")
    elif screen.steps is not None and screen.steps.exchanges.warnings:
        screen.tell(screen.steps.exchanges.warnings[0], "warning")
    else:
        offer(screen)


def _prepare_steps(screen: MainScreen, session: Session) -> None:
    """The stepper of a recording that was opened."""
    sheet = screen.steps
    if sheet is None:
        return
    from llmdebug.debugger.resume import file_key
    from llmdebug.debugger.stepper import Stepper

    sheet.stepper = Stepper(session, sheet.exchanges, aim=sheet.aim, file=file_key(sheet.exchanges.path))


async def _session(screen: MainScreen, sources: tuple[str, ...]) -> Session | None:
    """The debugger; where something that was asked for cannot be had, without it, and told."""
    from llmdebug.http.credentials import CredentialsError
    from llmdebug.source.tree import TreeError

    try:
        return await asyncio.to_thread(screen.opening.session, screen.base_url, sources)
    except (TreeError, CredentialsError) as error:
        screen.tell(str(error), "error")
    try:
        return await asyncio.to_thread(screen.opening.session, screen.base_url, ())
    except (TreeError, CredentialsError):
        return None


async def _ask_server(screen: MainScreen, session: Session, base_url: str) -> None:
    from llmdebug.debugger.offers import ask_server, ask_trees

    offers = await ask_server(session, base_url)
    if offers.problem and not offers.requests:
        screen.tell(f"{offers.problem}", "warning")
    if offers.models:
        _fill_model(screen, offers.models[0])
    have = {(entry.request.method, entry.request.url) for entry in screen.worksheet.entries}
    offered = offers.requests
    if not offered and screen.linked:
        offered = await ask_trees(session, base_url, offers.models[0] if offers.models else "")
    new = [request for request in offered if (request.method, request.url) not in have]
    screen.worksheet.add(*new)
    if new or offers.models:
        entry = screen.entry
        screen.request.show(entry, screen.base_url)
        screen.show_list()


def _fill_model(screen: MainScreen, model: str) -> None:
    """The served model's name, where a request that nobody touched names none."""
    named = b'"model": ' + msgspec.json.encode(model)
    for entry in screen.worksheet.entries:
        if entry.state == "new" and not entry.is_changed and MODEL in entry.request.body:
            filled = msgspec.structs.replace(entry.request, body=entry.request.body.replace(MODEL, named, 1))
            entry.request = entry.original = filled


async def close(screen: MainScreen) -> None:
    """Ends what was started: requests under way, the session, the demo's server."""
    under_way = list(screen.tasks)
    for task in under_way:
        task.cancel()
    if under_way:
        await asyncio.wait(under_way, timeout=KEEPING_S)
    if screen.tokens is not None:
        await screen.tokens.close()
    session: Any = screen.session
    if session is not None:
        with contextlib.suppress(Exception):
            await session.__aexit__(None, None, None)
        with contextlib.suppress(Exception):
            await asyncio.to_thread(session.trees.save)
    await asyncio.to_thread(screen.closing.close)
