"""The facts that conditions ask for: of an exchange, and of a row in a list whose bodies are not read yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec

from llmdebug.debugger.changes import changed
from llmdebug.debugger.condition import Number, Text
from llmdebug.debugger.outcome import Outcome, is_failed, outcome_of
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.formats.exchanges import Row, Stream, row_of, stream_of
from llmdebug.http.exchange import Exchange, Response, StreamEvent


class Judged(msgspec.Struct, frozen=True):
    """What conditions ask of a diagnosis."""

    kind: str = ""
    sites: tuple[str, ...] = ()
    """`file:line`, best first."""


def judged(diagnosis: Diagnosis) -> Judged:
    return Judged(diagnosis.kind, tuple(f"{site.file}:{site.line}" for site in diagnosis.sites))


def judged_note(value: Any) -> Judged | None:
    """As judged(), of a diagnosis that was kept beside an exchange; None for anything else."""
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        return None
    listed = value.get("sites")
    sites = [site for site in listed if isinstance(site, dict)] if isinstance(listed, list) else []
    return Judged(value["kind"], tuple(f"{site.get('file')}:{site.get('line')}" for site in sites))


class RowFacts:
    """Facts of an exchange. The row tells most; the exchange is read when a body is asked for.

    `bodies` gives `request` and `body`, `answer` the answer without its events, and `stream` what is asked of these,
    where that is quicker than reading the exchange. `ended` and `differs` are the outcome and the answer to changed()
    where they are known.
    """

    def __init__(
        self,
        row: Row,
        exchange: Callable[[], Exchange],
        *,
        bodies: Callable[[Text], str | None] | None = None,
        answer: Callable[[], Response | None] | None = None,
        stream: Callable[[], Stream] | None = None,
        recorded: Callable[[], Exchange] | None = None,
        diagnosed: Callable[[], Judged | None] | None = None,
        ended: Outcome | None = None,
        differs: bool | None = None,
        event: StreamEvent | None = None,
        events: int | None = None,
    ) -> None:
        self._row = row
        self._read = exchange
        self._bodies = bodies
        self._answer = answer
        self._stream = stream
        self._recorded = recorded
        self._diagnosed = diagnosed
        self._ended = ended
        self._differs = differs
        self._event = event
        self._events = events
        self._exchange: Exchange | None = None

    def number(self, name: Number) -> float | None:
        row = self._row
        if name == "status":
            return row.status
        if name == "latency":
            return row.latency
        if name == "ttft":
            return row.ttft
        if row.status is None and self._events is None:
            return None
        if name == "events":
            return self._events if self._events is not None else self._streamed().count
        answer = self._answered()
        return None if answer is None else len(answer.body)

    def text(self, name: Text) -> str | None:
        row = self._row
        if name == "method":
            return row.method
        if name == "url":
            return row.url
        if name == "name":
            return row.name
        if name == "path":
            return _path(row.url)
        if name == "failure":
            return row.failure or None
        if name in ("kind", "site"):
            return self._judged().kind or None
        return self._of_bodies(name)

    def _of_bodies(self, name: Text) -> str | None:
        if name == "outcome":
            return self._outcome()
        if self._bodies is not None and name in ("request", "body"):
            return self._bodies(name)
        if name == "request":
            return self.exchange.request.body.decode("utf-8", "replace")
        if name == "event":
            return self._event.data if self._event is not None else self._streamed().last
        response = self.exchange.response
        return None if response is None else response.body.decode("utf-8", "replace")

    def _streamed(self) -> Stream:
        return stream_of(self.exchange.response) if self._stream is None else self._stream()

    def _outcome(self) -> Outcome | None:
        """By the row where that tells; a 2xx may hold an error."""
        row = self._row
        if self._ended is not None:
            return self._ended
        if row.status is None:
            return "no_answer" if row.failure else None
        if not 200 <= row.status < 300:
            return "refused"
        return outcome_of(self._answered(), failed=is_failed(row.failure))

    def _answered(self) -> Response | None:
        return self.exchange.response if self._answer is None else self._answer()

    def sites(self) -> tuple[str, ...]:
        return self._judged().sites

    def changed(self, at: tuple[str, ...]) -> bool:
        if self._differs is not None and not at:
            return self._differs
        return self._recorded is not None and changed(self._recorded(), self.exchange, at)

    @property
    def exchange(self) -> Exchange:
        if self._exchange is None:
            self._exchange = self._read()
        return self._exchange

    def _judged(self) -> Judged:
        found = self._diagnosed() if self._diagnosed is not None else None
        return found or Judged()


def facts_of(
    exchange: Exchange,
    *,
    recorded: Exchange | None = None,
    diagnosis: Judged | None = None,
    event: StreamEvent | None = None,
    events: int | None = None,
) -> RowFacts:
    """Facts of an exchange that is in memory."""
    return RowFacts(
        row_of(exchange),
        lambda: exchange,
        recorded=None if recorded is None else lambda: recorded,
        diagnosed=lambda: diagnosis,
        event=event,
        events=events,
    )


def _path(url: str) -> str:
    try:
        return urlsplit(url).path or "/"
    except ValueError:
        return url
