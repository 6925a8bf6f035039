"""A function's body walked through, statement by statement."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from llmdebug.index.python import patterns
from llmdebug.index.python.exceptions import catches
from llmdebug.index.python.frames import Leave, Loop, Names, Outcome, merged
from llmdebug.index.python.operations import iterated
from llmdebug.index.python.scope import Scope
from llmdebug.index.python.syntax import last_name
from llmdebug.index.python.values import NOT_KNOWN, NOTHING, UNKNOWN, Crash, Value, join

MAX_LOOP = 200
MAX_WHILE = 20


class Body(Scope):
    """The statements of one function."""

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            try:
                self.statement(statement)
            except Leave as leave:
                if leave.how in {"break", "continue"} or not self._before_target(statement):
                    raise

    def _before_target(self, statement: ast.stmt) -> bool:
        """Whether the walk is known to get past a statement."""
        target = self.walk.target
        if target is None or (self.frame.path, self.frame.symbol) != target[:2]:
            return False
        return (statement.end_lineno or statement.lineno) < target[2]

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
                self._both(node.body, node.orelse)
            else:
                self.block(node.body if holds else node.orelse)
        finally:
            self.reads, self.near = outer_reads | (reads if holds is not None else NOTHING), outer_near

    def _both(self, *branches: Sequence[ast.stmt]) -> None:
        """Walk branches of which one is taken, nobody knows which."""
        before = self.frame.names
        self._split([(before, branch) for branch in branches])

    def _split(self, branches: Sequence[tuple[Names, Sequence[ast.stmt]]], harmless: bool = False) -> None:
        """Walk branches, each with its names; `harmless` ones leave what follows as certain as it was."""
        was_certain, was_held, before = self.certain, self.held, self.left
        ends: list[Names] = []
        for names, branch in branches:
            self.frame.names = dict(names)
            self.certain = self.held = False
            try:
                self.block(branch)
                ends.append(self.frame.names)
            except Leave as leave:
                self._left(leave)
        self.left = before if harmless else self.left
        self.held = was_held
        self.certain = was_certain and self.left == before
        if not ends:
            raise Leave("end")
        self.frame.names = merged(ends)

    def _left(self, leave: Leave) -> None:
        """Remember how a branch that may have been taken leaves."""
        self.left = self.left.counting(leave.how)
        if leave.how == "return":
            self.returns.append(leave.value)
        elif leave.how == "break" and self.loops:
            self.loops[-1].breaks.append(self.frame.names)
        elif leave.how == "continue" and self.loops:
            self.loops[-1].continues.append(self.frame.names)
        else:
            self.evaluator.doubts += 1

    # loops

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        over = self.evaluator.value(node.iter)
        items = iterated(over, node.lineno) if isinstance(node, ast.For) else None
        if items is None:
            self._unknown_loop(node.target, node.body, node.orelse)
            return
        self.loops.append(Loop(self.certain, self.left))
        alive = True
        for number, item in enumerate(items):
            if number >= MAX_LOOP:
                self._unknown_turns(node.target, node.body)
                break
            alive = self._turn(node.target, item, node.body)
            if not alive:
                break
        self._after_loop(alive, node.orelse)

    def _turn(self, target: ast.expr | None, item: Value, body: Sequence[ast.stmt]) -> bool:
        """One turn of the innermost loop; False where nothing leads to another."""
        loop = self.loops[-1]
        live: list[Names] = []
        try:
            if target is not None:
                self.store(target, item)
            self.block(body)
            live.append(self.frame.names)
        except Leave as leave:
            if leave.how in {"return", "raise"}:
                self.loops.pop()
                raise
            if leave.how == "break":
                loop.breaks.append(self.frame.names)
            elif leave.how == "continue":
                live.append(self.frame.names)
        live += loop.continues
        loop.continues = []
        if live:
            self.frame.names = merged(live)
        return bool(live)

    def _after_loop(self, alive: bool, orelse: Sequence[ast.stmt]) -> None:
        loop = self.loops.pop()
        exits = loop.breaks
        if alive:
            try:
                self.block(orelse)
                exits.append(self.frame.names)
            except Leave as leave:
                if not exits:
                    raise
                self._left(leave)
        if not exits:
            raise Leave("end")
        self.frame.names = merged(exits)
        self.left = replace(self.left, jumps=loop.left.jumps)
        self.certain = loop.certain and self.left == loop.left

    def _unknown_loop(self, target: ast.expr | None, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        self.loops.append(Loop(self.certain, self.left))
        self._unknown_turns(target, body)
        self._after_loop(True, orelse)

    def _unknown_turns(self, target: ast.expr | None, body: Sequence[ast.stmt]) -> None:
        """Any number of turns of the innermost loop: what its body changes is not known before it either."""
        self.forget(body)
        for name in ast.walk(target) if target is not None else ():
            if isinstance(name, ast.Name):
                self.bind(name.id, NOT_KNOWN)
        self._both(body, [])
        loop = self.loops[-1]
        self.frame.names = merged([self.frame.names, *loop.continues])
        loop.continues = []

    def _while(self, node: ast.While) -> None:
        self.loops.append(Loop(self.certain, self.left))
        alive = True
        for _ in range(MAX_WHILE):
            holds, _ = self.evaluator.truth(node.test)
            if holds is not True:
                break
            alive = self._turn(None, NOT_KNOWN, node.body)
            if not alive:
                break
        else:
            holds = None
        if alive and holds is None:
            self._unknown_turns(None, node.body)
        self._after_loop(alive, node.orelse)

    # blocks with something around

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        suppressed: list[ast.expr] = []
        for item in node.items:
            context = item.context_expr
            if isinstance(context, ast.Call) and last_name(context) == "suppress":
                suppressed += context.args
                continue
            self.evaluator.value(context)
            if item.optional_vars is not None:
                self.store(item.optional_vars, NOT_KNOWN)
        if not suppressed:
            self.block(node.body)
            return
        handler = ast.ExceptHandler(ast.Tuple(suppressed, ast.Load()), None, [ast.Pass()])
        self._guarded(ast.Try(node.body, [handler], [], []))

    def _try(self, node: ast.Try | ast.TryStar) -> None:
        start = len(self.walk.outcomes)
        try:
            self._guarded(node)
        except Leave:
            self._finally(node.finalbody, start)
            raise
        self._finally(node.finalbody, start)

    def _finally(self, body: Sequence[ast.stmt], start: int) -> None:
        """The block that runs in any case; where it leaves by itself, what the others said is void."""
        end = len(self.walk.outcomes)
        try:
            self.block(body)
        except Leave:
            self._set_escapes(range(start, end), False)
            raise

    def _guarded(self, node: ast.Try | ast.TryStar) -> None:
        start, doubts = len(self.walk.outcomes), self.evaluator.doubts
        try:
            self.block(node.body)
        except Leave as leave:
            met = range(start, len(self.walk.outcomes))
            if leave.how == "raise":
                self._handle(node, leave, met, self.evaluator.doubts != doubts)
            elif self.evaluator.doubts == doubts or not self._perhaps(node.handlers, node.body, met):
                raise
            else:
                self._left(leave)
                self.certain = False
            return
        if self.evaluator.doubts == doubts:
            self.block(node.orelse)
            return
        was_certain = self.certain
        normal = self.frame.names
        self.frame.names = dict(normal)
        reached = self._perhaps(node.handlers, node.body, range(start, len(self.walk.outcomes)))
        handled = self.frame.names
        self.frame.names, self.certain = normal, was_certain
        try:
            self.block(node.orelse)
        except Leave as leave:
            if not reached:
                raise
            self._left(leave)
            self.certain = False
            self.frame.names = handled
            return
        self.frame.names = merged([self.frame.names, handled]) if reached else self.frame.names

    def _perhaps(self, handlers: list[ast.ExceptHandler], body: Sequence[ast.stmt], met: range) -> bool:
        """Walk handlers that may be reached from anywhere in a block; whether one of them leads on."""
        if not handlers:
            return False
        self.forget(body)
        names = self.frame.names
        self._catch(met, handlers)
        self.handling.append(("", met))
        try:
            self._split([({**names, **_bound(handler)}, handler.body) for handler in handlers], harmless=True)
        except Leave:
            return False
        finally:
            self.handling.pop()
        return True

    def _handle(self, node: ast.Try | ast.TryStar, leave: Leave, met: range, doubtful: bool) -> None:
        """The handlers for an error that leaves the block; others too where it may not be the first."""
        if not doubtful:
            self._handle_surely(node, leave, met)
            return
        names, certain = dict(self.frame.names), self.certain
        reached = self._perhaps(node.handlers, node.body, met)
        handled = self.frame.names
        self.frame.names, self.certain = names, certain
        try:
            self._handle_surely(node, leave, met)
        except Leave as other:
            if not reached:
                raise
            self._left(other)
            self.certain = False
            self.frame.names = handled
            return
        self.frame.names = merged([self.frame.names, handled]) if reached else self.frame.names

    def _handle_surely(self, node: ast.Try | ast.TryStar, leave: Leave, met: range) -> None:
        inherited = self.walk.ancestors(self.frame.path, leave.error) if leave.error else ()
        possible: list[ast.ExceptHandler] = []
        sure = False
        for handler in node.handlers:
            verdict = catches(handler.type, leave.error, inherited)
            if verdict is not False:
                possible.append(handler)
            if verdict is True:
                sure = True
                break
        if not possible:
            raise leave
        self._catch(met, node.handlers)
        self.handling.append((leave.error, met))
        try:
            if sure and len(possible) == 1:
                self.frame.names.update(_bound(possible[0]))
                self.block(possible[0].body)
                return
            names = self.frame.names
            self._split([({**names, **_bound(handler)}, handler.body) for handler in possible])
            self.certain = self.certain and sure
        finally:
            self.handling.pop()

    def _catch(self, met: range, handlers: list[ast.ExceptHandler]) -> None:
        """Say of those outcomes that one of the handlers may catch that they don't escape."""
        for place in met:
            outcome = self.walk.outcomes[place]
            inherited = self.walk.ancestors(outcome.path, outcome.error) if outcome.error else ()
            if outcome.kind != "return" and any(
                catches(handler.type, outcome.error, inherited) is not False for handler in handlers
            ):
                self._set_escapes(range(place, place + 1), False)

    def _set_escapes(self, places: range, escapes: bool) -> None:
        for place in places:
            self.walk.outcomes[place] = replace(self.walk.outcomes[place], escapes=escapes)

    def _raise(self, node: ast.Raise) -> None:
        if node.exc is None and self.handling:
            error, met = self.handling[-1]
            if met and error:
                self._set_escapes(met, True)
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
        self._left(Leave("raise", "AssertionError"))

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
        self._both(*bodies, *([] if complete else [[]]))


def _bound(handler: ast.ExceptHandler) -> Names:
    return {handler.name: NOT_KNOWN} if handler.name else {}


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
    ast.AsyncFor: Body._for,
    ast.AsyncFunctionDef: Body.unbind,
    ast.AsyncWith: Body._with,
    ast.AugAssign: Body._augassign,
    ast.Break: Body._break,
    ast.ClassDef: Body.unbind,
    ast.Continue: Body._continue,
    ast.Delete: Body.delete,
    ast.Expr: Body._expr,
    ast.For: Body._for,
    ast.FunctionDef: Body.unbind,
    ast.If: Body._if,
    ast.Import: Body.unbind,
    ast.ImportFrom: Body.unbind,
    ast.Match: Body._match,
    ast.Raise: Body._raise,
    ast.Return: Body._return,
    ast.Try: Body._try,
    ast.TryStar: Body._try,
    ast.While: Body._while,
    ast.With: Body._with,
}
