"""A function's body walked through, statement by statement."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Literal

from llmdebug.index.python import patterns
from llmdebug.index.python.blocks import Blocks
from llmdebug.index.python.frames import Leave, Outcome
from llmdebug.index.python.syntax import last_name
from llmdebug.index.python.values import NOT_KNOWN, NOTHING, UNKNOWN, Crash, Value, join


class Body(Blocks):
    """The statements of one function."""

    def statement(self, node: ast.stmt) -> None:
        method = _METHODS.get(type(node))
        if method is None:
            return
        loops = len(self.loops)
        try:
            method(self, node)
        except Crash as crash:
            del self.loops[loops:]
            name = type(crash.error).__name__
            self._record("crash", node, crash.reads, name, str(crash), crash.line)
            raise Leave("raise", name) from None

    def _record(
        self, kind: Literal["raise", "return", "crash"], node: ast.stmt, near: frozenset[str],
        error: str = "", text: str = "", line: int = 0, value: Any = UNKNOWN,
    ) -> None:  # fmt: skip
        start = line or node.lineno
        end = start if line else node.end_lineno or start
        self.walk.outcomes.append(
            Outcome(
                kind, self.frame.path, self.frame.symbol, start, end, self.certain, self.reads, error, text, value,
                near, held=self.held,
            )
        )  # fmt: skip

    def _expr(self, node: ast.Expr) -> None:
        inner = node.value
        if isinstance(inner, ast.Yield | ast.YieldFrom):
            inner = inner.value or ast.Constant(None)
        self.evaluator.value(inner)

    def _assign(self, node: ast.Assign) -> None:
        value = self.evaluator.value(node.value)
        for target in node.targets:
            self.store(target, value)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.store(node.target, self.evaluator.value(node.value))

    def _augassign(self, node: ast.AugAssign) -> None:
        before = self.evaluator.value(_as_load(node.target))
        given = self.evaluator.value(node.value)
        if isinstance(before.value, list | dict | set):
            changed = before.value.copy()
            made = self.evaluator.combined(node.op, Value(changed, before.reads), given, node.lineno, in_place=True)
            self.replace(before.value, changed if made.value is changed else UNKNOWN, join(before, given))
            return
        self.store(node.target, self.evaluator.combined(node.op, before, given, node.lineno, in_place=True))

    def _if(self, node: ast.If) -> None:
        holds, reads = self.evaluator.truth(node.test)
        outer_reads, outer_near = self.reads, self.near
        self.reads, self.near = self.reads | reads, reads
        try:
            if holds is None:
                self.both(node.body, node.orelse)
            else:
                self.block(node.body if holds else node.orelse)
        finally:
            self.reads, self.near = outer_reads | (reads if holds is not None else NOTHING), outer_near

    def _raise(self, node: ast.Raise) -> None:
        if node.exc is None and self.handling:
            error, met = self.handling[-1]
            if met and error:
                self.set_escapes(met, True)
                raise Leave("raise", error)
        if isinstance(node.exc, ast.Call):
            for argument in [*node.exc.args, *(k.value for k in node.exc.keywords)]:
                self.evaluator.value(argument)
        error = last_name(node.exc) if node.exc is not None else ""
        self._record("raise", node, self.near, error)
        raise Leave("raise", error)

    def _return(self, node: ast.Return) -> None:
        value = self.evaluator.value(node.value) if node.value is not None else Value(None)
        self._record("return", node, self.near, value=value.value)
        raise Leave("return", value=value)

    def _assert(self, node: ast.Assert) -> None:
        holds, reads = self.evaluator.truth(node.test)
        if holds is True:
            return
        was_held = self.held
        self.certain, self.held = self.certain and holds is False, self.held and holds is False
        self._record("raise", node, reads, "AssertionError")
        self.held = was_held
        if holds is False:
            raise Leave("raise", "AssertionError")
        self.leaving(Leave("raise", "AssertionError"))

    def _break(self, _node: ast.Break) -> None:
        raise Leave("break")

    def _continue(self, _node: ast.Continue) -> None:
        raise Leave("continue")

    def _match(self, node: ast.Match) -> None:
        subject = self.evaluator.value(node.subject)
        for place, case in enumerate(node.cases):
            matched = patterns.matches(case.pattern, subject)
            if matched is True:
                for name, value in patterns.captured(case.pattern, subject):
                    self.bind(name, value)
                if case.guard is not None:
                    matched, _ = self.evaluator.truth(case.guard)
            if matched is True:
                self.block(case.body)
                return
            if matched is None:
                self._perhaps_matched(node.cases[place:], subject)
                return

    def _perhaps_matched(self, cases: Sequence[ast.match_case], subject: Value) -> None:
        for case in cases:
            for name, _ in patterns.captured(case.pattern, subject):
                self.bind(name, NOT_KNOWN)
        bodies: list[Sequence[ast.stmt]] = [case.body for case in cases]
        complete = any(case.guard is None and patterns.matches(case.pattern, subject) for case in cases)
        self.both(*bodies, *([] if complete else [[]]))


def _as_load(node: ast.expr) -> ast.expr:
    """The same name, attribute or element as something that is read."""
    match node:
        case ast.Name(id=name):
            return ast.copy_location(ast.Name(name, ast.Load()), node)
        case ast.Attribute(value=value, attr=attr):
            return ast.copy_location(ast.Attribute(value, attr, ast.Load()), node)
        case ast.Subscript(value=value, slice=inner):
            return ast.copy_location(ast.Subscript(value, inner, ast.Load()), node)
    return node


_METHODS: dict[type[ast.stmt], Callable[[Body, Any], None]] = {
    ast.AnnAssign: Body._annassign,
    ast.Assert: Body._assert,
    ast.Assign: Body._assign,
    ast.AsyncFor: Body.for_loop,
    ast.AsyncFunctionDef: Body.unbind,
    ast.AsyncWith: Body.with_block,
    ast.AugAssign: Body._augassign,
    ast.Break: Body._break,
    ast.ClassDef: Body.unbind,
    ast.Continue: Body._continue,
    ast.Delete: Body.delete,
    ast.Expr: Body._expr,
    ast.For: Body.for_loop,
    ast.FunctionDef: Body.unbind,
    ast.If: Body._if,
    ast.Import: Body.unbind,
    ast.ImportFrom: Body.unbind,
    ast.Match: Body._match,
    ast.Raise: Body._raise,
    ast.Return: Body._return,
    ast.Try: Body.try_block,
    ast.TryStar: Body.try_block,
    ast.While: Body.while_loop,
    ast.With: Body.with_block,
}
