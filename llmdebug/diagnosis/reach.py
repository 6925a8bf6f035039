"""Which functions a route can reach, over a call graph of names."""

from __future__ import annotations

from collections import deque

from llmdebug.index.build import Index
from llmdebug.index.facts import Class, Function
from llmdebug.index.python.names import define

Key = tuple[str, str]
"""File and qualified name of a function."""

MAX_NAMESAKES = 14
MAX_DEPTH = 24
ENTRY_METHODS = ("__init__", "__post_init__", "__new__", "__call__", "model_post_init", "forward", "dispatch")
COMMON = frozenset(
    {"get", "set", "pop", "append", "items", "keys", "values", "join", "format", "split", "strip", "copy", "update",
     "encode", "decode", "close", "start", "stop", "run", "read", "write", "send", "put", "info", "debug", "warning",
     "error", "len", "str", "int", "float", "list", "dict", "isinstance", "getattr", "hasattr", "print", "range", "sum"}
)  # fmt: skip


class Reach:
    """Depth of each function that a set of roots leads to."""

    def __init__(self, index: Index, roots: list[Key]) -> None:
        self.index = index
        self.depth: dict[Key, int] = {}
        self._by_key = {
            (path, function.name): function for path, facts in index.loaded.items() for function in facts.functions
        }
        pending = deque((key, 0) for key in roots)
        while pending:
            key, depth = pending.popleft()
            if key in self.depth or depth > MAX_DEPTH:
                continue
            self.depth[key] = depth
            function = self._by_key.get(key)
            if function is None:
                continue
            pending.extend((target, depth + 1) for target in self._targets(key[0], function))

    def of(self, path: str, symbol: str) -> int | None:
        """How many calls lead to a function; None where none do. A class is reached through its methods."""
        if (path, symbol) in self.depth:
            return self.depth[path, symbol]
        return None

    def _targets(self, path: str, function: Function) -> list[Key]:
        found: list[Key] = []
        facts = self.index.loaded.get(path)
        imports = dict(facts.imports) if facts else {}
        owner = function.name.rpartition(".")[0]
        for name in function.calls:
            if name in COMMON:
                continue
            nested = (path, f"{function.name}.{name}")
            sibling = (path, f"{owner}.{name}" if owner else name)
            if nested in self._by_key:
                found.append(nested)
                continue
            if sibling in self._by_key:
                found.append(sibling)
            if name in imports:
                found += self._defined(path, name)
                continue
            if (path, name) in self._by_key and name not in {k[1] for k in found}:
                found.append((path, name))
                continue
            namesakes = self.index.functions(name)
            if len(namesakes) <= MAX_NAMESAKES:
                found += [(p, f.name) for p, f in namesakes]
            for place, known in self.index.classes(name)[:4]:
                found += methods(place, known, self._by_key)
        return found

    def _defined(self, path: str, name: str) -> list[Key]:
        target = define(self.index, path, name)
        if target is None or isinstance(target.item, str):
            return []
        if isinstance(target.item, Function):
            return [(target.path, target.item.name)]
        return methods(target.path, target.item, self._by_key)


def methods(path: str, known: Class, by_key: dict[Key, Function]) -> list[Key]:
    """The methods that making or calling an instance of a class runs."""
    names = [*ENTRY_METHODS, *(v.method for v in known.validators)]
    return [(path, f"{known.name}.{name}") for name in names if (path, f"{known.name}.{name}") in by_key]
