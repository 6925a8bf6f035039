"""Functions of a tree walked through on a request: which refusals are reached, surely or perhaps.

The walk is the evaluator's, statement by statement: a test that is known takes one branch, an unknown one takes
both and leaves everything after it in doubt. Calls are followed where the name can be told.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from llmdebug.index.python.frames import (
    Ancestors,
    Attribute,
    Callee,
    Enter,
    Frame,
    Leave,
    Lookup,
    Outcome,
    Replacement,
    Resolver,
    agreed,
)
from llmdebug.index.python.statements import Body
from llmdebug.index.python.values import NOT_KNOWN, NOTHING, Crash, Stop, Value

__all__ = ["Ancestors", "Callee", "Enter", "Frame", "Outcome", "Walk"]

MAX_CALLS = 12
LOOKED_AT_A_STEP = 20
"""Elements that a replacement may look at for one step of the walk."""


def nobody(_path: str, _name: str) -> tuple[str, ...]:
    """Ancestors of exception classes where no tree tells."""
    return ()


@dataclass
class Walk:
    """A walk through functions; keeps the outcomes in the order in which they are met."""

    resolve: Resolver
    lookup_free: Lookup
    attribute_of: Attribute
    ancestors: Ancestors = nobody
    outcomes: list[Outcome] = field(default_factory=list)
    steps: list[int] = field(default_factory=lambda: [0])
    stopped: bool = False
    """Whether the walk was given up: an outcome that is not listed may be met all the same."""
    target: tuple[str, str, int] | None = None
    """File, function and line that are known to be reached: what leaves the function before it is passed over."""
    guarded: int = 0
    """How many `try` blocks with handlers are being walked through, in all functions on the way."""
    max_calls: int = MAX_CALLS
    """How deep calls are followed."""
    _frames: list[Frame] = field(default_factory=list)

    def run(self, callee: Callee, certain: bool = True) -> list[Outcome]:
        """Walk through a function from its start."""
        try:
            self.enter_call(callee, certain, NOTHING)
        except (Leave, Crash):
            pass
        except (Stop, RecursionError):
            self.stopped = True
        return self.outcomes

    def result(self, callee: Callee) -> Value:
        """What a function gives back; not known where that is in doubt, or where it raises."""
        try:
            return self.enter_call(callee, True, NOTHING)[0]
        except (Leave, Crash, Stop, RecursionError):
            return NOT_KNOWN

    def enter_call(self, callee: Callee, certain: bool, reads: frozenset[str], held: bool = True) -> tuple[Value, bool]:
        """Follow a call: what it gives back, and whether it surely does; raises Leave where it surely raises."""
        if len(self._frames) >= self.max_calls or any(
            (f.path, f.symbol) == (callee.path, callee.symbol) for f in self._frames
        ):
            return NOT_KNOWN, True
        frame = Frame(callee.path, callee.symbol, dict(callee.bound))
        body = Body(self, frame, certain, reads, held)
        self._frames.append(frame)
        try:
            body.block(callee.node.body)
            body.returns.append(Value(None))
        except Leave as leave:
            if leave.how == "return":
                body.returns.append(leave.value)
            elif not body.returns:
                raise Leave("raise", leave.error) from None
            else:
                body.left = body.left.counting("raise")
        finally:
            self._frames.pop()
        given = NOT_KNOWN if _is_generator(callee.node) else agreed(body.returns)
        return given, not body.left.raises

    def replace(self, replacement: Replacement, certain: bool) -> None:
        """Let all functions on the way see a changed object."""
        for frame in self._frames:
            here = frame is self._frames[-1]
            frame.names = {name: replacement.on(value, here or certain) for name, value in frame.names.items()}
        self.steps[0] += replacement.looked_at // LOOKED_AT_A_STEP


def _is_generator(node: ast.AST) -> bool:
    pending = list(ast.iter_child_nodes(node))
    while pending:
        inner = pending.pop()
        if isinstance(inner, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            pending.extend(ast.iter_child_nodes(inner))
    return False
