"""The linked source trees and what is known of them, opened once and asked by one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.exchange import Exchange
from llmdebug.index.build import Index, Progress, open_index, silent
from llmdebug.source.search import never
from llmdebug.source.tree import Tree, open_tree

Answer = TypeVar("Answer")


class LinkedTrees:
    """Trees in the order a request meets their servers: a gateway's before that of the server behind it."""

    def __init__(self, paths: Sequence[str | Path]) -> None:
        """Raises TreeError for a path that is no readable folder."""
        self.trees: tuple[Tree, ...] = tuple(open_tree(path) for path in paths)
        self._indexes: list[Index] = []
        self._turn = threading.Lock()

    def diagnose(
        self, exchange: Exchange, *, progress: Progress = silent, cancelled: Callable[[], bool] = never
    ) -> Diagnosis:
        """Takes CPU time: from an event loop, call it in a thread. Raises Cancelled."""
        with self._turn:
            return diagnose(exchange, self._opened(progress, cancelled))

    def ask(
        self, question: Callable[[Index], Answer], *, progress: Progress = silent, cancelled: Callable[[], bool] = never
    ) -> list[Answer]:
        """What each tree answers; as diagnose(), in a thread."""
        with self._turn:
            return [question(index) for index in self._opened(progress, cancelled)]

    def _opened(self, progress: Progress, cancelled: Callable[[], bool]) -> list[Index]:
        for tree in self.trees[len(self._indexes) :]:
            self._indexes.append(open_index(tree, progress=progress, cancelled=cancelled))
        for index in self._indexes:
            index.progress, index.cancelled = progress, cancelled
        return self._indexes
