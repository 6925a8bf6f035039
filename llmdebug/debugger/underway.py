"""One step under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from llmdebug.debugger.condition import Condition, SlowExpressionError, first_met
from llmdebug.debugger.conditiontext import shortened
from llmdebug.debugger.facts import facts_of
from llmdebug.debugger.session import SentExchange, Session
from llmdebug.http.exchange import Exchange, Failure, Request, StreamEvent


class Sending:
    """Its answer may be ended by a breakpoint inside its stream: `met` is that, `partial` what had arrived.

    A breakpoint that cannot be decided in time ends it too: `slow` is that.
    """

    def __init__(
        self,
        session: Session,
        request: Request,
        step: int,
        notes: Mapping[str, Any],
        breakpoints: Iterable[Condition],
        on_event: Callable[[StreamEvent], None] | None,
    ) -> None:
        """`notes` are kept beside the exchange."""
        self._session = session
        self._request = request
        self._step = step
        self._notes = notes
        self._on_event = on_event
        self._asked = [one for one in breakpoints if one.of_stream]
        self._events = 0
        self._met_behind = 0
        self._task: asyncio.Task[SentExchange] | None = None
        self.met: Condition | None = None
        self.slow: SlowExpressionError | None = None
        self.partial: Exchange | None = None
        self.id = ""

    async def run(self) -> SentExchange:
        sending = self._session.send(
            self._request,
            on_event=self._event,
            on_partial=self._keep_partial,
            on_begin=self._begun,
            notes=self._notes,
        )
        self._task = asyncio.ensure_future(sending)
        try:
            return await self._task
        except asyncio.CancelledError:
            if not self._ended or self.partial is None:
                self._task.cancel()
                raise
            return SentExchange(id=self.id, exchange=self.partial)

    @property
    def _ended(self) -> bool:
        return self.met is not None or self.slow is not None

    def _begun(self, id_: str) -> None:
        self.id = id_

    def _keep_partial(self, exchange: Exchange) -> Exchange:
        """What had arrived, marked as stopped where a breakpoint did that."""
        if self._ended:
            why = shortened(self.met.source) if self.met is not None else "an expression that took too long"
            told = f"Stopped at {why}, behind event {self._met_behind:,} of the stream"
            failure = Failure(kind="stopped", message=f"{told}: the connection is closed, what arrived is kept.")
            exchange = msgspec.structs.replace(exchange, failure=failure)
        self.partial = exchange
        return exchange

    def _event(self, event: StreamEvent) -> None:
        if self._on_event is not None:
            self._on_event(event)
        self._events += 1
        if self._ended or not self._asked or self._task is None:
            return
        facts = facts_of(Exchange(request=self._request), event=event, events=self._events)
        try:
            self.met = first_met(self._asked, facts, self._step)
        except SlowExpressionError as error:
            self.slow = error
        if self.met is not None or self.slow is not None:
            self._met_behind = self._events
            self._task.cancel()
