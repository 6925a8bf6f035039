"""The case that remedies are sought for: the question, what was found, and what the tree declares where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from llmdebug.diagnosis.complaint import Complaint
from llmdebug.diagnosis.finding import Finding
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.locate import Located, declarations, has_pointer, located, value_at
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.schema import Problem
from llmdebug.index.python.inputs import Inputs
from llmdebug.index.python.models import Declared, Model
from llmdebug.index.python.types import ANYTHING, Either, Limited, ListOf, MapOf, Object, TupleOf, Type
from llmdebug.jsontext import pointer as pointers

MAX_COMPLAINTS = 24
MAX_DEPTH = 24


@dataclass(eq=False)
class Case:
    """A refused question with its finding; without a tree only the words are there."""

    question: Question
    finding: Finding
    ground: Ground | None
    registered: Registered | None
    models: tuple[str, ...] = ()
    """Names that the live server lists, where it was asked."""

    @property
    def body(self) -> Any:
        return self.question.body

    @cached_property
    def text(self) -> str:
        """What the server said of the first blamed field, else all that it said."""
        first = self.pointers[0] if self.pointers else ""
        for item in self.complaints:
            if item.pointer == first:
                return item.complaint.message[:4_000]
        if len(self.complaints) == 1:
            return self.complaints[0].complaint.message[:4_000]
        return self.question.answer.text[:4_000]

    @cached_property
    def complaints(self) -> list[Located]:
        """The single complaints with their pointers; few of many."""
        found: list[Complaint] = [c for c in self.question.answer.complaints if c.loc or c.type]
        return [located(complaint, self.body) for complaint in found[:MAX_COMPLAINTS]]

    @cached_property
    def pointers(self) -> list[str]:
        """Pointers of the blamed fields of the body, best first."""
        return [field.pointer for field in self.finding.fields if field.place == "body"]

    @cached_property
    def present(self) -> list[str]:
        """Those of the blamed fields that the request has."""
        return [pointer for pointer in self.pointers if pointer and has_pointer(self.body, pointer)]

    def value(self, pointer: str) -> Any:
        return value_at(self.body, pointer)

    # what the tree declares

    @cached_property
    def inputs(self) -> Inputs | None:
        return self.ground.inputs(self.registered) if self.ground and self.registered else None

    @property
    def root(self) -> Type | None:
        return self.inputs.body if self.inputs else None

    def declared(self, pointer: str) -> Declared | None:
        """The declaration of the field at a pointer itself."""
        chain = self._chain(pointer)
        return chain[-1].declared if chain and chain[-1].depth == len(pointers.parse(pointer)) else None

    def _chain(self, pointer: str) -> Any:
        if self.ground is None or self.root is None or not pointer:
            return []
        return declarations(self.ground.checker, self.root, pointer, self.body)

    def type_at(self, pointer: str) -> Type:
        """What the tree admits at a pointer; anything where it does not tell."""
        if self.ground is None or self.inputs is None:
            return ANYTHING
        steps = list(pointers.parse(pointer))
        if self.root is None:
            inner = self.inputs.embedded.get(steps[0]) if steps else None
            return self._below(inner, steps[1:]) if inner is not None else ANYTHING
        if not steps:
            return self.root
        chain = self._chain(pointer)
        if not chain:
            return self._below(self.root, steps)
        last = chain[-1]
        return self._below(self.ground.checker.field_type(last.declared), steps[last.depth :])

    def _below(self, kind: Type, steps: list[str], depth: int = 0) -> Type:
        """The type that lists and maps hold."""
        if depth > MAX_DEPTH:
            return ANYTHING
        match kind:
            case Limited(inner, _) if steps:
                return self._below(inner, steps, depth + 1)
            case Either(options, _) if steps:
                found = [self._below(option, steps, depth + 1) for option in options]
                known = [kind for kind in found if kind != ANYTHING]
                return Either(tuple(dict.fromkeys(known))) if len(known) > 1 else known[0] if known else ANYTHING
            case ListOf(item) if steps:
                return ANYTHING if pointers.index_of(steps[0]) is None else self._below(item, steps[1:], depth + 1)
            case TupleOf(items) if steps:
                index = pointers.index_of(steps[0])
                return (
                    ANYTHING
                    if index is None or index >= len(items)
                    else self._below(items[index], steps[1:], depth + 1)
                )
            case MapOf(_, inner) if steps:
                return self._below(inner, steps[1:], depth + 1)
            case Object(model) if steps and self.ground is not None:
                declared = model.by_key(steps[0])
                inner = self.ground.checker.field_type(declared) if declared else ANYTHING
                return self._below(inner, steps[1:], depth + 1)
        return ANYTHING if steps else kind

    def models_at(self, pointer: str) -> list[Model]:
        """The classes that the object at a pointer may be read into, the best fitting first."""
        if self.ground is None:
            return []
        value = self.value(pointer)
        found = list(models_of(self.type_at(pointer)))
        checker = self.ground.checker
        keys = list(value) if isinstance(value, dict) else []

        def distance(model: Model) -> int:
            problems = checker.check(Object(model), value)
            tags = sum(p.type in {"literal_error", "enum"} for p in problems)
            return len(problems) + 5 * tags + sum(model.by_key(key) is None for key in keys)

        return sorted(found, key=distance)

    def admits(self, kind: Type, value: Any) -> bool:
        return self.ground is None or not self.ground.checker.check(kind, value)

    def problems(self, body: Any, doubtful: bool = False) -> list[Problem]:
        """What the tree's schema surely does not admit in a body; `doubtful` adds what a validator may put right."""
        if self.ground is None or self.root is None:
            return []
        return [problem for problem in self.ground.checker.check(self.root, body) if problem.certain or doubtful]

    def ignored_below(self, pointer: str) -> list[str]:
        """Keys of the object at a pointer that nobody takes, as pointers."""
        given = [p for p in self.finding.ignored if pointers.parent(p) == pointer]
        holder = self.value(pointer)
        if not isinstance(holder, dict):
            return given
        for model in self.models_at(pointer)[:1]:
            listed = set(given)
            unknown = [pointer + pointers.join(key) for key in holder if model.by_key(key) is None]
            given += [place for place in unknown if place not in listed]
        return given

    @property
    def handler_file(self) -> str:
        """The file of the route's registration; empty where there is none."""
        return self.registered.file if self.registered else ""

    # changed bodies

    def changed(self, pointer: str, value: Any) -> Any:
        """The body with a value set; raises PointerError where nothing leads there."""
        return pointers.set(self.body, pointer, value)

    def without(self, *gone: str) -> Any:
        """The body without the values at these pointers, the deepest and last first."""
        body = self.body
        for pointer in sorted(gone, key=lambda p: [_order(step) for step in pointers.parse(p)], reverse=True):
            if pointers.has(body, pointer):
                body = pointers.remove(body, pointer)
        return body


def _order(step: str) -> tuple[int, str]:
    index = pointers.index_of(step)
    return (-1, step) if index is None else (index, "")


def models_of(kind: Type) -> Iterator[Model]:
    """The classes among the branches of a type."""
    match kind:
        case Object(model):
            yield model
        case Limited(inner, _):
            yield from models_of(inner)
        case Either(options, _):
            for option in options:
                yield from models_of(option)
