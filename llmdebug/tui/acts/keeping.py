"""How much of old answers stays in memory: the ends of the oldest large ones make room, and come back from the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from llmdebug.http.exchange import Exchange
from llmdebug.tui.worksheet import Entry

if TYPE_CHECKING:
    from llmdebug.debugger.session import Finding, Session
    from llmdebug.tui.screens.main import MainScreen

MOST_BYTES = 256 * 2**20
"""Of the bodies of all answers together; one alone may be as large."""
HEAD = 64 * 1024
"""Bytes that stay of a body."""


def make_room(screen: MainScreen, here: Entry) -> None:
    """Puts the ends of the oldest large answers away until the others have room; never that of `here`.

    The steps of a recording are read anew when they are looked at.
    """
    sheet = screen.steps
    entries = screen.worksheet.entries if sheet is None else (*sheet.steps.made.values(), *sheet.steps.added)
    for entry in too_many(entries, here):
        if sheet is not None and entry.step is not None and sheet.steps.forget(entry.step):
            continue
        put_away(entry)


def too_many(entries: Iterable[Entry], here: Entry) -> list[Entry]:
    """The entries whose answers are to make room, the oldest first."""
    held = [entry for entry in entries if body_of(entry) > HEAD and not entry.away]
    total = sum(map(body_of, held))
    found = []
    for entry in sorted(held, key=lambda entry: entry.began):
        if total <= MOST_BYTES:
            break
        if entry is not here and entry.state != "waiting":
            total -= body_of(entry) - HEAD
            found.append(entry)
    return found


def body_of(entry: Entry) -> int:
    """Bytes of an answer's body that are in memory."""
    response = entry.exchange.response if entry.exchange is not None else None
    return len(response.body) if response is not None else 0


def put_away(entry: Entry) -> None:
    """Keeps the head of an answer; its diagnosis stays."""
    if entry.exchange is None:
        return
    entry.away = body_of(entry)
    entry.exchange = _headed(entry.exchange)
    if entry.finding is not None:
        entry.finding = _with_head(entry.finding)
    if entry.applied is not None:
        entry.applied.finding = _with_head(entry.applied.finding)


def _with_head(finding: Finding) -> Finding:
    return msgspec.structs.replace(finding, exchange=_headed(finding.exchange))


def _headed(exchange: Exchange) -> Exchange:
    response = exchange.response
    if response is None or len(response.body) <= HEAD:
        return exchange
    return msgspec.structs.replace(
        exchange, response=msgspec.structs.replace(response, body=response.body[:HEAD], events=())
    )


async def bring_back(screen: MainScreen, session: Session, entry: Entry) -> None:
    """Reads an answer again from where it was recorded; it stays as it is where it is not to be had."""
    if not entry.id:
        return
    found = await asyncio.to_thread(session.recorded, entry.id)
    if found is None or found.response is None or not entry.away:
        return
    entry.exchange = await asyncio.to_thread(session.redacted, found)
    entry.away = 0
    make_room(screen, entry)
