"""Values of a request that code cuts to a bound, or drops for their type, without a word to the sender."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from llmdebug.diagnosis.finding import Spot
from llmdebug.diagnosis.takers import Taker
from llmdebug.index.build import Index
from llmdebug.index.python.constants import constant
from llmdebug.index.python.guards import Guard, guards_of, holds
from llmdebug.index.python.operations import is_instance
from llmdebug.index.python.syntax import last_name, text

CLIPPERS = frozenset({"clip", "clamp"})
CASTS = frozenset({"int", "float", "abs", "round"})


@dataclass
class Cuts:
    """The cuts that one function makes."""

    index: Index
    taker: Taker
    given: Mapping[str, Any]
    """The fields that the request gives, by their name in the code."""

    def found(self) -> Iterator[tuple[str, Spot]]:
        """The fields whose value is not taken as it was sent, and the place."""
        for root in self._taken():
            for node in self._evaluated(root):
                for name, why in self._of(node):
                    if self._is_met(node.lineno):
                        yield name, self._spot(node.lineno, why)
        for test in ast.walk(self.taker.node):
            if isinstance(test, ast.If) and (told := self._reset(test)) and self._is_met(test.lineno):
                yield told[0], self._spot(test.body[-1].lineno, told[1])

    def _taken(self) -> Iterator[ast.expr]:
        """What the function assigns, returns or hands on by a name."""
        for part in ast.walk(self.taker.node):
            match part:
                case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) | ast.keyword(value=value):
                    yield value
                case ast.Return(value=ast.expr() as value):
                    yield value
                case ast.Dict(values=values):
                    yield from values

    def _of(self, node: ast.expr) -> Iterator[tuple[str, str]]:
        match node:
            case ast.Call(func=ast.Name(id="min" | "max" as kind), args=[first, second], keywords=[]):
                for inner, other in ((first, second), (second, first)):
                    yield from self._cut(self._field(inner), other, kind)
            case ast.Call(args=[subject, low, high]) if last_name(node) in CLIPPERS:
                yield from self._cut(self._field(subject), low, "max")
                yield from self._cut(self._field(subject), high, "min")
            case ast.IfExp(test=ast.Call(func=ast.Name(id="isinstance"), args=[subject, kind])):
                name = self._field(subject)
                taken = bool(name) and self._field(node.body) == name and not self._field(node.orelse)
                if taken and self._reads(name) == 2 and is_instance(self.given[name], kind) is False:
                    yield name, f"it is taken only where it is of type {text(kind)}"

    def _reads(self, name: str) -> int:
        """How often the function reads a field."""
        return sum(isinstance(n, ast.Attribute) and self._field(n) == name for n in ast.walk(self.taker.node))

    def _cut(self, name: str, bound: ast.expr, kind: str) -> Iterator[tuple[str, str]]:
        limit = self._number(bound) if name else None
        value = self.given[name] if name else None
        if limit is None or isinstance(value, bool) or not isinstance(value, int | float):
            return
        if (value > limit) if kind == "min" else (value < limit):
            yield name, f"it is cut to {limit}: {'more' if kind == 'min' else 'less'} is not taken"

    def _reset(self, node: ast.If) -> tuple[str, str] | None:
        """`if x.a > LIMIT: x.a = LIMIT`, with nothing else but words for the log."""
        *before, last = node.body
        if node.orelse or not all(isinstance(s, ast.Expr) for s in before):
            return None
        tests = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
        for test in tests:
            match test, last:
                case ast.Compare(left=left, ops=[operation], comparators=[bound]), ast.Assign(targets=[target]):
                    name, limit = self._field(left), self._number(bound)
                    same = self._field(target) == name and self._number(last.value) == limit
                    if name and limit is not None and same and self._holds(node.test):
                        return next(self._cut(name, bound, "min" if isinstance(operation, ast.Gt) else "max"), None)
        return None

    def _field(self, node: ast.expr) -> str:
        """The given field that an expression reads, casts and other cuts looked through; empty for another."""
        match node:
            case ast.Attribute(value=ast.Name(id=holder), attr=name) if holder in self.taker.holders:
                return name if name in self.given else ""
            case ast.Call(func=ast.Name(id=kind), args=[inner]) if kind in CASTS:
                return self._field(inner)
            case ast.Call(func=ast.Name(id="min" | "max"), args=[first, second]):
                return self._field(first) or self._field(second)
        return ""

    def _number(self, node: ast.expr) -> int | float | None:
        try:
            value = constant(self.index, self.taker.path, text(node))
        except LookupError:
            return None
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def _is_met(self, line: int) -> bool:
        """Whether the request surely comes to a line, as far as the tests around it tell."""
        guards = guards_of(self.taker.node, line)
        return not guards or holds(guards, self._known()) is True

    def _holds(self, test: ast.expr) -> bool | None:
        return holds([Guard(test, True, test.lineno)], self._known())

    def _known(self) -> dict[str, Any]:
        return {f"{holder}.{name}": value for holder in self.taker.holders for name, value in self.given.items()}

    def _spot(self, line: int, why: str) -> Spot:
        return Spot(self.taker.path, line, line, self.taker.symbol, "checks", 0.85, (why,))

    def _evaluated(self, root: ast.expr) -> Iterator[ast.expr]:
        """The expressions in one, those aside that are only compared, or in a branch that may not be taken."""
        pending: list[ast.AST] = [root]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Compare | ast.Lambda):
                continue
            if isinstance(node, ast.expr):
                yield node
            if isinstance(node, ast.IfExp):
                told = self._holds(node.test)
                pending += [] if told is None else [node.body if told else node.orelse]
            else:
                pending += ast.iter_child_nodes(node)
