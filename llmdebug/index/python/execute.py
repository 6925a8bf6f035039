"""Functions of a tree walked through on a request: which refusals are reached, surely or perhaps.

The walk is the evaluator's, statement by statement: a test that is known takes one branch, an unknown one takes
both and leaves everything after it in doubt. Calls are followed where the name can be told.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from llmdebug.index.python.evaluate import MAX_ITEMS, Evaluator, items_of
from llmdebug.index.python.syntax import FunctionNode, last_name
from llmdebug.index.python.values import NOT_KNOWN, NOTHING, UNKNOWN, Crash, Instance, Stop, Value

MAX_CALLS = 12
MAX_LOOP = 200


@dataclass(frozen=True, slots=True)
class Outcome:
    """A way in which the walk leaves a function, or a crash on the way."""

    kind: Literal["raise", "return", "crash"]
    path: str
    symbol: str
    line: int
    end_line: int
    certain: bool
    reads: frozenset[str] = NOTHING
    """What the tests read that led here."""
    error: str = ""
    """Name of the raised class."""
    text: str = ""
    """Python's own text, for a crash."""
    value: Any = UNKNOWN
    near: frozenset[str] = NOTHING
    """What the innermost test, or the crashing operation, read."""


@dataclass
class Callee:
    """A function that a call leads to, with what its names stand for."""

    path: str
    symbol: str
    node: FunctionNode
    bound: dict[str, Value]


Enter = Callable[[Callee], Value]
"""Follows a call into a function."""
Resolver = Callable[["Frame", ast.Call, Evaluator, Enter], Value | None]
"""What a call gives, followed where the function can be told; None where it can't."""
Lookup = Callable[["Frame", str], Value]
"""What a name that the function does not bind stands for."""
Attribute = Callable[["Frame", Value, ast.Attribute], Value]
"""What an attribute of an unknown or half-known object stands for."""


@dataclass
class Frame:
    """One function being walked through."""

    path: str
    symbol: str
    names: dict[str, Value]
    outer: Frame | None = None


class _Leave(Exception):
    """The walk leaves the block: by return, raise, break or continue."""

    def __init__(self, how: str, error: str = "", value: Value = NOT_KNOWN) -> None:
        self.how = how
        self.error = error
        self.value = value


@dataclass
class Walk:
    """A walk through functions; keeps the outcomes in the order in which they are met."""

    resolve: Resolver
    lookup_free: Lookup
    attribute_of: Attribute
    outcomes: list[Outcome] = field(default_factory=list)
    steps: list[int] = field(default_factory=lambda: [0])
    stopped: bool = False
    target: tuple[str, str, int] | None = None
    """File, function and line that are known to be reached: what leaves the function before it is passed over."""
    _depth: int = 0
    _active: list[tuple[str, str]] = field(default_factory=list)

    def run(self, callee: Callee, certain: bool = True) -> list[Outcome]:
        """Walk through a function from its start."""
        try:
            self._enter(callee, certain, NOTHING)
        except (_Leave, Crash):
            pass
        except (Stop, RecursionError):
            self.stopped = True
        return self.outcomes

    def _enter(self, callee: Callee, certain: bool, reads: frozenset[str]) -> Value:
        frame = Frame(callee.path, callee.symbol, dict(callee.bound))
        studied = _Function(self, frame, certain, reads)
        self._depth += 1
        self._active.append((callee.path, callee.symbol))
        try:
            studied.block(callee.node.body)
        except _Leave as leave:
            if leave.how == "raise":
                raise
            return leave.value if studied.certain_return else Value(UNKNOWN, leave.value.reads)
        finally:
            self._depth -= 1
            self._active.pop()
        if _is_generator(callee.node):
            return NOT_KNOWN
        return Value(None) if not studied.maybe_returned else NOT_KNOWN

    def enter_call(self, callee: Callee, certain: bool, reads: frozenset[str]) -> Value:
        """Follow a call; what it gives back."""
        if self._depth >= MAX_CALLS or (callee.path, callee.symbol) in self._active:
            return NOT_KNOWN
        return self._enter(callee, certain, reads)


