"""The source of a running server: what lies on this machine if it runs here, else the version that it states."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from llmdebug.families.family import Family
from llmdebug.index.build import Progress, silent
from llmdebug.linking.linked import Linked, fetched
from llmdebug.linking.server import Server
from llmdebug.linking.spec import SourceError
from llmdebug.source.search import never


def find_source(
    base_url: str,
    server: Server,
    family: Family | None,
    *,
    progress: Progress = silent,
    cancelled: Callable[[], bool] = never,
) -> Linked:
    """`family` is that of `server`. From an event loop, call it in a thread. Raises SourceError, Cancelled."""
    from llmdebug.linking.port import source_at_port

    progress("looking at the process behind the port", 0, 1)
    try:
        return source_at_port(base_url, family.source if family is not None else None)
    except SourceError as error:
        reasons = [str(error)]
    stated = list(_stated(server, family)) if family is not None else []
    if not stated:
        reasons.append(_unstated(server))
    for source in stated:
        try:
            return fetched(source, progress=progress, cancelled=cancelled)
        except SourceError as error:
            reasons.append(str(error))
    raise SourceError(" ".join(reasons))


def _stated(server: Server, family: Family) -> Iterator[str]:
    """What holds the source of the version that the server states, the likeliest first."""
    source, version = family.source, server.version
    if not re.fullmatch(r"[\w.+!-]{1,80}", version, re.ASCII):
        return
    commit = re.search(source.commit, version) if source.commit else None
    inside = f"#{source.inside}" if source.inside else ""
    if commit is not None and source.git:
        yield f"git:{source.git}@{commit[1]}{inside}"
        return
    folder = "/".join(part for part in (source.package, source.folder) if part) if source.folder else ""
    for name in source.pypi:
        yield f"pypi:{name}=={version}" + (f"#{folder}" if folder else "")
    if source.git:
        yield f"git:{source.git}@{source.tag.replace('{version}', version)}{inside}"


def _unstated(server: Server) -> str:
    if server.problem:
        return server.problem
    if server.version:
        return f"It is {server.told}, but nothing is known of where its source can be had."
    return f"It is {server.title or 'a server'}, which does not state its version."
