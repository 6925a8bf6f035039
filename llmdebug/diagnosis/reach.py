"""Which functions a route can reach, over a call graph of names."""

from __future__ import annotations

import re
from collections import deque
from weakref import WeakKeyDictionary

from llmdebug.index.build import Index
from llmdebug.index.facts import Class, Function
from llmdebug.index.python.names import define

Key = tuple[str, str]
"""File and qualified name of a function."""

MAX_NAMESAKES = 14
MAX_DEPTH = 24
MAX_BASES = 8
ENTRY_METHODS = ("__init__", "__post_init__", "__new__", "__call__", "model_post_init", "forward", "dispatch")
_CLASS_NAME = re.compile(r"\b[A-Z]\w*")
COMMON = frozenset(
    {"get", "set", "pop", "append", "items", "keys", "values", "join", "format", "split", "strip", "copy", "update",
     "encode", "decode", "close", "start", "stop", "run", "read", "write", "send", "put", "info", "debug", "warning",
     "error", "len", "str", "int", "float", "list", "dict", "isinstance", "getattr", "hasattr", "print", "range", "sum"}
)  # fmt: skip


class CallGraph:
    """Who calls whom in one index, by name."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._near: dict[Key, tuple[list[Key], list[str]]] = {}

    def targets(self, key: Key) -> list[Key]:
        """The functions that a function may call, among the files read so far."""
        if key not in self._near:
            self._near[key] = self._nearby(key)
        near, names = self._near[key]
        found = list(near)
        for name in names:
            namesakes = self.index.functions(name)
            if len(namesakes) <= MAX_NAMESAKES:
                found += [(p, f.name) for p, f in namesakes]
            for place, known in self.index.classes(name)[:4]:
                found += self.methods(place, known)
        return found

    def _nearby(self, key: Key) -> tuple[list[Key], list[str]]:
        """Targets that the file itself or its imports tell, and the names that they leave open."""
        path, symbol = key
        local = self.index.local(path)
        function = local.get(symbol)
        if not isinstance(function, Function):
            return [], []
        near: list[Key] = []
        open_names: list[str] = []
        for call in function.calls:
            owner, dot, name = call.rpartition(".")
            if name in COMMON and owner in {"", "."}:
                continue
            if not dot:
                near += self._named(path, symbol, name)
            elif owner == "self":
                near += self._own(path, symbol, name)
                open_names += [] if near and near[-1][1].endswith(f".{name}") else [name]
            elif owner:
                found = self._defined(path, call) or self._defined(path, owner)
                near += found
                open_names += [] if found else [name]
            else:
                open_names.append(name)
        return near + self._given_callables(path, function), open_names

    def _given_callables(self, path: str, function: Function) -> list[Key]:
        """`__call__` of the class that a function is annotated to give: its callers call what they got."""
        found = []
        for name in _CLASS_NAME.findall(function.returns):
            target = define(self.index, path, name)
            if target is not None and isinstance(target.item, Class):
                method = self._inherited(target.path, target.item, "__call__")
                found += [method] if method is not None else []
        return found

    def _inherited(self, path: str, known: Class, name: str, depth: int = 0) -> Key | None:
        """A method where the class or the nearest of its bases defines it."""
        if f"{known.name}.{name}" in self.index.local(path):
            return path, f"{known.name}.{name}"
        for base in known.bases if depth < MAX_BASES else ():
            target = define(self.index, path, base)
            if target is not None and isinstance(target.item, Class):
                found = self._inherited(target.path, target.item, name, depth + 1)
                if found is not None:
                    return found
        return None

    def _named(self, path: str, symbol: str, name: str) -> list[Key]:
        """What a bare name calls: a nested function, else one of the file or of its imports."""
        if f"{symbol}.{name}" in self.index.local(path):
            return [(path, f"{symbol}.{name}")]
        return self._defined(path, name)

    def _own(self, path: str, symbol: str, name: str) -> list[Key]:
        """A method of the same class."""
        owner = symbol.rpartition(".")[0]
        while owner:
            if f"{owner}.{name}" in self.index.local(path):
                return [(path, f"{owner}.{name}")]
            owner = owner.rpartition(".")[0]
        return []

    def _defined(self, path: str, name: str) -> list[Key]:
        target = define(self.index, path, name)
        if target is None or isinstance(target.item, str):
            return []
        if isinstance(target.item, Function):
            return [(target.path, target.item.name)]
        return self.methods(target.path, target.item)

    def methods(self, path: str, known: Class) -> list[Key]:
        """The methods that making or calling an instance of a class runs."""
        local = self.index.local(path)
        names = [*ENTRY_METHODS, *(v.method for v in known.validators)]
        return [(path, f"{known.name}.{name}") for name in names if f"{known.name}.{name}" in local]


_graphs: WeakKeyDictionary[Index, CallGraph] = WeakKeyDictionary()


def graph_of(index: Index) -> CallGraph:
    """The call graph of an index; made once an index."""
    if index not in _graphs:
        _graphs[index] = CallGraph(index)
    return _graphs[index]


class Reach:
    """Depth of the functions that a set of roots leads to, explored as far as is asked for."""

    def __init__(self, index: Index, roots: list[Key]) -> None:
        self.graph = graph_of(index)
        self.depth: dict[Key, int] = dict.fromkeys(roots, 0)
        self._pending = deque(roots)

    def of(self, path: str, symbol: str) -> int | None:
        """How many calls lead to a function; None where none do."""
        wanted = (path, symbol)
        while wanted not in self.depth and self._pending:
            self._explore(self._pending.popleft())
        return self.depth.get(wanted)

    def within(self, depth: int) -> list[Key]:
        """The functions that at most so many calls lead to, the nearest first."""
        while self._pending and self.depth[self._pending[0]] < depth:
            self._explore(self._pending.popleft())
        return sorted((key for key, found in self.depth.items() if found <= depth), key=self.depth.__getitem__)

    def _explore(self, key: Key) -> None:
        depth = self.depth[key] + 1
        if depth > MAX_DEPTH:
            return
        for target in self.graph.targets(key):
            if target not in self.depth:
                self.depth[target] = depth
                self._pending.append(target)
