"""What a walk through functions is made of: frames, calls to follow, and the outcomes that it meets."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from llmdebug.index.python.evaluate import Evaluator
from llmdebug.index.python.operations import equal
from llmdebug.index.python.syntax import FunctionNode
from llmdebug.index.python.values import NOT_KNOWN, NOTHING, UNKNOWN, Instance, Value, join

Names = dict[str, Value]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A way in which the walk leaves a function, or a crash on the way."""

    kind: Literal["raise", "return", "crash"]
    path: str
    symbol: str
    line: int
    end_line: int
    certain: bool
    """Whether the request surely leads here, as long as what could not be followed does not raise."""
    reads: frozenset[str] = NOTHING
    """What the tests read that led here."""
    error: str = ""
    """Name of the raised class."""
    text: str = ""
    """Python's own text, for a crash."""
    value: Any = field(default=UNKNOWN, repr=False)
    near: frozenset[str] = NOTHING
    """What the innermost test, or the crashing operation, read."""
    escapes: bool = True
    """False where a handler on the way catches it, or may."""
    held: bool = True
    """Whether all tests around it are known to hold, whatever else may have ended the walk before."""


@dataclass
class Callee:
    """A function that a call leads to, with what its names stand for."""

    path: str
    symbol: str
    node: FunctionNode
    bound: Names


@dataclass
class Frame:
    """One function being walked through."""

    path: str
    symbol: str
    names: Names


Enter = Callable[[Callee], Value]
"""Follows a call into a function."""
Resolver = Callable[[Frame, ast.Call, Evaluator, Enter], Value | None]
"""What a call gives, followed where the function can be told; None where it can't."""
Lookup = Callable[[Frame, str], Value]
"""What a name that the function does not bind stands for."""
Attribute = Callable[[Frame, Value, ast.Attribute], Value]
"""What an attribute of an unknown or half-known object stands for."""
Ancestors = Callable[[str, str], Sequence[str]]
"""Names of the classes that an exception class, by file and name, inherits from."""


class Leave(Exception):
    """The walk leaves the block.

    By return, raise, break or continue; by `end` where each branch leaves in its own way.
    """

    def __init__(
        self, how: Literal["return", "raise", "break", "continue", "end"], error: str = "", value: Value = NOT_KNOWN
    ) -> None:
        super().__init__(how)
        self.how = how
        self.error = error
        self.value = value


@dataclass(frozen=True, slots=True)
class Left:
    """How many ways of leaving were passed that the walk could not decide about."""

    raises: int = 0
    returns: int = 0
    jumps: int = 0
    """By break or continue."""

    def counting(self, how: str) -> Left:
        match how:
            case "return":
                return replace(self, returns=self.returns + 1)
            case "break" | "continue":
                return replace(self, jumps=self.jumps + 1)
        return replace(self, raises=self.raises + 1)


@dataclass
class Loop:
    """A loop being walked through: what names stood for where its body may have been left."""

    certain: bool
    left: Left
    """What was left before it began."""
    breaks: list[Names] = field(default_factory=list)
    continues: list[Names] = field(default_factory=list)


def merged(ends: Sequence[Names]) -> Names:
    """Names after branches: what all branches agree on, the rest unknown."""
    if len(ends) == 1:
        return dict(ends[0])
    return {name: agreed([end.get(name, NOT_KNOWN) for end in ends]) for name in set().union(*ends)}


def agreed(values: Sequence[Value]) -> Value:
    """One value for several that may be; unknown where they differ."""
    first = values[0]
    if all(v is first or (v.known and first.known and equal(v.value, first.value)) for v in values):
        return first
    return Value(UNKNOWN, join(*values))


class Replacement:
    """One mutable object put in the place of another, wherever it is held; counts what it looks at."""

    def __init__(self, old: Any, new: Any, reads: frozenset[str]) -> None:
        self.old = old
        self.new = new
        self.reads = reads
        self.looked_at = 0
        self._seen: set[int] = set()

    def on(self, found: Value, certain: bool = True) -> Value:
        """A value with the object replaced in it; unknown where that is not `certain` to have happened."""
        made = self._made(found.value, certain)
        if made is found.value:
            return found
        reads = found.reads | self.reads
        if made is UNKNOWN or not certain:
            return Value(UNKNOWN, reads)
        return Value(made, reads, found.pointer if _keeps_places(found.value, made) else None)

    def _made(self, value: Any, certain: bool) -> Any:
        self.looked_at += 1
        if value is self.old:
            return self.new
        if isinstance(value, dict):
            changed = {key: self._made(inner, certain) for key, inner in value.items()}
            return value if _same(value.values(), changed.values()) else changed
        if isinstance(value, list | tuple):
            made = [self._made(inner, certain) for inner in value]
            if _same(value, made):
                return value
            return made if isinstance(value, list) else tuple(made)
        if isinstance(value, Instance) and id(value) not in self._seen:
            self._seen.add(id(value))
            for name in {*value.fields, *value.changed}:
                before = value.get(name)
                if before is not None and (after := self.on(before, certain)) is not before:
                    value.changed[name] = after
        return value


def _same(before: Iterable[Any], after: Iterable[Any]) -> bool:
    return all(a is b for a, b in zip(before, after, strict=True))


def _keeps_places(old: Any, new: Any) -> bool:
    """Whether the elements that are left stand where they stood."""
    if isinstance(old, dict):
        return True
    return (
        isinstance(old, list)
        and isinstance(new, list)
        and all(a is b or isinstance(a, dict | list) for a, b in zip(old, new, strict=False))
    )
