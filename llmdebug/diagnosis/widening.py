"""Files read besides: those that define what a route's code calls on objects of unknown class with the request in hand.

The call graph knows the files read so far. Where the request is handed to a method of an object that the tree does not
tell the class of, the method's name is looked for in the whole tree.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

from llmdebug.diagnosis.bindings import REQUEST_NAMES
from llmdebug.diagnosis.reach import COMMON
from llmdebug.index.build import Index
from llmdebug.index.facts import Function
from llmdebug.index.languages import ASIDE
from llmdebug.index.python.syntax import FunctionNode

MAX_NAMES = 80
MAX_DEFINERS = 14
MAX_FILES = 60


class Widening:
    """Reads files of one index; looks for no name twice."""

    def __init__(self, index: Index, models: Iterable[str], fields: Iterable[str]) -> None:
        self.index = index
        self.models = set(models)
        self.fields = set(fields) | REQUEST_NAMES
        self._sought: set[str] = set()
        self._looked: set[tuple[str, str]] = set()

    def widen(self, functions: Iterable[tuple[str, Function]]) -> bool:
        """Read what these functions, the nearest first, hand the request to; whether anything was read."""
        names: dict[str, None] = {}
        for path, function in functions:
            if (path, function.name) not in self._looked and len(names) < MAX_NAMES:
                self._looked.add((path, function.name))
                names.update(dict.fromkeys(self._handed_to(path, function)))
        wanted = [name for name in names if name not in self._sought][:MAX_NAMES]
        self._sought.update(wanted)
        paths = self._defining(wanted)
        self.index.load(paths)
        return bool(paths)

    def _defining(self, names: list[str]) -> list[str]:
        """The files that define functions of these names, rare names first."""
        held = self.index.search.files_with([f"def {name}(" for name in names], self.index.cancelled)
        by_name: dict[str, list[str]] = defaultdict(list)
        for path, found in held.items():
            for definition in found if not ASIDE.search(path) else ():
                by_name[definition].append(path)
        rare = sorted((paths for paths in by_name.values() if len(paths) <= MAX_DEFINERS), key=len)
        chosen = dict.fromkeys(path for paths in rare for path in paths if path not in self.index.loaded)
        return list(chosen)[:MAX_FILES]

    def _handed_to(self, path: str, function: Function) -> Iterator[str]:
        given = {p.name for p in function.parameters if p.name in self.fields or self._speaks_of_model(p.annotation)}
        node = self.index.node(path, function) if given else None
        if node is None:
            return
        tainted = _tainted(node, given)
        for call in ast.walk(node):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            handed = [call.func.value, *call.args, *(word.value for word in call.keywords)]
            name = call.func.attr
            if name not in COMMON and not name.startswith("__") and any(_mentions(h, tainted) for h in handed):
                yield name

    def _speaks_of_model(self, annotation: str) -> bool:
        return any(model in annotation for model in self.models) if annotation else False


def _tainted(node: FunctionNode, given: set[str]) -> set[str]:
    """The names that hold something made of these, in the order of the source."""
    found = set(given)
    for part in ast.walk(node):
        if isinstance(part, ast.Assign) and _mentions(part.value, found):
            found |= {n.id for target in part.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return found


def _mentions(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(node))
