"""A replay as it goes on, and what came of it: as lines to read, or as JSON."""

from __future__ import annotations

import sys
from typing import Literal, Protocol

import msgspec

from llmdebug.cli.ink import Ink
from llmdebug.cli.json_line import print_json
from llmdebug.debugger.attempts import Attempt
from llmdebug.debugger.conditiontext import shortened
from llmdebug.debugger.groups import Group, groups_of
from llmdebug.debugger.outcome import Outcome
from llmdebug.debugger.stepper import Stepper, Stop, Why
from llmdebug.debugger.visible import visible
from llmdebug.formats.exchanges import Row

_COLOURS: dict[Outcome, str] = {"answered": "green", "refused": "red", "no_answer": "yellow"}
_MOST_STEPS = 5


class ReplayReport(Protocol):
    def attempt(self, attempt: Attempt, recorded: Row) -> None: ...

    def passed(self, step: int, told: str, recorded: Row) -> None:
        """A step that cannot be sent."""

    def end(self, stepper: Stepper, stop: Stop) -> None: ...


class StepJson(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `replay --json`. Steps count from 1, times are seconds."""

    schema: str = "llmdebug.step/1"
    step: int
    id: str
    method: str
    url: str
    name: str
    outcome: Outcome | Literal["skipped"]
    """`skipped`: it cannot be sent as the file has it, for the reason that `message` tells."""
    status: int | None
    recorded_status: int | None
    changed: bool
    latency: float | None
    ttft: float | None
    failure: str
    kind: str
    sites: tuple[str, ...]
    message: str


class GroupJson(msgspec.Struct, frozen=True, kw_only=True):
    site: str
    kind: str
    status: int | None
    message: str
    count: int
    first: int


class ReplayJson(msgspec.Struct, frozen=True, kw_only=True):
    """The last line of `replay --json`."""

    schema: str = "llmdebug.replay/1"
    stopped: Why
    condition: str
    next: int | None
    """The step that would be sent next; None where all are done."""
    steps: int
    sent: int
    answered: int
    refused: int
    no_answer: int
    skipped: int
    changed: int
    groups: tuple[GroupJson, ...]


class JsonReport:
    """One object a line."""

    def attempt(self, attempt: Attempt, recorded: Row) -> None:
        row, judged = attempt.row, attempt.judged
        print_json(
            StepJson(
                step=attempt.step + 1,
                id=attempt.id,
                method=row.method,
                url=row.url,
                name=row.name,
                outcome=attempt.outcome,
                status=row.status,
                recorded_status=recorded.status,
                changed=attempt.changed,
                latency=row.latency,
                ttft=row.ttft,
                failure=row.failure,
                kind=judged.kind if judged is not None else "",
                sites=judged.sites if judged is not None else (),
                message=attempt.told,
            )
        )

    def passed(self, step: int, told: str, recorded: Row) -> None:
        print_json(
            StepJson(
                step=step + 1,
                id="",
                method=recorded.method,
                url=recorded.url,
                name=recorded.name,
                outcome="skipped",
                status=None,
                recorded_status=recorded.status,
                changed=False,
                latency=None,
                ttft=None,
                failure=recorded.failure,
                kind="",
                sites=(),
                message=told,
            )
        )

    def end(self, stepper: Stepper, stop: Stop) -> None:
        attempts = list(stepper.attempts)
        outcomes = [attempt.outcome for attempt in attempts]
        print_json(
            ReplayJson(
                stopped=stop.why,
                condition=stop.condition,
                next=None if stepper.done else stop.at + 1,
                steps=len(stepper.exchanges),
                sent=len(attempts),
                answered=outcomes.count("answered"),
                refused=outcomes.count("refused"),
                no_answer=outcomes.count("no_answer"),
                skipped=len(stepper.skipped),
                changed=sum(attempt.changed for attempt in attempts),
                groups=tuple(_group_json(group) for group in groups_of(attempts)),
            )
        )


class TextReport:
    """Lines to read."""

    def __init__(self, steps: int) -> None:
        self._digits = len(f"{steps:,}")
        self._ink = Ink(sys.stdout)

    def attempt(self, attempt: Attempt, recorded: Row) -> None:
        row, ink = attempt.row, self._ink
        status = str(row.status) if row.status is not None else row.failure or "none"
        time = f"{row.latency * 1000:,.0f} ms" if row.latency is not None else ""
        was = str(recorded.status) if recorded.status is not None else "no answer"
        changed = ink(f"  changed, was {was}", "yellow") if attempt.changed else ""
        place = f"  {attempt.judged.sites[0]}" if attempt.judged is not None and attempt.judged.sites else ""
        target = visible(f"{row.method} {_target(row.url)}" + (f" ({row.name})" if row.name else ""))
        number = f"{attempt.step + 1:,}".rjust(self._digits)
        print(f"{number}  {ink(status, _COLOURS[attempt.outcome])}  {time:>9}  {target}{changed}{visible(place)}")
        if attempt.outcome != "answered":
            print(" " * (self._digits + 2) + visible(attempt.told))
        sys.stdout.flush()

    def passed(self, step: int, told: str, recorded: Row) -> None:
        number = f"{step + 1:,}".rjust(self._digits)
        print(f"{number}  {self._ink('skipped', 'yellow')}  {visible(told)}", flush=True)

    def end(self, stepper: Stepper, stop: Stop) -> None:
        attempts = list(stepper.attempts)
        count = {name: sum(attempt.outcome == name for attempt in attempts) for name in _COLOURS}
        changed = sum(attempt.changed for attempt in attempts)
        skipped = f", {len(stepper.skipped):,} skipped" if stepper.skipped else ""
        print(
            f"\n{len(attempts):,} of {len(stepper.exchanges):,} sent: {count['answered']:,} answered, "
            f"{count['refused']:,} refused, {count['no_answer']:,} without an answer{skipped}; {changed:,} changed"
        )
        for group in groups_of(attempts):
            steps = ", ".join(f"{step + 1:,}" for step in group.steps[:_MOST_STEPS])
            more = ", …" if len(group.steps) > _MOST_STEPS else ""
            print(f"  {visible(group.title)}\n    steps {steps}{more}")
        told = _stopped(stop)
        if told:
            print(self._ink(visible(told), "bold"))


def _stopped(stop: Stop) -> str:
    where, condition = f"step {stop.at + 1:,}", shortened(stop.condition)
    if stop.why == "breakpoint":
        return f"Stopped at the breakpoint {condition or 'there'}: {where} is next."
    if stop.why == "stream":
        return f"Stopped inside the stream of step {stop.at:,} at {condition}: {where} is next."
    if stop.why == "unreachable":
        return f"Stopped: the server cannot be reached. --resume goes on with {where}."
    if stop.why == "interrupted":
        return f"Interrupted. What was answered is kept; --resume goes on with {where}."
    return f"Stopped before {where}." if stop.why == "here" else ""


def _target(url: str) -> str:
    return "/" + url.partition("://")[2].partition("/")[2]


def _group_json(group: Group) -> GroupJson:
    return GroupJson(
        site=group.place,
        kind=group.kind,
        status=group.status,
        message=group.told,
        count=len(group.steps),
        first=group.steps[0] + 1,
    )
