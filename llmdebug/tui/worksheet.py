"""What the user works on: the requests of this session, each with its edit, its answer and its diagnosis.

Plain state for the screen. What happens to it is the debugger's business; here it is only remembered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, MutableSequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.exchange import Exchange, Request, StreamEvent

if TYPE_CHECKING:
    from llmdebug.debugger.session import Finding
    from llmdebug.tui.stepsheet import StepSheet

State = Literal["new", "waiting", "answered", "refused", "no_answer"]
Settled = Literal["", "confirmed", "settled", "refuted", "no_answer"]

MOST_EARLIER = 50


@dataclass(slots=True)
class Applied:
    """A remedy that stands in place of a request, until it is sent or edited away."""

    number: int
    title: str
    finding: Finding
    """What the debugger found, handed back to it when the remedy is settled."""
    request: Request
    """As the remedy proposes it, with its secrets by name."""


@dataclass(slots=True, frozen=True)
class Said:
    """What was said of an attempt."""

    finding: Finding | None
    diagnosis: Diagnosis | None
    undiagnosed: str
    settled: Settled
    settled_text: str


@dataclass(slots=True, eq=False)
class Entry:
    """A request and what became of it."""

    request: Request
    """As it stands now; secrets by name."""
    original: Request
    """As it came."""
    state: State = "new"
    exchange: Exchange | None = None
    """The latest answer, without its secrets."""
    id: str = ""
    """The name of `exchange` in the history of this session; empty where it is not in it."""
    away: int = 0
    """Bytes that the body of `exchange` had before its end made room for other answers; 0 where it is whole."""
    sent: Request | None = None
    """The request that `exchange` answers, as it stood when it was sent."""
    finding: Finding | None = None
    """The debugger's word on `exchange`."""
    diagnosis: Diagnosis | None = None
    diagnosing: str = ""
    """What is being done for a diagnosis that is under way."""
    undiagnosed: str = ""
    """Why there is no diagnosis, where making one failed."""
    applied: Applied | None = None
    settled: Settled = ""
    settled_text: str = ""
    events: list[StreamEvent] = field(default_factory=list)
    """Of an answer that is coming in."""
    received: int = 0
    """Bytes of the body of an answer that is coming in."""
    ending: bool = False
    """Whether it was cancelled, and what arrived of it is being kept."""
    earlier: list[Request] = field(default_factory=list)
    """What the request was before it was sent, or something was put in its place; the latest last."""
    began: float = 0.0
    """When it was sent, on the monotonic clock."""
    next_of_fan_out: Entry | None = None
    """Sent after this one: the rest of a remedy of several requests."""
    step: int | None = None
    """Its place in the recording that is stepped through, from 0."""
    attempt: int = 0
    """Which attempt of its step the answer is of, from 1; 0 where it is of none."""
    attempts: int = 0
    """How often its step was sent."""
    said: dict[int, Said] = field(default_factory=dict)
    """By attempt, of those that are not shown."""
    is_recorded: bool = False
    """Whether the answer is the recorded one."""
    was: str = ""
    """The status that was recorded, where the answer has another or ended otherwise."""

    @property
    def name(self) -> str:
        return self.request.name or f"{self.request.method} {path_of(self.request.url)}"

    @property
    def is_stale(self) -> bool:
        """Whether the answer belongs to an older edit."""
        return self.sent is not None and not same_request(self.sent, self.request)

    @property
    def is_changed(self) -> bool:
        """Whether the request differs from what was sent, or from what it came as."""
        return not same_request(self.sent or self.original, self.request)

    def put_aside(self) -> None:
        """Keeps what was said of the attempt that is shown, for when it is shown again."""
        if self.attempt:
            self.said[self.attempt] = Said(
                self.finding, self.diagnosis, self.undiagnosed, self.settled, self.settled_text
            )

    def remember(self) -> None:
        """Keeps the request as it stands, to come back to."""
        if not self.earlier or not same_request(self.earlier[-1], self.request):
            self.earlier = [*self.earlier[1 - MOST_EARLIER :], self.request]

    @property
    def can_go_back(self) -> bool:
        """Whether the request differs from one that it was."""
        return any(not same_request(before, self.request) for before in (self.original, *self.earlier))

    def go_back(self) -> None:
        """To the latest of the earlier requests that differs; where there is none, to what it came as."""
        while self.earlier and same_request(self.earlier[-1], self.request):
            self.earlier.pop()
        self.request = self.earlier.pop() if self.earlier else self.original
        self.applied = None

    @property
    def waited(self) -> float:
        """Seconds since it was sent."""
        return time.monotonic() - self.began


def same_request(one: Request, other: Request) -> bool:
    """Whether two requests go over the wire alike."""
    return (one.method, one.url, one.headers, one.body) == (other.method, other.url, other.headers, other.body)


def path_of(url: str) -> str:
    """A URL's path, without its query."""
    rest = url.partition("://")[2] or url
    return "/" + rest.partition("/")[2].partition("?")[0]


@dataclass(eq=False)
class Worksheet:
    """The entries, and which one is looked at."""

    entries: MutableSequence[Entry] = field(default_factory=list)
    current: int = 0

    @property
    def recording(self) -> StepSheet | None:
        """Itself, where its entries are the steps of a recording."""
        return None

    @property
    def entry(self) -> Entry | None:
        return self.entries[self.current] if self.entries else None

    def add(self, *requests: Request) -> None:
        self.entries.extend(Entry(request=request, original=request) for request in requests)

    def insert_after_current(self, request: Request) -> Entry:
        """A new entry behind the one that is looked at; it is looked at from now on."""
        entry = Entry(request=request, original=request)
        place = self.current + 1 if self.entries else 0
        self.entries.insert(place, entry)
        self.current = place
        return entry

    def go(self, index: int) -> bool:
        """Looks at another entry; whether there is one."""
        if not 0 <= index < len(self.entries) or index == self.current:
            return False
        self.current = index
        return True

    def prepare(self, shown: Callable[[Request], Request]) -> None:
        """Puts each request as it is shown in its place."""
        for entry in self.entries:
            entry.request = entry.original = shown(entry.request)

    def named(self, name: str) -> int:
        """The entry whose request is called so; -1 where there is none."""
        return next((n for n, entry in enumerate(self.entries) if entry.request.name == name), -1)

    def holds(self, request: Request) -> bool:
        """Whether one of the entries is this request."""
        return any(same_request(request, entry.request) for entry in self.entries)

    def index_of(self, entry: Entry) -> int:
        """By identity."""
        return next((n for n, e in enumerate(self.entries) if e is entry), -1)
