"""Blocks of a function walked through: branches, loops and handlers, and the ways in which they are left."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from llmdebug.index.python.exceptions import catches
from llmdebug.index.python.frames import Leave, Loop, Names, merged
from llmdebug.index.python.operations import iterated
from llmdebug.index.python.scope import Scope
from llmdebug.index.python.syntax import last_name
from llmdebug.index.python.values import NOT_KNOWN, Value

MAX_LOOP = 200
MAX_WHILE = 20


class Blocks(Scope):
    """The blocks of one function."""

    @abstractmethod
    def statement(self, node: ast.stmt) -> None:
        """Walk through one statement; raises Leave where it leaves the block."""

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

    def both(self, *branches: Sequence[ast.stmt]) -> None:
        """Walk branches of which one is taken, nobody knows which."""
        before = self.frame.names
        self.split([(before, branch) for branch in branches])

    def split(self, branches: Sequence[tuple[Names, Sequence[ast.stmt]]], harmless: bool = False) -> None:
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
                self.leaving(leave)
        self.left = before if harmless else self.left
        self.held = was_held
        self.certain = was_certain and self.left == before
        if not ends:
            raise Leave("end")
        self.frame.names = merged(ends)

    def leaving(self, leave: Leave) -> None:
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

    def for_loop(self, node: ast.For | ast.AsyncFor) -> None:
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
                self.leaving(leave)
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
        self.both(body, [])
        loop = self.loops[-1]
        self.frame.names = merged([self.frame.names, *loop.continues])
        loop.continues = []

    def while_loop(self, node: ast.While) -> None:
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

    def with_block(self, node: ast.With | ast.AsyncWith) -> None:
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

    def try_block(self, node: ast.Try | ast.TryStar) -> None:
        start = len(self.walk.outcomes)
        try:
            self._guarded(node)
        except Leave:
            self._finally(node.finalbody, start)
            raise
        self._finally(node.finalbody, start)

    def _finally(self, body: Sequence[ast.stmt], start: int) -> None:
        """The block that runs in any case; where it leaves by itself, what the others said is void."""
        end, left = len(self.walk.outcomes), self.left
        try:
            self.block(body)
        except Leave:
            self.set_escapes(range(start, end), False)
            raise
        if self.left != left:
            self.walk.outcomes[start:end] = [replace(o, certain=False) for o in self.walk.outcomes[start:end]]

    def _guarded(self, node: ast.Try | ast.TryStar) -> None:
        start, doubts = len(self.walk.outcomes), self.evaluator.doubts
        try:
            self._guarded_block(node)
        except Leave as leave:
            met = range(start, len(self.walk.outcomes))
            if leave.how == "raise":
                self._handle(node, leave, met, self.evaluator.doubts != doubts)
            elif self.evaluator.doubts == doubts or not self._perhaps(node.handlers, node.body, met):
                raise
            else:
                self.leaving(leave)
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
            self.leaving(leave)
            self.certain = False
            self.frame.names = handled
            return
        self.frame.names = merged([self.frame.names, handled]) if reached else self.frame.names

    def _guarded_block(self, node: ast.Try | ast.TryStar) -> None:
        self.walk.guarded += bool(node.handlers)
        try:
            self.block(node.body)
        finally:
            self.walk.guarded -= bool(node.handlers)

    def _perhaps(self, handlers: list[ast.ExceptHandler], body: Sequence[ast.stmt], met: range) -> bool:
        """Walk handlers that may be reached from anywhere in a block; whether one of them leads on."""
        if not handlers:
            return False
        self.forget(body)
        names = self.frame.names
        self._catch(met, handlers)
        self.handling.append(("", met))
        try:
            self.split([({**names, **_bound(handler)}, handler.body) for handler in handlers], harmless=True)
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
            self.leaving(other)
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
            self.split([({**names, **_bound(handler)}, handler.body) for handler in possible])
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
                self.set_escapes(range(place, place + 1), False)

    def set_escapes(self, places: range, escapes: bool) -> None:
        for place in places:
            self.walk.outcomes[place] = replace(self.walk.outcomes[place], escapes=escapes)


def _bound(handler: ast.ExceptHandler) -> Names:
    return {handler.name: NOT_KNOWN} if handler.name else {}
