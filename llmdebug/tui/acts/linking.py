"""What the first line tells of the server and its source, and linking another source."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from llmdebug.tui.panes.bars import Question

if TYPE_CHECKING:
    from llmdebug.debugger.session import Session
    from llmdebug.tui.screens.main import MainScreen

_TICK_S = 0.5


async def learn(screen: MainScreen, session: Session) -> None:
    """Links the sources that have to be fetched or found, and asks the server what it is."""
    if session.pending:
        await _shown(screen, session.pending, session.link_given(progress=_progress(screen)))
    server = await session.probe()
    if server.told and server.told != screen.server:
        screen.server = server.told
        screen.title_bar.update()
    if session.trees.links:
        await _has_doubts(screen, session)


def link_source(screen: MainScreen) -> None:
    """Asks for a source and links it."""

    def chosen(written: str) -> None:
        if written.strip():
            screen.start(_link(screen, os.path.expanduser(written.strip())))
        elif links:
            screen.start(_unlink(screen))

    links = screen.session.trees.links if screen.session is not None else ()
    forms = "folder, pypi:…, git:…, auto" + ("; empty unlinks" if links else "")
    screen.ask(Question(f"source ({forms})", links[0].source if links else "", chosen))


async def _link(screen: MainScreen, source: str) -> None:
    from llmdebug.debugger.session import SentExchange
    from llmdebug.tui.acts.sending import diagnose

    session, entry = screen.session, screen.entry
    if session is None:
        screen.tell("The debugger is still being loaded: try again in a moment.", "warning")
        return
    if not await _shown(screen, [source], session.link_all([source], progress=_progress(screen))):
        return
    screen.tell(f"Linked {source}.", "ok")
    screen.start(_check(screen, session, source))
    if entry is not None and entry.finding is not None and not entry.diagnosing:
        sent = SentExchange(id=entry.finding.id, exchange=entry.finding.exchange)
        await diagnose(screen, session, entry, sent)


async def _check(screen: MainScreen, session: Session, source: str) -> None:
    """Warns of a source in which no server is found, or hardly the one that runs: little is traced there rightly."""
    from llmdebug.debugger.offers import ask_trees

    if await _has_doubts(screen, session):
        return
    if not await ask_trees(session, screen.base_url or "http://localhost", ""):
        told = f"{source} is linked, but no route of a server is found in it: is it the folder of the server's source?"
        screen.tell(told, "warning")


async def _has_doubts(screen: MainScreen, session: Session) -> bool:
    """Whether the sources tell nothing, or hardly of the server that runs; that is told."""
    from llmdebug.index.build import Cancelled

    try:
        doubts = await session.doubts()
    except Cancelled:
        return False
    if doubts:
        screen.tell(f"Linked, but {'; '.join(doubts)}.", "warning")
    return bool(doubts)


async def _unlink(screen: MainScreen) -> None:
    if screen.session is not None and await _shown(screen, [], screen.session.link_all([])):
        screen.tell("No source is linked any more; what was diagnosed with it stays.", "ok")


async def _shown(screen: MainScreen, sources: Sequence[str], linking: Coroutine[Any, Any, None]) -> bool:
    """Whether the linking came to its end; how far it is stands in the first line, what went wrong in the last."""
    from llmdebug.source.tree import TreeError

    screen.linking = f"linking {', '.join(sources)}" if sources else ""
    screen.title_bar.update()
    watching = asyncio.create_task(_watch(screen))
    try:
        await linking
    except TreeError as error:
        screen.tell(str(error), "error")
        return False
    finally:
        watching.cancel()
        screen.linking = ""
        screen.show_entry()
    return True


def _progress(screen: MainScreen) -> Any:
    def progress(what: str, done: int, of: int) -> None:
        screen.linking = f"{what} {done:,}/{of:,}"

    return progress


async def _watch(screen: MainScreen) -> None:
    while True:
        await asyncio.sleep(_TICK_S)
        screen.title_bar.update()
