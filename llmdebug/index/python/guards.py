"""The tests that stand before a statement, evaluated with what is known of their names."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llmdebug.index.python.evaluate import Evaluator
from llmdebug.index.python.frames import Replacement
from llmdebug.index.python.syntax import dotted
from llmdebug.index.python.values import NOT_KNOWN, Crash, Stop, Value


@dataclass(frozen=True, slots=True)
class Guard:
    """A test on the way to a statement, and what it must give for the statement to be reached."""

    test: ast.expr
    wanted: bool
    line: int


def guards_of(function: ast.AST, line: int) -> list[Guard]:
    """The tests around the statement that starts at `line`, outermost first."""
    found: list[Guard] = []
    node: ast.AST | None = function
    while node is not None:
        node = _step(node, line, found)
    return found


def _step(node: ast.AST, line: int, found: list[Guard]) -> ast.AST | None:
    """The child statement that holds the line; its test is noted."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, name, None) or ():
            if not isinstance(child, ast.AST) or isinstance(child, ast.expr):
                continue
            lines = [n.lineno for n in ast.walk(child) if isinstance(n, ast.stmt | ast.pattern)]
            ends = [n.end_lineno or 0 for n in ast.walk(child) if isinstance(n, ast.stmt | ast.pattern)]
            if lines and min(lines) <= line <= max(ends):
                if isinstance(node, ast.If | ast.While):
                    found.append(Guard(node.test, name == "body", node.lineno))
                return None if min(lines) == line and not hasattr(child, "body") else child
    return None


class _Given:
    """Surroundings that know the given names and nothing else."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = {name: Value(value) for name, value in given.items()}

    def lookup(self, name: str) -> Value:
        return self.given.get(name, NOT_KNOWN)

    def attribute(self, owner: Value, name: str, node: ast.Attribute) -> Value:
        return self.given.get(dotted(node), NOT_KNOWN)

    def call(self, node: ast.Call, evaluator: Evaluator) -> Value:
        return NOT_KNOWN

    def bind(self, name: str, value: Value) -> None:
        self.given[name] = value

    def replace(self, old: Any, new: Any, reads: frozenset[str]) -> None:
        replacement = Replacement(old, new, reads)
        self.given = {name: replacement.on(value) for name, value in self.given.items()}


def holds(guards: list[Guard], given: Mapping[str, Any]) -> bool | None:
    """Whether all guards hold with these values of names (dotted or not); None where that can't be told."""
    surely = True
    evaluator = Evaluator(_Given(given))
    for guard in guards:
        try:
            found, _ = evaluator.truth(guard.test)
        except (Crash, Stop, RecursionError):
            return None
        if found is None:
            surely = False
        elif found != guard.wanted:
            return False
    return True if surely and guards else None
