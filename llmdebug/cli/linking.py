"""What `link` does."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import msgspec

from llmdebug.cli.connection import Connection
from llmdebug.cli.exit_codes import ExitCode
from llmdebug.cli.ink import Ink
from llmdebug.cli.json_line import print_json
from llmdebug.cli.progress import progress_line
from llmdebug.cli.talk import say
from llmdebug.debugger.session import Session
from llmdebug.debugger.visible import visible
from llmdebug.http.exchange import Request
from llmdebug.linking.linked import Linked
from llmdebug.linking.server import Server
from llmdebug.source.tree import TreeError

_SHOWN = 8


class LinkJson(msgspec.Struct, frozen=True, kw_only=True):
    """What `link --json` prints, on one line."""

    schema: str = "llmdebug.link/1"
    url: str
    server: dict[str, Any]
    """What the server says of itself, without the description of its routes."""
    sources: tuple[Linked, ...]


def link(connection: Connection, *, as_json: bool) -> int:
    """Exit code USAGE where a source cannot be had, NO_ANSWER where the server says nothing and none is linked."""
    return asyncio.run(_link(connection, as_json=as_json))


async def _link(connection: Connection, *, as_json: bool) -> int:
    url = connection.base_url or ""
    async with connection.session(Request(method="GET", url=url)) as session:
        server = await session.probe()
        code = await _linked(session)
        if as_json:
            told = msgspec.to_builtins(server)
            told.pop("openapi")
            print_json(LinkJson(url=url, server=told, sources=session.trees.links))
        else:
            _print(server, session.trees.links)
        for warning in session.warnings:
            say(warning)
    if code is ExitCode.OK and not server.family and not session.trees.links:
        return ExitCode.NO_ANSWER
    return code


async def _linked(session: Session) -> ExitCode:
    try:
        with progress_line() as progress:
            await session.link_given(progress=progress)
            doubts = await session.doubts(progress=progress)
            defects = await asyncio.to_thread(session.trees.defects)
    except TreeError as error:
        say(str(error))
        return ExitCode.USAGE
    for told in doubts:
        say(f"{told}.")
    return ExitCode.USAGE if defects and len(defects) == len(session.trees.trees) else ExitCode.OK


def _print(server: Server, links: tuple[Linked, ...]) -> None:
    ink = Ink(sys.stdout)
    print(ink(visible(server.told) or "unknown", "bold"))
    if server.problem:
        print(visible(server.problem))
    for name, values in (("models", server.models), ("flags", [f"{k}={v}" for k, v in server.flags.items()])):
        if values:
            more = f", … ({len(values)} in all: --json)" if len(values) > _SHOWN else ""
            print(f"{ink(name, 'dim')}  {visible(', '.join(values[:_SHOWN]))}{more}")
    for name, value in server.limits.items():
        print(f"{ink('limit', 'dim')}   {visible(name)}: {visible(value)}")
    for each in links:
        version = f" ({each.package} {each.version})" if each.version and each.version not in each.name else ""
        print(f"{ink('source', 'dim')}  {visible(each.name + version)}\n        {visible(each.folder)}")
    if not links:
        print("no source is linked")
