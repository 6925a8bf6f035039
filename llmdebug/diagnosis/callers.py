"""Whether a function of a route is called whatever the request holds, or only where some test holds."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Sequence

from llmdebug.diagnosis.reach import COMMON, ENTRY_METHODS, Key
from llmdebug.index.build import Index
from llmdebug.index.facts import Function
from llmdebug.index.python.syntax import last_name

MAX_CALLERS = 12
MAX_NAMESAKES = 3
MAX_BETWEEN = 3
"""How many functions may stand between a branch and the call that its other branch makes as well."""


class Callers:
    """The calls among the functions of a route's code, by the name that is called."""

    def __init__(self, index: Index, functions: Iterable[tuple[str, Function]], handler: Key) -> None:
        self.index = index
        self._calling: dict[str, list[tuple[str, Function]]] = defaultdict(list)
        self._named: dict[str, list[tuple[str, Function]]] = defaultdict(list)
        for path, function in functions:
            self._named[function.name.rpartition(".")[2]].append((path, function))
            for name in {call.rpartition(".")[2] for call in function.calls}:
                self._calling[name].append((path, function))
        self._plain: dict[Key, bool] = {handler: True}
        self._always: dict[tuple[str, str, str], bool] = {}
        self._leading: dict[str, frozenset[str]] = {}

    def is_plain(self, path: str, symbol: str) -> bool:
        """Whether a way of calls leads to a function on which no test stands; so for one that nobody calls by name.

        A test whose branches both lead there is none.
        """
        key = (path, symbol)
        if key not in self._plain:
            self._plain[key] = False  # a circle of calls ends here
            self._plain[key] = self._is_plain(path, symbol)
        return self._plain[key]

    def _is_plain(self, path: str, symbol: str) -> bool:
        name = symbol.rpartition(".")[2]
        if name in ENTRY_METHODS:
            return True
        near = self._callers_of(name, path, symbol)
        if not near:
            return True
        for _ in range(MAX_BETWEEN):
            if any(self._is_always(p, f, name, 0) and self.is_plain(p, f.name) for p, f in near):
                return True
            near = [c for p, f in near for c in self._callers_of(f.name.rpartition(".")[2], p, f.name)][:MAX_CALLERS]
        return False

    def _callers_of(self, name: str, path: str, symbol: str) -> list[tuple[str, Function]]:
        return [(p, f) for p, f in self._calling.get(name, ()) if (p, f.name) != (path, symbol)][:MAX_CALLERS]

    def _is_always(self, path: str, caller: Function, name: str, depth: int) -> bool:
        """Whether each way through a function calls one of this name, early returns left out of account."""
        key = (path, caller.name, name)
        if key not in self._always:
            self._always[key] = False
            leads = caller.name.rpartition(".")[2] in self._leading_to(name)
            node = self.index.node(path, caller) if leads else None
            self._always[key] = node is not None and self._block(node.body, name, depth)
        return self._always[key]

    def _block(self, block: Sequence[ast.stmt], name: str, depth: int) -> bool:
        return any(self._statement(statement, name, depth) for statement in block)

    def _statement(self, node: ast.stmt, name: str, depth: int) -> bool:
        match node:
            case ast.If(test, body, orelse):
                inside = self._block(body, name, depth)
                beside = inside and (_asks_for_class(test) or self._block(orelse, name, depth))
                return beside or self._calls(test, name, depth)
            case ast.For() | ast.AsyncFor():
                return self._calls(node.iter, name, depth) or self._block(node.body, name, depth)
            case ast.While():
                return self._calls(node.test, name, depth)
            case ast.With() | ast.AsyncWith():
                around = any(self._calls(item.context_expr, name, depth) for item in node.items)
                return around or self._block(node.body, name, depth)
            case ast.Try() | ast.TryStar():
                return self._block([*node.body, *node.orelse, *node.finalbody], name, depth)
            case ast.Match():
                return False
        return self._calls(node, name, depth)

    def _calls(self, node: ast.AST, name: str, depth: int) -> bool:
        called = {last_name(call) for call in ast.walk(node) if isinstance(call, ast.Call)}
        if name in called or depth >= MAX_BETWEEN:
            return name in called
        return any(self._leads_on(between, name, depth + 1) for between in called & self._leading_to(name))

    def _leading_to(self, name: str) -> frozenset[str]:
        """The names of the functions that may call one of this name, over a few others; told without their code."""
        if name not in self._leading:
            found: set[str] = set()
            near = {name}
            for _ in range(MAX_BETWEEN + 1):
                callers = {f.name.rpartition(".")[2] for called in near for _, f in self._calling.get(called, ())}
                near = {c for c in callers - found - COMMON if len(self._named[c]) <= MAX_NAMESAKES}
                found |= callers
            self._leading[name] = frozenset(found - COMMON)
        return self._leading[name]

    def _leads_on(self, between: str, name: str, depth: int) -> bool:
        """Whether a function between does; of a method and the one that it replaces, one is enough."""
        known = self._named.get(between, ())
        return len(known) <= MAX_NAMESAKES and any(self._is_always(p, f, name, depth) for p, f in known)


def _asks_for_class(test: ast.expr) -> bool:
    """Whether a test only tells the classes apart that a function takes."""
    return isinstance(test, ast.Call) and last_name(test) == "isinstance"
