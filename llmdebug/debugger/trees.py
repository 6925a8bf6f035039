"""The linked source trees and what is known of them, opened once and asked by one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.doubts import NO_DOUBTS, Doubts
from llmdebug.diagnosis.drift import drift_of_request, drift_of_routes, drift_of_versions
from llmdebug.diagnosis.preflight import preflight
from llmdebug.diagnosis.verdict import Diagnosis, TrailStep
from llmdebug.families.load import load_families
from llmdebug.families.reading import refusal_of
from llmdebug.formats.serverlog import read_log
from llmdebug.http.exchange import Exchange, Request
from llmdebug.index.build import Cancelled, Index, Progress, open_index, silent
from llmdebug.index.health import defect_of, mixture_of
from llmdebug.linking.linked import Linked, at_hand
from llmdebug.linking.live import Live
from llmdebug.source.search import never
from llmdebug.source.tree import Tree, TreeError, open_tree

Answer = TypeVar("Answer")


def _linked(source: str | Path | Linked) -> Linked:
    found = source if isinstance(source, Linked) else at_hand(source)
    if found is None:
        raise TreeError(f"{source} is not in the cache: `llmdebug sources add {source}` fetches it.")
    return found


def _with_family(diagnosis: Diagnosis, exchange: Exchange) -> Diagnosis:
    """The diagnosis with whose refusal it looks like, where that can be told without a tree."""
    response = exchange.response
    if response is None or response.status < 400:
        return diagnosis
    family = refusal_of(load_families().by_name.values(), response)
    if family is None:
        return diagnosis
    source = f"pypi:{family.source.pypi[0]}==VERSION" if family.source.pypi else f"git:{family.source.git}@TAG"
    note = f"the answer looks like one of {family.title}, whose source --source {source} links"
    return msgspec.structs.replace(diagnosis, notes=(*diagnosis.notes, note))


class LinkedTrees:
    """Trees in the order a request meets their servers: a gateway's before that of the server behind it."""

    def __init__(self, sources: Sequence[str | Path | Linked]) -> None:
        """Raises TreeError for a path that is no readable folder, and for a source that is to be fetched first."""
        self.links: tuple[Linked, ...] = tuple(_linked(source) for source in sources)
        self.trees: tuple[Tree, ...] = tuple(open_tree(link.folder, link.name) for link in self.links)
        self._indexes: list[Index] = []
        self._defects: list[str] = []
        self._mixtures: list[str] = []
        self._turn = threading.Lock()
        self._drift: tuple[Live, tuple[str, ...]] | None = None
        """What of the trees as a whole is not what runs."""

    def diagnose(
        self,
        exchange: Exchange,
        *,
        log: str = "",
        live: Live | None = None,
        models: Sequence[str] = (),
        doubted: Doubts = NO_DOUBTS,
        progress: Progress = silent,
        cancelled: Callable[[], bool] = never,
    ) -> Diagnosis:
        """Takes CPU time: from an event loop, call it in a thread. Raises Cancelled.

        `log` is what the server wrote beside the exchange, `live` what it says of itself, `models` what it lists
        as its models.
        """
        with self._turn:
            told = read_log(log) if log else None
            diagnosis = diagnose(exchange, self._opened(progress, cancelled), told, models=models, doubted=doubted)
            if not self.trees:
                return _with_family(diagnosis, exchange)
            return diagnosis if live is None else self._held_against(live, exchange, diagnosis)

    def defects(self, *, progress: Progress = silent, cancelled: Callable[[], bool] = never) -> tuple[str, ...]:
        """Why trees tell nothing, a sentence without its end for each of them; as diagnose(), in a thread."""
        with self._turn:
            self._opened(progress, cancelled)
            return tuple(self._defects)

    def doubts(
        self, live: Live | None, *, progress: Progress = silent, cancelled: Callable[[], bool] = never
    ) -> tuple[str, ...]:
        """Why the trees tell nothing, or hardly of the server that runs: sentences without ends; as diagnose()."""
        with self._turn:
            self._opened(progress, cancelled)
            drift = self._drift_from(live) if live is not None and self.trees else ()
            return (*self._defects, *self._mixtures, *drift)

    @property
    def drift(self) -> tuple[str, ...]:
        """What of the trees as a whole is not what runs, as far as that was looked at."""
        return self._drift[1] if self._drift is not None else ()

    def _held_against(self, live: Live, exchange: Exchange, diagnosis: Diagnosis) -> Diagnosis:
        """The diagnosis with what of the trees is not what runs."""
        drift = self._drift_from(live)
        request, status = exchange.request, exchange.response.status if exchange.response is not None else 0
        asked = drift_of_request(live, self._indexes, request.method, urlsplit(request.url).path or "/", status)
        found = (*drift, *asked)
        steps = tuple(TrailStep(step="against", text=text) for text in found)
        return msgspec.structs.replace(diagnosis, notes=(*found, *diagnosis.notes), trail=(*steps, *diagnosis.trail))

    def _drift_from(self, live: Live) -> tuple[str, ...]:
        """What of the trees as a whole is not what runs."""
        if self._drift is None or self._drift[0] is not live:
            self._drift = (live, (*drift_of_versions(live, self.links), *drift_of_routes(live, self._indexes)))
        return self._drift[1]

    def check(
        self, request: Request, *, progress: Progress = silent, cancelled: Callable[[], bool] = never
    ) -> Diagnosis:
        """What the trees will refuse or ignore in a request; as diagnose(), in a thread."""
        with self._turn:
            if cancelled():
                raise Cancelled
            return preflight(request, self._opened(progress, cancelled))

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
            index = open_index(tree, progress=progress, cancelled=cancelled)
            defect = defect_of(index)
            mixture = "" if defect else mixture_of(index)
            self._indexes.append(index)
            self._defects += [defect] if defect else []
            self._mixtures += [mixture] if mixture else []
            index.notes += [note for note in (defect, mixture) if note]
        for index in self._indexes:
            index.progress, index.cancelled = progress, cancelled
        return self._indexes
