"""The stepper: recorded requests sent one after the other, as a debugger steps through code.

Breakpoints are conditions. One that asks only for facts of the request stops before it is sent, one that
asks for the answer stops behind it, and one that asks for the events of a stream stops inside: the
connection is closed and what had arrived is kept. A mark on a step stops before it.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from asyncio import sleep
from collections.abc import Callable
from typing import Literal

import msgspec

from llmdebug.debugger.aim import Aim, aimed, withheld
from llmdebug.debugger.answervariables import VariableError, filled
from llmdebug.debugger.attempts import NO_SERVER, Attempt, Attempts, attempt_of, is_done
from llmdebug.debugger.condition import Condition, first_met
from llmdebug.debugger.facts import facts_of, judged
from llmdebug.debugger.recorder import NotRecordedError
from llmdebug.debugger.session import SentExchange, Session
from llmdebug.debugger.underway import Sending
from llmdebug.formats.exchanges import Exchanges
from llmdebug.formats.resent import NOTE
from llmdebug.http.exchange import Exchange, Failure, Request, StreamEvent
from llmdebug.http.keys import host_of, place_of, told_withheld

ASK_ABOVE = 100
"""More requests than this go out only when somebody has agreed."""

Why = Literal["here", "breakpoint", "stream", "unreachable", "interrupted", "end"]
Pace = Literal["none", "recorded"]


class ConsentNeeded(Exception):
    """So many requests go out only when the user has agreed."""

    def __init__(self, count: int) -> None:
        super().__init__(f"{count:,} requests would be sent.")
        self.count = count


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """Why the stepper stands, and where."""

    why: Why
    at: int
    """The step that is sent next; the number of steps where all are done."""
    condition: str = ""
    """The breakpoint that was met."""
    last: int | None = None
    """The step whose answer brought the stop; None where it stands before a step."""


class RunNote(msgspec.Struct, frozen=True, kw_only=True):
    """Beside each exchange of a replay: from it a replay is taken up again."""

    run: str
    file: str
    step: int
    of: int
    edited: bool = False


OnAttempt = Callable[[Attempt], None]
OnPassed = Callable[[int, str], None]
"""A step that cannot be sent, and why."""
OnEvent = Callable[[StreamEvent], None]


class Stepper:
    """Drives one replay. `at` is the step that is sent next; steps count from 0."""

    def __init__(
        self,
        session: Session,
        exchanges: Exchanges,
        *,
        aim: Aim | None = None,
        pace: Pace = "none",
        diagnose: bool = False,
        file: str = "",
    ) -> None:
        """`diagnose` traces each refusal; else only where a breakpoint asks for it. `file` names the run."""
        self.session = session
        self.exchanges = exchanges
        self.aim = aim or Aim()
        self.pace: Pace = pace
        self.diagnose = diagnose
        self.file = file
        self.run = uuid.uuid4().hex
        self.at = 0
        self.breakpoints: list[Condition] = []
        self.marks: set[int] = set()
        self.skipped: set[int] = set()
        self.edits: dict[int, Request] = {}
        self.attempts = Attempts(session.recorded)
        self._stood_before: int | None = None
        """The step before which it stopped: going on passes it."""
        self._started: float | None = None
        self._names: dict[str, int] | None = None
        self._told_withheld: set[str] = set()

    @property
    def done(self) -> bool:
        return self.at >= len(self.exchanges)

    def request(self, step: int) -> Request:
        """As it would be sent, but for variables: the edited one, or the recorded one aimed. Raises FormatError."""
        return self.edits.get(step) or aimed(self.exchanges.exchange(step).request, self.aim)

    def filled(self, request: Request) -> Request:
        """With the values of earlier answers in it. Raises VariableError."""
        return filled(request, lambda name: self._answer_of(name, request.url))

    def restart(self) -> None:
        """From the first step, as a new run; breakpoints, marks and edits stay, and what was sent is recorded."""
        self.at = 0
        self.run = uuid.uuid4().hex
        self.skipped.clear()
        self.attempts.clear()
        self._stood_before = self._started = None

    def skip(self) -> None:
        if not self.done:
            self.skipped.add(self.at)
            self.at += 1

    def pass_over(self) -> str:
        """Skips the next step where it cannot be sent as the file has it; why, or empty. Raises FormatError."""
        told = "" if self.at in self.edits else self.exchanges.problem(self.at)
        if told:
            self.skip()
        return told

    def go_to(self, step: int) -> None:
        """Makes this step the next; those between are neither sent nor skipped."""
        self.at = max(0, min(step, len(self.exchanges)))

    def left(self, to: int | None = None) -> int:
        """How many requests would go out up to a step, or to the end."""
        return max((len(self.exchanges) if to is None else to) - self.at, 0)

    async def go_on(
        self,
        *,
        to: int | None = None,
        agreed: bool = False,
        on_attempt: OnAttempt | None = None,
        on_passed: OnPassed | None = None,
        on_event: OnEvent | None = None,
    ) -> Stop:
        """Sends until a breakpoint, a mark, the step `to`, or the end. Raises ConsentNeeded before anything goes out.

        Raises SlowExpressionError where a breakpoint cannot be decided; what was answered is kept.
        Raises NotRecordedError, and sends nothing more, where the user's own recording cannot keep a step.
        A step that cannot be sent is passed over.
        When the task is cancelled, what had arrived is kept, and the next step is the one behind it; where
        nothing had arrived, that step stays the next one.
        """
        if not agreed and self.left(to) > ASK_ABOVE:
            raise ConsentNeeded(self.left(to))
        while not self.done and (to is None or self.at < to):
            step, told = self.at, self.pass_over()
            if told:
                if on_passed is not None:
                    on_passed(step, told)
                await sleep(0)
                continue
            met = self._before()
            if met is not None:
                return met
            try:
                stop = await self._sent(on_event)
            except NotRecordedError as error:
                raise NotRecordedError(error.what, error.why, step) from error
            attempt = self.attempts.last(step)
            if on_attempt is not None and attempt is not None:
                on_attempt(attempt)
            if stop is not None:
                return stop
        return Stop(why="end" if self.done else "here", at=self.at)

    async def resend(
        self, step: int, request: Request | None = None, *, on_event: OnEvent | None = None
    ) -> SentExchange:
        """Sends a step again, edited if a request is given; the next step stays the same one.

        When the task is cancelled, what had arrived is its last attempt.
        """
        if request is not None:
            self.edits[step] = request
        await self._attempt(step, on_event)
        now = self.attempts.exchange(step)
        if now is None:
            raise LookupError(f"step {step} was not sent")
        return SentExchange(id=self._last(step).id, exchange=now)

    def _last(self, step: int) -> Attempt:
        attempt = self.attempts.last(step)
        if attempt is None:
            raise LookupError(f"step {step} was not sent")
        return attempt

    def _before(self) -> Stop | None:
        """The stop before the next step, unless it is just there that it stands."""
        if self._stood_before == self.at:
            return None
        condition = "" if self.at in self.marks else None
        asked = [one for one in self.breakpoints if one.of_request]
        if condition is None and asked:
            facts = facts_of(Exchange(request=self.request(self.at)))
            met = first_met(asked, facts, self.at)
            condition = None if met is None else met.source
        if condition is None:
            return None
        self._stood_before = self.at
        return Stop(why="breakpoint", at=self.at, condition=condition)

    async def _sent(self, on_event: OnEvent | None) -> Stop | None:
        """Sends the next step and goes one on; the stop that its answer brings, if any."""
        step, before = self.at, len(self.attempts.of(self.at))
        await self._wait_for_pace(step)
        try:
            inside = await self._attempt(step, on_event)
        finally:
            if any(is_done(one.row) for one in self.attempts.of(step)[before:]):
                self.at = step + 1
        attempt = self._last(step)
        if attempt.row.failure in NO_SERVER:
            return Stop(why="unreachable", at=step, last=step)
        if inside is not None:
            return Stop(why="stream", at=self.at, condition=inside.source, last=step)
        met = self._met(step, attempt)
        return None if met is None else Stop(why="breakpoint", at=self.at, condition=met.source, last=step)

    async def _wait_for_pace(self, step: int) -> None:
        now = time.monotonic()
        if self.pace == "recorded" and self._started is not None and step > 0:
            before, here = (self.exchanges.row(number).started_at for number in (step - 1, step))
            apart = 0.0 if before is None or here is None else here - before
            await sleep(max(self._started + apart - now, 0.0))
        self._started = time.monotonic()

    async def _attempt(self, step: int, on_event: OnEvent | None) -> Condition | None:
        """Sends a step; the breakpoint that it stopped at inside its stream, if any."""
        try:
            request = self.filled(self.request(step))
        except VariableError as error:
            failure = Failure(kind="bad_request", message=str(error))
            unsent = Exchange(request=self.request(step), failure=failure)
            await self._keep(step, SentExchange(id="", exchange=unsent))
            return None
        self._tell_withheld(step)
        sending = Sending(self.session, request, step, {NOTE: self._note(step)}, self.breakpoints, on_event)
        try:
            sent = await sending.run()
        except asyncio.CancelledError:
            if sending.partial is not None:
                self._add(step, SentExchange(id=sending.id, exchange=sending.partial))
            raise
        await self._keep(step, sent)
        if sending.slow is not None:
            raise sending.slow
        return sending.met

    def _note(self, step: int) -> RunNote:
        return RunNote(run=self.run, file=self.file, step=step, of=len(self.exchanges), edited=step in self.edits)

    def _tell_withheld(self, step: int) -> None:
        """Each name once a replay, among the session's warnings."""
        names = withheld(self.exchanges.exchange(step).request, self.aim)
        new = tuple(name for name in names if name not in self._told_withheld)
        if new:
            self._told_withheld.update(new)
            self.session.warnings.append(told_withheld(new, self.aim.base_url))

    async def _keep(self, step: int, sent: SentExchange) -> None:
        self._add(step, sent)
        asks = self.diagnose or any(one.of_diagnosis for one in self.breakpoints)
        if asks and self._last(step).outcome == "refused":
            self.attempts.judge(step, judged((await self.session.diagnose(sent)).diagnosis))

    def _add(self, step: int, sent: SentExchange) -> None:
        recorded = self.exchanges.exchange(step)
        attempt = attempt_of(step, sent, recorded, edit=self.edits.get(step), secrets=self.session.secrets)
        self.attempts.add(attempt, sent.exchange)

    def _met(self, step: int, attempt: Attempt) -> Condition | None:
        asked = [one for one in self.breakpoints if not one.of_request]
        now = self.attempts.exchange(step)
        if not asked or now is None:
            return None
        facts = facts_of(now, recorded=self.exchanges.exchange(step), diagnosis=attempt.judged)
        return first_met(asked, facts, step)

    def _answer_of(self, name: str, url: str) -> Exchange | None:
        """What a step of this name got: now, or else when it was recorded; None for neither. Raises KeyError.

        What another host answered when it was recorded may hold its keys: it does not go to `url`, where the aim
        leads elsewhere. Raises VariableError for that.
        """
        if self._names is None:
            rows = ((self.exchanges.row(number).name, number) for number in range(len(self.exchanges)))
            self._names = {name: number for name, number in rows if name}
        step = self._names[name]
        now = self.attempts.exchange(step)
        if now is not None and now.response is not None:
            return now
        recorded = self.exchanges.exchange(step)
        if recorded.response is None:
            return None
        home = recorded.request.url
        if self.aim.base_url and not self.aim.send_secrets and place_of(home) != place_of(url):
            raise VariableError(
                f"{name} was answered by {host_of(home)} when it was recorded, which is not told to {host_of(url)}: "
                f"send {name} first, or allow it with --send-secrets."
            )
        return recorded
