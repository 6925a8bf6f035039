"""Which functions a route can reach, over a call graph of names."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple
from weakref import WeakKeyDictionary

from llmdebug.index.build import Index
from llmdebug.index.facts import Class, Function
from llmdebug.index.python.names import define, define_attribute

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


class Nearby(NamedTuple):
    """What a function calls, as its own file tells it."""

    targets: list[Key]
    """Functions that the file itself or its imports tell."""
    open_names: list[str]
    """Names that may be those of any function of the tree."""
    guessed: frozenset[str]
    """Those of the open names for which a likely target is known."""


class CallGraph:
    """Who calls whom in one index, by name."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._near: dict[Key, Nearby] = {}

    def targets(self, key: Key) -> Iterator[tuple[Key, bool]]:
        """The functions that a function may call, among the files read so far, and whether that is but a guess."""
        if key not in self._near:
            self._near[key] = self._nearby(key)
        near, names, guessed = self._near[key]
        yield from ((target, False) for target in near)
        for name in names:
            yield from ((target, name in guessed) for target in self._namesakes(name))

    def _namesakes(self, name: str) -> list[Key]:
        namesakes = self.index.functions(name)
        found = [(p, f.name) for p, f in namesakes] if len(namesakes) <= MAX_NAMESAKES else []
        for place, known in self.index.classes(name)[:4]:
            found += self.methods(place, known)
        return found

    def _nearby(self, key: Key) -> Nearby:
        path, symbol = key
        local = self.index.local(path)
        function = local.get(symbol)
        if not isinstance(function, Function):
            return Nearby([], [], frozenset())
        near: list[Key] = []
        open_names: list[str] = []
        guessed: set[str] = set()
        used = self._classes_used(path, function)
        for call in function.calls:
            owner, dot, name = call.rpartition(".")
            if name in COMMON and (not owner or owner.startswith("~")):
                continue
            if not dot:
                near += self._named(path, symbol, name)
            elif owner == "self":
                own = self._own(path, symbol, name) or self._of_bases(path, symbol, name) or self._kept(path, name)
                near += own
                open_names += [] if own else [name]
            elif owner and not owner.startswith("~"):
                found = self._defined(path, call) or self._defined(path, owner)
                near += found
                open_names += [] if found else [name]
            else:
                sure = self._methods_of(self._annotated(path, symbol, owner[1:]), name)
                likely = [] if sure else self._methods_of(used, name)
                near += sure + likely
                open_names += [] if sure else [name]
                guessed |= {name} if likely else set()
        return Nearby(near + self._given_callables(path, function), open_names, frozenset(guessed))

    def _classes_used(self, path: str, function: Function) -> list[tuple[str, Class]]:
        """The classes that a function makes objects of, or is given objects of: it is their methods that it calls."""
        found = self._classes(path, [call for call in function.calls if call.rpartition(".")[2][:1].isupper()])
        for call in function.calls:
            owner, _, attribute = call.rpartition(".")
            kept = define_attribute(self.index, path, attribute) if owner == "self" else None
            if kept is not None and isinstance(kept.item, Class):
                found.append((kept.path, kept.item))
            target = define(self.index, path, call) if call.isidentifier() else None
            if target is not None and isinstance(target.item, Function):
                found += self._classes(target.path, _CLASS_NAME.findall(target.item.returns))
        return found

    def _annotated(self, path: str, symbol: str, name: str) -> list[tuple[str, Class]]:
        """The classes that a parameter of a function, or of one around it, is annotated with."""
        local = self.index.local(path)
        while name and symbol:
            function = local.get(symbol)
            for parameter in function.parameters if isinstance(function, Function) else ():
                if parameter.name == name:
                    return self._classes(path, _CLASS_NAME.findall(parameter.annotation))
            symbol = symbol.rpartition(".")[0]
        return []

    def _classes(self, path: str, names: list[str]) -> list[tuple[str, Class]]:
        targets = (define(self.index, path, name) for name in dict.fromkeys(names))
        return [(t.path, t.item) for t in targets if t is not None and isinstance(t.item, Class)]

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

    def _kept(self, path: str, name: str) -> list[Key]:
        """The methods that run where a class kept in an attribute is called."""
        target = define_attribute(self.index, path, name)
        return self.methods(target.path, target.item) if target and isinstance(target.item, Class) else []

    def _of_bases(self, path: str, symbol: str, name: str) -> list[Key]:
        """A method that the class inherits, and those that override it in classes below this one."""
        known = self.index.local(path).get(symbol.rpartition(".")[0])
        return self._methods_of([(path, known)], name) if isinstance(known, Class) else []

    def _methods_of(self, classes: list[tuple[str, Class]], name: str) -> list[Key]:
        """The methods of a name that objects of these classes may have; empty where no class has one."""
        found: list[Key] = []
        for path, known in classes:
            own = self._inherited(path, known, name)
            if own is not None:
                namesakes = [(place, f.name) for place, f in self.index.functions(name)]
                below = [key for key in namesakes if key != own and self._is_below(*key, known.name.rpartition(".")[2])]
                found += [own, *below]
        return found

    def _is_below(self, path: str, method: str, ancestor: str, depth: int = 0) -> bool:
        """Whether a method's class inherits from one of this name."""
        known = self.index.local(path).get(method.rpartition(".")[0])
        if not isinstance(known, Class) or depth > MAX_BASES:
            return False
        for base in known.bases:
            if base.rpartition(".")[2] == ancestor:
                return True
            target = define(self.index, path, base)
            if target is None or not isinstance(target.item, Class):
                continue
            if self._is_below(target.path, f"{target.item.name}.", ancestor, depth + 1):
                return True
        return False

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
    """Depth of the functions that a set of roots leads to, explored as far as is asked for, guesses last."""

    def __init__(self, index: Index, roots: list[Key]) -> None:
        self.graph = graph_of(index)
        self.depth: dict[Key, int] = dict.fromkeys(roots, 0)
        self.guesses: dict[Key, int] = {}
        """For each function reached only over guessed calls, how many of them."""
        self._pending = deque(roots)
        self._guessed: deque[tuple[Key, Key]] = deque()
        """Callers and what they call at a guess."""

    def of(self, path: str, symbol: str) -> int | None:
        """How many calls lead to a function; None where none do."""
        wanted = (path, symbol)
        while wanted not in self.depth and (self._pending or self._guessed):
            if self._pending:
                self._explore(self._pending.popleft())
            else:
                self._take_guess()
        return self.depth.get(wanted)

    def within(self, depth: int) -> list[Key]:
        """The functions that at most so many calls lead to, none of them guessed, the nearest first."""
        while self._pending and self.depth[self._pending[0]] < depth:
            self._explore(self._pending.popleft())
        found = (key for key, calls in self.depth.items() if calls <= depth and key not in self.guesses)
        return sorted(found, key=self.depth.__getitem__)

    def _explore(self, key: Key) -> None:
        if self.depth[key] >= MAX_DEPTH:
            return
        for target, is_guess in self.graph.targets(key):
            if is_guess:
                self._guessed.append((key, target))
            elif target not in self.depth:
                self._reach(key, target, 0)

    def _take_guess(self) -> None:
        key, target = self._guessed.popleft()
        if target not in self.depth:
            self._reach(key, target, 1)

    def _reach(self, key: Key, target: Key, guesses: int) -> None:
        self.depth[target] = self.depth[key] + 1
        total = self.guesses.get(key, 0) + guesses
        if total:
            self.guesses[target] = total
        self._pending.append(target)
