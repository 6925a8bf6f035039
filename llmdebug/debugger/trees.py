"""The linked source trees and what is known of them, opened once and asked by one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.doubts import NO_DOUBTS, Doubts
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.formats.serverlog import read_log
from llmdebug.http.exchange import Exchange
from llmdebug.index.build import Index, Progress, open_index, silent
from llmdebug.linking.linked import Linked, at_hand
from llmdebug.source.search import never
from llmdebug.source.tree import Tree, TreeError, open_tree

Answer = TypeVar("Answer")


def _linked(source: str | Path | Linked) -> Linked:
    found = source if isinstance(source, Linked) else at_hand(source)
    if found is None:
        raise TreeError(f"{source} is not in the cache: `llmdebug sources add {source}` fetches it.")
    return found


class LinkedTrees:
    """Trees in the order a request meets their servers: a gateway's before that of the server behind it."""

    def __init__(self, sources: Sequence[str | Path | Linked]) -> None:
        """Raises TreeError for a path that is no readable folder, and for a source that is to be fetched first."""
        self.links: tuple[Linked, ...] = tuple(_linked(source) for source in sources)
        self.trees: tuple[Tree, ...] = tuple(open_tree(link.folder, link.name) for link in self.links)
        self._indexes: list[Index] = []
        self._turn = threading.Lock()

    def diagnose(
        self,
        exchange: Exchange,
        *,
        log: str = "",
        models: Sequence[str] = (),
        doubted: Doubts = NO_DOUBTS,
        progress: Progress = silent,
        cancelled: Callable[[], bool] = never,
    ) -> Diagnosis:
        """Takes CPU time: from an event loop, call it in a thread. Raises Cancelled.

        `log` is what the server wrote beside the exchange, `models` what it lists as its models.
        """
        with self._turn:
            told = read_log(log) if log else None
            return diagnose(exchange, self._opened(progress, cancelled), told, models=models, doubted=doubted)

    def ask(
        self, question: Callable[[Index], Answer], *, progress: Progress = silent, cancelled: Callable[[], bool] = never
    ) -> list[Answer]:
        """What each tree answers; as diagnose(), in a thread."""
        with self._turn:
            return [question(index) for index in self._opened(progress, cancelled)]

    def together(self, work: Callable[[Sequence[Index]], Answer]) -> Answer:
        """What is made of all trees at once; as diagnose(), in a thread."""
        with self._turn:
            return work(self._opened(silent, never))

    def _opened(self, progress: Progress, cancelled: Callable[[], bool]) -> list[Index]:
        for tree in self.trees[len(self._indexes) :]:
            self._indexes.append(open_index(tree, progress=progress, cancelled=cancelled))
        for index in self._indexes:
            index.progress, index.cancelled = progress, cancelled
        return self._indexes
