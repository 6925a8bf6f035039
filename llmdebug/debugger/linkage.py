"""The sources that belong to a session's server: given, remembered from last time, or still to be fetched."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from llmdebug.debugger import sources as remembering
from llmdebug.debugger.probing import Probing
from llmdebug.debugger.trees import LinkedTrees
from llmdebug.index.build import Progress, silent
from llmdebug.linking.linked import at_hand
from llmdebug.linking.server import Server
from llmdebug.linking.spec import AUTO, needs_fetching
from llmdebug.recording.folder import HistoryError
from llmdebug.source.search import never
from llmdebug.source.tree import TreeError


class Linkage:
    """`trees` are those at hand; `given` the sources that link_given() is still to fetch or find."""

    def __init__(
        self,
        base_url: str | None,
        given: Sequence[str | Path],
        probing: Probing,
        warn: Callable[[str], None],
        *,
        remember: bool,
    ) -> None:
        """Without `given`, those last linked to `base_url`. Raises TreeError for given ones."""
        self._base_url = base_url
        self._probing = probing
        self._warn = warn
        self._remember = remember
        self._lock = asyncio.Lock()
        self.trees = LinkedTrees(())
        self.given: tuple[str | Path, ...] = ()
        if any(needs_fetching(source) and at_hand(source) is None for source in given):
            self.given = tuple(given)
        elif given:
            self.link(given)
        elif base_url:
            self._link_remembered(base_url)

    def link(
        self,
        given: Sequence[str | Path],
        *,
        server: Server | None = None,
        progress: Progress = silent,
        cancelled: Callable[[], bool] = never,
    ) -> None:
        """These from now on, and in later sessions too. `server` is what `auto` needs. Raises TreeError, Cancelled."""
        found = self._probing.links(given, server, progress, cancelled)
        self.trees, self.given = LinkedTrees(found), ()
        if self._base_url and self._remember:
            try:
                remembering.remember(self._base_url, [link.source for link in found])
            except HistoryError as error:
                self._warn(f"The linked source is not remembered for next time: {error}")

    async def link_all(
        self, given: Sequence[str | Path], ask: Callable[[], Awaitable[Server]], *, progress: Progress = silent
    ) -> None:
        """As link(), beside the event loop; the server is asked what it is where `auto` is among them."""
        server = await ask() if AUTO in given else None
        stop = threading.Event()
        try:
            await asyncio.to_thread(self.link, given, server=server, progress=progress, cancelled=stop.is_set)
        finally:
            stop.set()

    async def link_given(self, ask: Callable[[], Awaitable[Server]], *, progress: Progress = silent) -> None:
        """Links what is still to be fetched or found; else does nothing. Raises TreeError."""
        async with self._lock:
            if self.given:
                await self.link_all(self.given, ask, progress=progress)

    def _link_remembered(self, base_url: str) -> None:
        found = remembering.remembered(base_url)
        if AUTO in found:
            self.given = found
            return
        try:
            self.trees = LinkedTrees(found)
        except TreeError as error:
            self._warn(f"The source linked to {base_url} last time cannot be used: {error}")
