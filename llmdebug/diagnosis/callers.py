"""Whether a function of a route is called whatever the request holds, or only where some test holds."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable

from llmdebug.diagnosis.reach import ENTRY_METHODS, Key
from llmdebug.index.build import Index
from llmdebug.index.facts import Function
from llmdebug.index.python.guards import Guard, guards_of
from llmdebug.index.python.syntax import last_name

MAX_CALLERS = 12


class Callers:
    """The calls among some functions, by the name that is called."""

    def __init__(self, index: Index, functions: Iterable[tuple[str, Function]]) -> None:
        self.index = index
        self._calling: dict[str, list[tuple[str, Function]]] = defaultdict(list)
        for path, function in functions:
            for name in {call.rpartition(".")[2] for call in function.calls}:
                self._calling[name].append((path, function))
        self._plain: dict[Key, bool] = {}

    def is_plain(self, path: str, symbol: str) -> bool:
        """Whether a way of calls leads to a function on which no test stands; so for one that nobody calls by name."""
        key = (path, symbol)
        if key not in self._plain:
            self._plain[key] = False  # a circle of calls ends here
            self._plain[key] = self._is_plain(path, symbol)
        return self._plain[key]

    def _is_plain(self, path: str, symbol: str) -> bool:
        name = symbol.rpartition(".")[2]
        if name in ENTRY_METHODS:
            return True
        calling = [(p, f) for p, f in self._calling.get(name, ()) if (p, f.name) != (path, symbol)]
        if not calling:
            return True
        return any(self._is_unguarded(p, f, name) and self.is_plain(p, f.name) for p, f in calling[:MAX_CALLERS])

    def _is_unguarded(self, path: str, caller: Function, name: str) -> bool:
        node = self.index.node(path, caller)
        if node is None:
            return False
        lines = [call.lineno for call in ast.walk(node) if isinstance(call, ast.Call) and last_name(call) == name]
        return any(all(_asks_for_class(guard) for guard in guards_of(node, line)) for line in lines)


def _asks_for_class(guard: Guard) -> bool:
    """Whether a guard only tells the classes apart that a function takes."""
    return guard.wanted and isinstance(guard.test, ast.Call) and last_name(guard.test) == "isinstance"
