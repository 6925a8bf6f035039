"""A changed body held against the tree before it is offered: the schema, and the check that refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.study import Study
from llmdebug.index.python.evaluate import MAX_STEPS
from llmdebug.index.python.execute import Outcome, Walk

MAX_STUDIED = 200_000
"""Bytes of a body that the refusing code is walked through with."""
MAX_TRIALS = 24
STEPS = 6_000


class _ShortStudy(Study):
    """A walk of few steps: a refusal that takes more to reach is not tried, as each remedy would cost as much."""

    def walk(self) -> Walk:
        walk = super().walk()
        walk.steps[0] = MAX_STEPS - STEPS
        return walk


class Trial:
    """Tells whether a changed body would be refused again, as far as the tree tells."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self._known = {(p.pointer, p.type) for p in case.problems(case.body)}
        self._left = MAX_TRIALS
        self._speaks = self._spoke()

    def _spoke(self) -> bool:
        """Whether walking through the refusing code shows the refusal, so that its absence would mean something.

        A helper that refuses whatever it is given tells nothing of a body.
        """
        spots = self.case.finding.spots
        if not spots or self.case.ground is None or len(self.case.question.request.body) > MAX_STUDIED:
            return False
        if spots[0].role not in {"raises", "returns", "checks", "reads"} or not spots[0].symbol:
            return False
        outcomes, _ = self._walk(self.case.body)
        return self._surely(outcomes) and any(o.reads - {""} for o in self._here(outcomes))

    def _walk(self, body: Any) -> tuple[list[Outcome], bool]:
        case = self.case
        if case.ground is None:
            return [], False
        request = msgspec.structs.replace(case.question.request, body=b"")
        question = replace(case.question, request=request, body=body)
        spot = case.finding.spots[0]
        return _ShortStudy(case.ground, case.registered, question).local(spot.file, spot.symbol, spot.line)

    def _here(self, outcomes: list[Outcome]) -> list[Outcome]:
        spot = self.case.finding.spots[0]
        return [o for o in outcomes if o.path == spot.file and spot.line <= o.line <= max(spot.end_line, spot.line)]

    def _surely(self, outcomes: list[Outcome]) -> bool:
        """Whether the refusal is reached for certain: no way out of its function before it is in doubt."""
        here = [outcome for outcome in self._here(outcomes) if outcome.certain]
        return any(
            not any(
                o.kind == "return" and not o.certain and (o.path, o.symbol) == (at.path, at.symbol) and o.line < at.line
                for o in outcomes
            )
            for at in here
        )

    def refused(self, body: Any) -> bool | None:
        """Whether the tree says that this body is refused; None where it does not tell."""
        found = self.case.problems(body)
        if any((problem.pointer, problem.type) not in self._known for problem in found):
            return True
        blamed = set(self.case.pointers)
        if any(problem.pointer in blamed for problem in found):
            return True
        if not self._speaks or self._left <= 0:
            return False if self._known and not found else None
        self._left -= 1
        outcomes, ended = self._walk(body)
        if self._surely(outcomes):
            return True
        return False if ended or not self._here(outcomes) else None
