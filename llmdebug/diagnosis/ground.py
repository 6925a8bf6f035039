"""One linked tree, ready to be asked: its index, routes, types, and what is reached from where."""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from llmdebug.diagnosis.reach import Key, Reach, graph_of
from llmdebug.diagnosis.route import Registered, Resolution, Routes
from llmdebug.diagnosis.schema import Checker
from llmdebug.index.build import Index
from llmdebug.index.facts import Class
from llmdebug.index.python.inputs import Inputs, find_handler, inputs_of
from llmdebug.index.python.models import Model
from llmdebug.index.python.types import Either, Limited, ListOf, MapOf, Object, TupleOf, Type, Types

MAX_MODELS = 400
MAX_HOPS = 2
STANDARD_BASES = {
    "invalid_argument": ("logic_error", "exception"), "out_of_range": ("logic_error", "exception"),
    "domain_error": ("logic_error", "exception"), "length_error": ("logic_error", "exception"),
    "logic_error": ("exception",), "runtime_error": ("exception",), "range_error": ("runtime_error", "exception"),
}  # fmt: skip
"""Exceptions of the C++ standard library, with what else catches them."""


@dataclass(eq=False)
class Ground:
    """A tree that a question is held against."""

    index: Index
    routes: Routes
    types: Types
    checker: Checker
    _inputs: dict[tuple[str, int, str], Inputs] = field(default_factory=dict)
    _reach: dict[tuple[str, int, str, int], Reach] = field(default_factory=dict)
    _models: dict[tuple[str, int, str], dict[Key, Model]] = field(default_factory=dict)
    _gates: tuple[int, Reach] | None = None

    def resolve(self, method: str, path: str) -> Resolution:
        return self.routes.resolve(method, path)

    def inputs(self, registered: Registered) -> Inputs:
        """What a registration's handler takes."""
        key = (registered.file, registered.route.line, registered.route.handler)
        if key not in self._inputs:
            self._inputs[key] = inputs_of(self.index, self.types, registered.file, registered.route)
        return self._inputs[key]

    def models(self, registered: Registered) -> dict[Key, Model]:
        """The classes of the tree that a request of this route is read into, by file and name."""
        key = (registered.file, registered.route.line, registered.route.handler)
        if key not in self._models:
            inputs = self.inputs(registered)
            found: dict[Key, Model] = {}
            for kind in [inputs.body, *inputs.embedded.values(), *(p.type for p in inputs.parameters)]:
                if kind is not None:
                    self._collect(kind, found)
            self._models[key] = found
        return self._models[key]

    def _collect(self, kind: Type, found: dict[Key, Model]) -> None:
        pending = [kind]
        while pending and len(found) < MAX_MODELS:
            match pending.pop(0):
                case Object(model):
                    if (model.path, model.name) in found:
                        continue
                    found[model.path, model.name] = model
                    for path, known in model.lineage[1:]:
                        found.setdefault((path, known.name), model)
                    pending += [self.checker.field_type(d) for d in model.fields.values()]
                case Either(options, _) | TupleOf(options):
                    pending += options
                case ListOf(inner) | Limited(inner, _):
                    pending.append(inner)
                case MapOf(_, inner):
                    pending.append(inner)

    def reach(self, registered: Registered) -> Reach:
        """The functions that a route leads to, among the files read so far."""
        key = (registered.file, registered.route.line, registered.route.handler, len(self.index.loaded))
        if key not in self._reach:
            self._reach[key] = Reach(self.index, self._roots(registered))
        return self._reach[key]

    def _roots(self, registered: Registered) -> list[Key]:
        roots: list[Key] = []
        handler = find_handler(self.index, registered.file, registered.route)
        if handler:
            roots.append((handler[0], handler[1].name))
        graph = graph_of(self.index)
        for path, name in self.models(registered):
            known = self.index.local(path).get(name)
            if isinstance(known, Class):
                roots += graph.methods(path, known)
        for dependency in registered.route.dependencies:
            roots += [(p, f.name) for p, f in self.index.functions(dependency)[:4]]
        return roots

    def statuses(self, exception: str) -> frozenset[int]:
        """The statuses that exception handlers of the tree answer a class with; empty where none is registered."""
        bases = (base.rpartition(".")[2] for _, known in self.index.classes(exception) for base in known.bases)
        return self._statuses({exception, *bases}) or self._statuses(set(STANDARD_BASES.get(exception, ())))

    def _statuses(self, names: set[str], hops: int = 0) -> frozenset[int]:
        found: set[int] = set()
        for path in self.index.base():
            facts = self.index.loaded.get(path)
            for handler in facts.handlers if facts else ():
                if names & set(handler.exceptions):
                    found |= set(handler.statuses)
                    if handler.answers_as and hops < MAX_HOPS:
                        found |= self._statuses(set(handler.answers_as), hops + 1)
        return frozenset(found)

    def gate_reach(self) -> Reach:
        """The functions that run before each route."""
        if self._gates is None or self._gates[0] != len(self.index.loaded):
            self._gates = (len(self.index.loaded), Reach(self.index, self._gate_roots()))
        return self._gates[1]

    def _gate_roots(self) -> list[Key]:
        """Functions that see each request before its route: middlewares."""
        found: list[Key] = []
        for path in self.index.base():
            facts = self.index.loaded.get(path)
            for name in facts.middlewares if facts else ():
                found += [(p, f.name) for p, f in self.index.functions(name.rpartition(".")[2])]
                for place, known in self.index.classes(name):
                    found += [(place, f"{known.name}.{method}") for method in ("__call__", "dispatch")]
        return found


_grounds: WeakKeyDictionary[Index, Ground] = WeakKeyDictionary()


def ground_of(index: Index) -> Ground:
    """The ground that an index gives; made once an index."""
    if index not in _grounds:
        types = Types(index)
        _grounds[index] = Ground(index, Routes(index), types, Checker(types))
    return _grounds[index]