class _Function:
    """The surroundings of one function's expressions, and the walk over its statements."""

    def __init__(self, walk: Walk, frame: Frame, certain: bool, reads: frozenset[str]) -> None:
        self.walk = walk
        self.frame = frame
        self.certain = certain
        self.reads = reads
        self.near: frozenset[str] = NOTHING
        self.certain_return = certain
        self.maybe_returned = False
        self.evaluator = Evaluator(self, walk.steps)

    # what expressions see

    def lookup(self, name: str) -> Value:
        if name in self.frame.names:
            return self.frame.names[name]
        return self.walk.lookup_free(self.frame, name)

    def bind(self, name: str, value: Value) -> None:
        self.frame.names[name] = value

    def attribute(self, owner: Value, name: str, node: ast.Attribute) -> Value:
        if isinstance(owner.value, Instance):
            found = owner.value.get(name)
            if found is not None:
                return found
        return self.walk.attribute_of(self.frame, owner, node)

    def call(self, node: ast.Call, evaluator: Evaluator) -> Value:
        def enter(callee: Callee) -> Value:
            return self.walk.enter_call(callee, self.certain, self.reads)

        found = self.walk.resolve(self.frame, node, evaluator, enter)
        if found is not None:
            return found
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            if isinstance(argument, ast.Call | ast.Await | ast.Subscript):
                evaluator.value(argument)
        return NOT_KNOWN

    # statements

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            try:
                self.statement(statement)
            except _Leave as leave:
                if leave.how in {"break", "continue"} or not self._before_target(statement):
                    raise

    def _before_target(self, statement: ast.stmt) -> bool:
        """Whether the walk is known to get past a statement."""
        target = self.walk.target
        if target is None or (self.frame.path, self.frame.symbol) != target[:2]:
            return False
        return (statement.end_lineno or statement.lineno) < target[2]

    def statement(self, node: ast.stmt) -> None:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            return
        try:
            method(node)
        except Crash as crash:
            self._record("crash", node, crash.reads, type(crash.error).__name__, str(crash), crash.line)
            if self.certain:
                raise _Leave("raise", type(crash.error).__name__) from None

    def _record(
        self, kind: Literal["raise", "return", "crash"], node: ast.stmt, near: frozenset[str],
        error: str = "", text: str = "", line: int = 0, value: Any = UNKNOWN,
    ) -> None:  # fmt: skip
        start = line or node.lineno
        end = start if line else node.end_lineno or start
        self.walk.outcomes.append(
            Outcome(
                kind, self.frame.path, self.frame.symbol, start, end, self.certain, self.reads, error, text, value, near
            )
        )

    def _expr(self, node: ast.Expr) -> None:
        inner = node.value
        if isinstance(inner, ast.Yield | ast.YieldFrom):
            inner = inner.value or ast.Constant(None)
        self.evaluator.value(inner)

    def _assign(self, node: ast.Assign) -> None:
        value = self.evaluator.value(node.value)
        for target in node.targets:
            self._store(target, value)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._store(node.target, self.evaluator.value(node.value))

    def _augassign(self, node: ast.AugAssign) -> None:
        load = ast.copy_location(ast.BinOp(_as_load(node.target), node.op, node.value), node)
        self._store(node.target, self.evaluator.value(load))

    def _store(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self.bind(name, value)
            case ast.Attribute(value=owner_node, attr=name):
                owner = self.evaluator.value(owner_node)
                if isinstance(owner.value, Instance):
                    owner.value.changed[name] = value if self.certain else Value(UNKNOWN, value.reads)
            case ast.Subscript(value=owner_node, slice=key_node):
                owner, key = self.evaluator.value(owner_node), self.evaluator.value(key_node)
                self._store_item(owner, owner_node, key, value, target.lineno)
            case ast.Tuple() | ast.List():
                if not self.evaluator.assign(target, value):
                    for name_node in ast.walk(target):
                        if isinstance(name_node, ast.Name):
                            self.bind(name_node.id, NOT_KNOWN)

    def _store_item(self, owner: Value, owner_node: ast.expr, key: Value, value: Value, line: int) -> None:
        """`d[k] = v` on a known dict: on a copy, the request itself stays as it is."""
        if isinstance(owner.value, str | int | float) and not isinstance(owner.value, bool):
            kind = type(owner.value).__name__
            raise Crash(TypeError(f"'{kind}' object does not support item assignment"), line, owner.reads)
        if isinstance(owner.value, list) and isinstance(key.value, str):
            raise Crash(TypeError("list indices must be integers or slices, not str"), line, owner.reads)
        if isinstance(owner_node, ast.Name) and isinstance(owner.value, dict) and key.known and value.known:
            if not isinstance(value.value, Instance) and isinstance(key.value, str):
                changed = {**owner.value, key.value: value.value}
                self.bind(owner_node.id, Value(changed, owner.reads, owner.pointer))
        elif isinstance(owner_node, ast.Name) and isinstance(owner.value, dict):
            self.bind(owner_node.id, Value(UNKNOWN, owner.reads))

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

    def _both(self, *branches: list[ast.stmt]) -> None:
        """Walk branches of which one is taken, nobody knows which."""
        before = dict(self.frame.names)
        was_certain = self.certain
        ends: list[dict[str, Value]] = []
        left = 0
        for branch in branches:
            self.frame.names = dict(before)
            self.certain = False
            try:
                self.block(branch)
                ends.append(self.frame.names)
            except _Leave as leave:
                left += 1
                self.maybe_returned = self.maybe_returned or leave.how == "return"
                if leave.how in {"break", "continue"}:
                    ends.append(self.frame.names)
        self.frame.names = _merged(before, ends)
        self.certain = was_certain and left == 0
        self.certain_return = self.certain_return and left == 0
        if left == len(branches) and not ends:
            raise _Leave("return")

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        over = self.evaluator.value(node.iter)
        items = items_of(over)
        if items is None:
            if isinstance(over.value, int | float | bool | type(None)) and over.known:
                kind = type(over.value).__name__
                raise Crash(TypeError(f"'{kind}' object is not iterable"), node.lineno, over.reads)
            self._unknown_loop(node.target, node.body, node.orelse)
            return
        for item in items[: min(MAX_LOOP, MAX_ITEMS)]:
            if not self.evaluator.assign(node.target, item):
                self._unknown_loop(node.target, node.body, node.orelse)
                return
            try:
                self.block(node.body)
            except _Leave as leave:
                if leave.how == "break":
                    return
                if leave.how != "continue":
                    raise
        self.block(node.orelse)

    _asyncfor = _for

    def _unknown_loop(self, target: ast.expr | None, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        for name in ast.walk(target) if target is not None else ():
            if isinstance(name, ast.Name):
                self.bind(name.id, NOT_KNOWN)
        self._both(body, [])
        self.block(orelse)

    def _while(self, node: ast.While) -> None:
        holds, _ = self.evaluator.truth(node.test)
        if holds is False:
            self.block(node.orelse)
        else:
            self._both(node.body, [])

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.evaluator.value(item.context_expr)
            if item.optional_vars is not None:
                self._store(item.optional_vars, NOT_KNOWN)
        self.block(node.body)

    _asyncwith = _with

    def _try(self, node: ast.Try) -> None:
        try:
            self.block(node.body)
            self.block(node.orelse)
        except _Leave as leave:
            handler = (
                next((h for h in node.handlers if _catches(h, leave.error)), None) if leave.how == "raise" else None
            )
            if handler is None:
                self._finally(node)
                raise
            if handler.name:
                self.bind(handler.name, NOT_KNOWN)
            self.block(handler.body)
        else:
            for handler in node.handlers:
                if handler.name:
                    self.bind(handler.name, NOT_KNOWN)
                self._both(handler.body, [])
                self.certain = self.certain or False
        self._finally(node)

    def _finally(self, node: ast.Try) -> None:
        self.block(node.finalbody)

    def _raise(self, node: ast.Raise) -> None:
        if isinstance(node.exc, ast.Call):
            for argument in [*node.exc.args, *(k.value for k in node.exc.keywords)]:
                self.evaluator.value(argument)
        error = last_name(node.exc) if node.exc is not None else ""
        self._record("raise", node, self.near, error)
        raise _Leave("raise", error)

    def _return(self, node: ast.Return) -> None:
        value = self.evaluator.value(node.value) if node.value is not None else Value(None)
        self._record("return", node, self.near, value=value.value)
        self.certain_return = self.certain_return and self.certain
        raise _Leave("return", value=value)

    def _assert(self, node: ast.Assert) -> None:
        holds, reads = self.evaluator.truth(node.test)
        if holds is True:
            return
        was = self.certain
        self.certain = self.certain and holds is False
        self._record("raise", node, reads, "AssertionError")
        self.certain = was
        if holds is False:
            raise _Leave("raise", "AssertionError")

    def _break(self, _node: ast.Break) -> None:
        raise _Leave("break")

    def _continue(self, _node: ast.Continue) -> None:
        raise _Leave("continue")

    def _match(self, node: ast.Match) -> None:
        subject = self.evaluator.value(node.subject)
        for case in node.cases:
            matched = _matches(case.pattern, subject)
            if matched is None or case.guard is not None:
                self._both(*(c.body for c in node.cases))
                return
            if matched:
                self.block(case.body)
                return

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                owner = self.lookup(target.value.id)
                self.bind(target.value.id, Value(UNKNOWN, owner.reads))


def _is_generator(node: FunctionNode) -> bool:
    """Whether calling a function makes a generator: what its body leaves with is not what the call gives."""
    pending: list[ast.AST] = list(node.body)
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            pending.extend(ast.iter_child_nodes(part))
    return False


def _as_load(node: ast.expr) -> ast.expr:
    """The same name or attribute as something that is read."""
    match node:
        case ast.Name(id=name):
            return ast.copy_location(ast.Name(name, ast.Load()), node)
        case ast.Attribute(value=value, attr=attr):
            return ast.copy_location(ast.Attribute(value, attr, ast.Load()), node)
        case ast.Subscript(value=value, slice=inner):
            return ast.copy_location(ast.Subscript(value, inner, ast.Load()), node)
    return node


def _merged(before: dict[str, Value], ends: list[dict[str, Value]]) -> dict[str, Value]:
    """Names after branches: what all branches agree on, the rest unknown."""
    if not ends:
        return before
    merged: dict[str, Value] = {}
    for name in set().union(*ends):
        values = [end.get(name, NOT_KNOWN) for end in ends]
        first = values[0]
        same = all(v is first or (v.known and first.known and _alike(v.value, first.value)) for v in values)
        merged[name] = first if same else Value(UNKNOWN, frozenset().union(*(v.reads for v in values)))
    return merged


def _alike(left: Any, right: Any) -> bool:
    if isinstance(left, Instance) or isinstance(right, Instance):
        return left is right
    try:
        return type(left) is type(right) and bool(left == right)
    except (TypeError, ValueError, RecursionError):
        return False


def _catches(handler: ast.ExceptHandler, error: str) -> bool:
    if handler.type is None:
        return True
    nodes = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {last_name(n) for n in nodes}
    return bool(names & {"Exception", "BaseException", error}) or (error in _LOOKUP_ERRORS and "LookupError" in names)


_LOOKUP_ERRORS = frozenset({"KeyError", "IndexError"})


def _matches(pattern: ast.pattern, subject: Value) -> bool | None:
    match pattern:
        case ast.MatchValue(value=ast.Constant(value=wanted)):
            return bool(subject.value == wanted) if subject.known else None
        case ast.MatchSingleton(value=wanted):
            return subject.value is wanted if subject.known else None
        case ast.MatchAs(pattern=None):
            return True
        case ast.MatchOr(patterns=patterns):
            found = [_matches(p, subject) for p in patterns]
            return True if True in found else None if None in found else False
    return None
