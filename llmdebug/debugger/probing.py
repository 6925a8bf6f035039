"""The server of a session: asked once what it is, with the session's credentials and connection but short times."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from llmdebug.families.family import Family
from llmdebug.families.load import load_families
from llmdebug.http.baseurl import is_absolute, join, root_of, split
from llmdebug.http.exchange import Exchange, Request
from llmdebug.index.build import Progress
from llmdebug.linking.auto import find_source
from llmdebug.linking.linked import Linked, fetched
from llmdebug.linking.live import Live, live_of
from llmdebug.linking.probe import MAX_BODY, SECONDS, probe
from llmdebug.linking.server import Server
from llmdebug.linking.spec import AUTO

if TYPE_CHECKING:
    from llmdebug.http.options import ClientOptions

UNASKED = Server(problem="The server was not asked what it is.")


class Probing:
    """What is learnt of the server behind one base URL."""

    def __init__(
        self,
        base_url: str | None,
        options: ClientOptions | None,
        prepared: Callable[[Request], Request],
        families: Path | None,
        *,
        allowed: bool,
    ) -> None:
        """`prepared` adds credentials, `families` is the folder of the user's own; `allowed`: to ask."""
        self.base_url = base_url
        self.allowed = allowed
        self.problems: tuple[str, ...] = ()
        """What is wrong with the user's own families, once they were read."""
        self._options = options
        self._prepared = prepared
        self._folder = families
        self._families: dict[str, Family] | None = None
        self._server: asyncio.Task[Server] | None = None
        self._live: Live | None = None

    async def server(self) -> Server:
        """What the server says of itself; it is asked once."""
        if not self.allowed or not self.base_url:
            return UNASKED
        if self._server is None:
            self._server = asyncio.create_task(self._ask())
        return await asyncio.shield(self._server)

    async def live(self, url: str) -> Live | None:
        """What can be held against a tree; None where `url` is not the server's, or it may not be asked."""
        if not self.allowed or not self.base_url or split(url)[0].lower() != split(self.base_url)[0].lower():
            return None
        server = await self.server()
        if self._live is None:
            self._live = await asyncio.to_thread(live_of, server, self.family_of(server))
        return self._live

    def family_of(self, server: Server | None) -> Family | None:
        """The family that a server was recognised as."""
        if self._families is None:
            known = load_families(self._folder)
            self._families, self.problems = known.by_name, known.problems
        return self._families.get(server.family) if server is not None else None

    def links(
        self,
        given: Sequence[str | Path],
        server: Server | None,
        progress: Progress,
        cancelled: Callable[[], bool],
    ) -> list[Linked]:
        """The sources, found or fetched; `server` is what `auto` needs. Call it in a thread.

        Raises TreeError, Cancelled.
        """
        found: list[Linked] = []
        for source in given:
            if source == AUTO and server is not None and self.base_url:
                family = self.family_of(server)
                found.append(find_source(self.base_url, server, family, progress=progress, cancelled=cancelled))
            else:
                found.append(fetched(source, progress=progress, cancelled=cancelled))
        return found

    def close(self) -> None:
        if self._server is not None:
            self._server.cancel()

    async def _ask(self) -> Server:
        from llmdebug.http.options import ClientOptionsError

        self.family_of(None)
        try:
            return await self._asked()
        except ClientOptionsError as error:
            return Server(problem=str(error))

    async def _asked(self) -> Server:
        from llmdebug.http.client import Client, ClientOptions

        quick = msgspec.structs.replace(
            self._options or ClientOptions(),
            connect_timeout_s=SECONDS,
            first_byte_timeout_s=SECONDS,
            total_timeout_s=SECONDS,
            max_body_bytes=MAX_BODY,
        )
        root = root_of(self.base_url or "")
        async with Client(quick) as client:

            async def ask(path: str) -> Exchange:
                url = path if is_absolute(path) else join(root, path)
                return await client.send(self._prepared(Request(method="GET", url=url)))

            return await probe((self._families or {}).values(), ask)
