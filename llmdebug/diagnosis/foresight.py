"""Refusals that a request surely meets in the code of its route, found by walking that code before it is sent.

Walked are the validators and methods of the classes that the request is read into, the handler, and the functions
that the route reaches and whose names the request binds. A refusal counts where its guard surely holds and reads
something of the request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.locate import has_pointer
from llmdebug.diagnosis.placed import Placed, placed
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.routecode import Step, code_of
from llmdebug.diagnosis.study import Study
from llmdebug.index.build import Cancelled
from llmdebug.index.facts import Class, Rejection
from llmdebug.index.python.early import EARLY
from llmdebug.index.python.evaluate import MAX_STEPS
from llmdebug.index.python.execute import Callee, Outcome
from llmdebug.index.python.values import Instance, Value

STEPS = 6_000
STEPS_IN_ALL = 60_000
CALLS = 6
MAX_TAKEN = 16


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A refusal that the request meets."""

    outcome: Outcome
    rejection: Rejection | None
    """What the index knows of the statement; None for a crash."""


class Foresight:
    """Walks the code of one route on one request."""

    def __init__(self, ground: Ground, registered: Registered, question: Question) -> None:
        self.ground = ground
        self.index = ground.index
        self.question = question
        self.study = Study(ground, registered, question)
        body = ground.inputs(registered).body
        self.placed: list[Placed] = list(placed(ground, body, self.study.body)) if body is not None else []
        self.code = code_of(ground, registered)
        self.study.fields.update(self._renamed())
        self._steps = 0

    def _renamed(self) -> dict[str, Value]:
        """What the request gives under the names by which code hands it on."""
        given = {name: v for name, v in self.study.fields.items() if v.value is not None and self._is_given(v.pointer)}
        found: dict[str, Value] = {}
        for name, fields in self.code.renames.items():
            held = [given[each] for each in fields if each in given]
            if held and name not in given:
                found[name] = next((each for each in held if each.value), held[-1])
        return found

    def _is_given(self, pointer: str | None) -> bool:
        return bool(pointer) and has_pointer(self.question.body, pointer or "")

    def foreseen(self) -> list[Foreseen]:
        """The refusals, in the order in which they are met as far as that can be told."""
        found: dict[tuple[str, int], Foreseen] = {}
        for outcomes, strong in self._walks():
            for place, outcome in enumerate(outcomes):
                rejection = self._rejection(outcome)
                if _is_sure(outcomes, place) and self._is_refusal(outcome, rejection, strong):
                    found.setdefault((outcome.path, outcome.line), Foreseen(outcome, rejection))
        return list(found.values())

    def _walks(self) -> Iterator[tuple[list[Outcome], bool]]:
        """What each walk meets, and whether it was on an object that is known to come from the request."""
        for item in self.placed:
            yield self.study.of_validators(item.model, item.value, item.pointer), True
        yield self.study.of_handler(), True
        for step in self.code.steps:
            if self.index.cancelled():
                raise Cancelled
            if self._steps > STEPS_IN_ALL:
                return
            yield from self._walked(step)

    def _walked(self, step: Step) -> Iterator[tuple[list[Outcome], bool]]:
        """The walks of one function: on each object that it is a method of, or on what its parameters stand for."""
        node = self.index.node(step.path, step.function)
        if node is None:
            return
        symbol = step.function.name
        if step.of_model:
            for item in self.placed:
                if any((path, known.name) == (step.path, step.owner) for path, known in item.model.lineage):
                    found = self.study.instance(item.model, item.value, item.pointer)
                    yield self._walk(Callee(step.path, symbol, node, {"self": found})), True
            return
        bound = {name: self._given(value) for name, value in self.study.bound(step.path, symbol, node).items()}
        taken = {p.name: self._taken(p.annotation) for p in step.function.parameters if p.name in step.takes}
        for place in range(max((len(each) for each in taken.values()), default=1) or 1):
            for name, each in taken.items():
                if each:
                    item = each[min(place, len(each) - 1)]
                    bound[name] = self.study.instance(item.model, item.value, item.pointer)
            if any(isinstance(value.value, Instance) and value.value.fields for value in bound.values()):
                yield self._walk(Callee(step.path, symbol, node, dict(bound))), bool(step.takes)

    def _given(self, value: Value) -> Value:
        """Of an object whose attributes are fields of the request by name alone: those that the request gives."""
        if not isinstance(value.value, Instance):
            return value
        held = {n: v for n, v in value.value.fields.items() if v.value is not None and self._is_taken(v.pointer)}
        return Value(Instance(held, pointer=value.value.pointer, closed=True), value.reads)

    def _is_taken(self, pointer: str | None) -> bool:
        """Whether a value stands in a field that the route's class has."""
        if pointer is None:
            return False
        top = pointer.split("/")[1].replace("~1", "/").replace("~0", "~") if pointer else ""
        return not self.placed or not top or self.placed[0].model.by_key(top) is not None

    def _walk(self, callee: Callee) -> list[Outcome]:
        walk = self.study.walk()
        walk.max_calls = CALLS
        walk.steps = [MAX_STEPS - STEPS]
        outcomes = walk.run(callee)
        self._steps += walk.steps[0] - (MAX_STEPS - STEPS)
        return outcomes

    def _taken(self, annotation: str) -> list[Placed]:
        """The objects of the request that are read into a class which an annotation names."""
        named = set(re.findall(r"[A-Z]\w+", annotation))
        found = (p for p in self.placed if named & {known.name for _, known in p.model.lineage[:1]})
        return list(islice(found, MAX_TAKEN)) if named else []

    def _rejection(self, outcome: Outcome) -> Rejection | None:
        facts = self.index.facts(outcome.path)
        here = [r for r in facts.rejections if r.line == outcome.line] if facts else []
        return next((r for r in here if r.role in {"raises", "returns"}), None)

    def _is_own(self, outcome: Outcome) -> bool:
        """Whether it happens where code is surely handed what the request holds: in a validator, or the handler."""
        if (outcome.path, outcome.symbol) == self.code.handler:
            return True
        owner, _, name = outcome.symbol.rpartition(".")
        known = self.index.local(outcome.path).get(owner)
        early = isinstance(known, Class) and any(v.method == name and v.mode in EARLY for v in known.validators)
        return early and (outcome.path, owner) in self.code.models

    def _is_refusal(self, outcome: Outcome, rejection: Rejection | None, strong: bool) -> bool:
        if outcome.kind == "return" and (rejection is None or not _tells(rejection)):
            return False
        if outcome.kind == "crash" and (not self._is_own(outcome) or "'dict' object has no attribute" in outcome.text):
            return False
        near = outcome.near - {""}
        if outcome.error == "AssertionError" and not self._is_own(outcome):
            return False
        if any(has_pointer(self.question.body, pointer) for pointer in near):
            return True
        return (bool(near) and strong) or (bool(outcome.near) and outcome.kind == "raise" and self._is_own(outcome))


def _tells(rejection: Rejection) -> bool:
    """Whether a return statement answers with an error: by a helper, a status, or a text of several words."""
    if rejection.role != "returns":
        return False
    texts = (piece for template in rejection.templates for piece in template.parts if piece)
    return bool(rejection.raised) or rejection.status is not None or any(" " in text.strip() for text in texts)


def _is_sure(outcomes: Sequence[Outcome], place: int) -> bool:
    """Whether an outcome is surely met, or only another refusal may come before it."""
    outcome = outcomes[place]
    if not outcome.escapes or not (outcome.certain or outcome.held):
        return False
    if outcome.certain:
        return True
    roots = {(outcomes[-1].path, outcomes[-1].symbol), (outcome.path, outcome.symbol)}
    return not any(o.kind == "return" and not o.certain and (o.path, o.symbol) in roots for o in outcomes[:place])
