"""What came of the steps of a replay: a few facts of each, the last exchanges in memory, the others on disk."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping

import msgspec

from llmdebug.debugger.changes import changed
from llmdebug.debugger.facts import Judged
from llmdebug.debugger.outcome import Outcome, outcome
from llmdebug.debugger.session import SentExchange
from llmdebug.diagnosis.complaint import read_answer
from llmdebug.formats.exchanges import Row, row_of
from llmdebug.http.exchange import Exchange, Request
from llmdebug.http.secrets import hide, redact_url

KEPT = 64
"""Exchanges that stay in memory."""
KEPT_BYTES = 64 * 2**20
"""Of their bodies together, where the recording has them; the last one may be larger."""
NO_SERVER = frozenset({"dns", "refused", "unreachable", "tls", "proxy", "connect_timeout"})
"""Failures after which the next request would not arrive either."""
_MAX_TOLD = 200


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """A step that was sent."""

    step: int
    """From 0."""
    id: str
    """The exchange's name in the recording; empty where it is in none."""
    row: Row
    outcome: Outcome
    changed: bool
    """Whether it ended otherwise than the recorded one."""
    edit: Request | None = None
    """The request as it stood, where it was another than the recorded one."""
    judged: Judged | None = None
    """Of the diagnosis, where there is one."""
    told: str = ""
    """What a refusal says, or why no answer came: one line."""


class Attempts:
    """By step, the latest last."""

    def __init__(self, read: Callable[[str], Exchange | None]) -> None:
        """`read` gets an exchange by its name in the recording."""
        self._read = read
        self.earlier: Callable[[str], Exchange | None] = lambda _id: None
        """As `read`, for exchanges of a run that was taken up."""
        self._by_step: dict[int, list[Attempt]] = {}
        self._kept: OrderedDict[tuple[int, int], Exchange] = OrderedDict()
        self._bytes = 0
        """Of the bodies of those."""

    def __len__(self) -> int:
        return len(self._by_step)

    def __iter__(self) -> Iterator[Attempt]:
        """The last of each step, by step."""
        return (self._by_step[step][-1] for step in sorted(self._by_step))

    @property
    def steps(self) -> frozenset[int]:
        """Those that were sent."""
        return frozenset(self._by_step)

    def add(self, attempt: Attempt, exchange: Exchange | None = None) -> None:
        """An exchange that the recording does not have stays in memory for good."""
        listed = self._by_step.setdefault(attempt.step, [])
        listed.append(attempt)
        if exchange is None:
            return
        newest = attempt.step, len(listed) - 1
        self._kept[newest] = exchange
        self._bytes += _size(exchange)
        for key in list(self._kept):
            if len(self._kept) <= KEPT and self._bytes <= KEPT_BYTES:
                break
            if key != newest and self._by_step[key[0]][key[1]].id:
                self._bytes -= _size(self._kept.pop(key))

    def judge(self, step: int, judged: Judged, number: int = -1) -> None:
        """What a diagnosis that was made later says of a step's last attempt, or of another one by its number."""
        listed = self._by_step.get(step)
        if listed:
            listed[number] = msgspec.structs.replace(listed[number], judged=judged)

    def last(self, step: int) -> Attempt | None:
        listed = self._by_step.get(step)
        return listed[-1] if listed else None

    def of(self, step: int) -> tuple[Attempt, ...]:
        """All of a step, in order: an edited one stands beside that before it."""
        return tuple(self._by_step.get(step, ()))

    def exchange(self, step: int, number: int = -1) -> Exchange | None:
        """The last exchange of a step, or another one by its number."""
        listed = self._by_step.get(step, [])
        if not listed:
            return None
        place = number % len(listed)
        kept = self._kept.get((step, place))
        if kept is not None or not listed[place].id:
            return kept
        return self._read(listed[place].id) or self.earlier(listed[place].id)

    def clear(self) -> None:
        self._by_step.clear()
        self._kept.clear()
        self._bytes = 0


def _size(exchange: Exchange) -> int:
    return len(exchange.request.body) + (len(exchange.response.body) if exchange.response is not None else 0)


def is_done(row: Row) -> bool:
    """Whether its step is behind us: not where nothing came since it was cancelled or no server was there."""
    return row.status is not None or (row.failure != "cancelled" and row.failure not in NO_SERVER)


def attempt_of(
    step: int,
    sent: SentExchange,
    recorded: Exchange,
    found: Judged | None = None,
    *,
    edit: Request | None = None,
    secrets: Mapping[str, str] | None = None,
) -> Attempt:
    """What came of a step, held against what was recorded of it. What it tells holds no secret."""
    exchange = sent.exchange
    ended = outcome(exchange)
    row, known = row_of(exchange), secrets or {}
    return Attempt(
        step=step,
        id=sent.id,
        row=msgspec.structs.replace(row, url=hide(redact_url(row.url), known)),
        outcome=ended,
        changed=changed(recorded, exchange),
        edit=edit,
        judged=found,
        told="" if ended == "answered" else _told(exchange, known),
    )


def _told(exchange: Exchange, secrets: Mapping[str, str]) -> str:
    """What a refusal says, or why no answer came, in one line."""
    if exchange.failure is not None or exchange.response is None:
        text = exchange.failure.message if exchange.failure is not None else "no answer"
    else:
        text = read_answer(exchange.response).text or exchange.response.reason
    line = " ".join(hide(text, secrets).split())
    return line if len(line) <= _MAX_TOLD else line[: _MAX_TOLD - 1] + "…"
