"""Comprehensions, and `any` and `all` over them, turn by turn."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from llmdebug.index.python.operations import iterated, unpacked
from llmdebug.index.python.values import NOTHING, UNKNOWN, Value

if TYPE_CHECKING:
    from llmdebug.index.python.evaluate import Evaluator


class _Lost(Exception):
    """What a comprehension runs over can't be told."""


class _Turns:
    """The turns of a comprehension; each binds its targets in a scope of its own."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.scope: dict[str, Value] = {}
        self.over = NOTHING
        """What the loops run over."""
        self.tests = NOTHING
        """What the conditions read."""
        self.sure = True
        """Whether a turn that is reached surely happens; a consumer that may have stopped clears it."""

    def run(self, generators: list[ast.comprehension], sure: bool = True) -> Iterator[bool]:
        """Whether each turn surely happens. Raises _Lost."""
        if not generators:
            yield sure
            return
        first, rest = generators[0], generators[1:]
        evaluator = self.evaluator
        found = evaluator.value(first.iter) if sure and self.sure else evaluator.quietly(first.iter)
        self.over |= found.reads
        items = iterated(found, first.iter.lineno) if sure and self.sure else _items(found, first.iter.lineno)
        if items is None or first.is_async:
            raise _Lost
        for item in items:
            if not self.bind(first.target, item):
                raise _Lost
            holds = self._admitted(first.ifs, sure)
            if holds is not False:
                yield from self.run(rest, sure and holds is True)

    def _admitted(self, conditions: list[ast.expr], sure: bool) -> bool | None:
        known = True
        for condition in conditions:
            certain = sure and known and self.sure
            holds, reads = self.evaluator.truth(condition) if certain else self.evaluator.truth_quietly(condition)
            self.tests |= reads
            if holds is False:
                return False
            known = known and holds is True
        return True if known else None

    def bind(self, target: ast.expr, value: Value) -> bool:
        """Bind the names of a target; False where the form is not followed."""
        match target:
            case ast.Name(id=name):
                self.scope[name] = value
                return True
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                items = unpacked(value, len(elements), target.lineno) if self.sure else None
                given = items or [Value(UNKNOWN, value.reads)] * len(elements)
                return all(self.bind(element, item) for element, item in zip(elements, given, strict=True))
        return False


def _items(found: Value, line: int) -> list[Value] | None:
    return iterated(found, line) if isinstance(found.value, str | list | dict | tuple | set) else None


def elements(evaluator: Evaluator, element: ast.expr, generators: list[ast.comprehension]) -> Value:
    """The list that a comprehension makes."""
    turns = _Turns(evaluator)
    made: list[Any] = []
    reads = NOTHING
    whole = True
    evaluator.scopes.append(turns.scope)
    try:
        for sure in turns.run(generators):
            found = evaluator.value(element) if sure else evaluator.quietly(element)
            reads |= found.reads
            whole = whole and sure
            made.append(found.value)
    except _Lost:
        whole = False
    finally:
        evaluator.scopes.pop()
    return Value(made if whole else UNKNOWN, reads | turns.over | turns.tests)


def any_all(evaluator: Evaluator, wanted: bool, element: ast.expr, generators: list[ast.comprehension]) -> Value:
    """`any` (wanted True) and `all` (False): they stop at the first element that decides, and so does this."""
    turns = _Turns(evaluator)
    evaluator.scopes.append(turns.scope)
    try:
        for sure in turns.run(generators):
            certain = sure and turns.sure
            holds, reads = evaluator.truth(element) if certain else evaluator.truth_quietly(element)
            if sure and holds is wanted:
                bound = frozenset().union(*(value.reads for value in turns.scope.values()))
                return Value(wanted, turns.over | reads | bound)
            if holds is None or holds is wanted:
                turns.sure = False
    except _Lost:
        turns.sure = False
    finally:
        evaluator.scopes.pop()
    return Value((not wanted) if turns.sure else UNKNOWN, turns.over)
