"""The code that a route leads to, as far as it may refuse what a request holds; read once a route."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

from llmdebug.diagnosis.bindings import REQUEST_NAMES
from llmdebug.diagnosis.callers import Callers
from llmdebug.diagnosis.following import OTHER_OWNERS
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.reach import ENTRY_METHODS, Key, Reach
from llmdebug.diagnosis.renames import renames
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.widening import Widening
from llmdebug.index.facts import Class, Function
from llmdebug.index.languages import ASIDE
from llmdebug.index.python.inputs import find_handler
from llmdebug.index.python.names import define, define_attribute
from llmdebug.index.python.types import Object

MAX_DEPTH = 9
MAX_ROUNDS = 6
MAKERS = ("__post_init__", "__init__", "model_post_init")


@dataclass(frozen=True, slots=True)
class Step:
    """A function that is worth walking on a request."""

    path: str
    function: Function
    owner: str
    """The class of a method; empty for a function."""
    of_model: bool
    """Whether it is a method of a class that the request is read into."""
    takes: tuple[str, ...]
    """Parameters that are of such a class."""


class RouteCode:
    """The functions of one route, nearest first."""

    def __init__(self, ground: Ground, registered: Registered) -> None:
        self.ground = ground
        self.index = ground.index
        self.registered = registered
        self.models = ground.models(registered)
        self.model_names = {name for _, name in self.models}

    @cached_property
    def handler(self) -> Key:
        found = find_handler(self.index, self.registered.file, self.registered.route)
        return (found[0], found[1].name) if found is not None else ("", "")

    @cached_property
    def renames(self) -> dict[str, tuple[str, ...]]:
        """The names by which the route's code hands fields of the request on."""
        body = self.ground.inputs(self.registered).body
        if not isinstance(body, Object):
            return {}
        methods = [
            (path, item)
            for path, known in body.model.lineage
            for item in self.index.local(path).values()
            if isinstance(item, Function) and item.name.startswith(f"{known.name}.")
        ]
        return renames(self.ground, [*methods, *self.functions], body.model)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The functions to walk: methods of the models, takers of them, and those whose names a request binds."""
        return tuple(self._steps())

    def _steps(self) -> Iterator[Step]:
        for path, function in self.functions:
            owner, _, name = function.name.rpartition(".")
            if (path, function.name) == self.handler:
                continue
            if (path, owner) in self.models:
                if not self._is_inner(path, owner, name):
                    yield Step(path, function, owner, True, ())
                continue
            takes = tuple(p.name for p in function.parameters if self._names_model(p.annotation))
            speaks = name in ENTRY_METHODS or self._refuses(path, function) or self._makes_refusing(path, function)
            if not takes and not (speaks and self._binds(path, owner, function)):
                continue
            if not self._is_one_of_several(path, owner, name) and self._callers.is_plain(path, function.name):
                yield Step(path, function, owner, False, takes)

    @cached_property
    def functions(self) -> list[tuple[str, Function]]:
        """The functions that the route reaches; the search reads files, which lets it find more."""
        widening = Widening(self.index, self.model_names, self._field_names())
        roots = self.ground.reach(self.registered).within(0)
        found: list[tuple[str, Function]] = []
        for _ in range(MAX_ROUNDS):
            read = len(self.index.loaded)
            found = self._known(Reach(self.index, roots).within(MAX_DEPTH))
            overriding = self._overriding_methods(found)
            if not overriding and len(self.index.loaded) == read and not widening.widen(found):
                break
            roots += overriding
        return found

    def _overriding_methods(self, found: list[tuple[str, Function]]) -> list[Key]:
        """Methods of subclasses that take the route's classes, in place of methods that are reached."""
        reached = {(path, function.name) for path, function in found}
        new: dict[Key, None] = {}
        for path, function in found:
            owner, _, name = function.name.rpartition(".")
            for place, other in self.index.functions(name) if owner and not name.startswith("__") else ():
                key = (place, other.name)
                if key in reached or not any(self._names_model(p.annotation) for p in other.parameters):
                    continue
                if self._origin(place, other.name.rpartition(".")[0], name) == (path, owner):
                    new[key] = None
        return list(new)

    def _known(self, keys: list[Key]) -> list[tuple[str, Function]]:
        known = [(path, self.index.local(path).get(symbol)) for path, symbol in keys if not ASIDE.search(path)]
        return [(path, item) for path, item in known if isinstance(item, Function)]

    def _field_names(self) -> frozenset[str]:
        inputs = self.ground.inputs(self.registered)
        declared = inputs.body.model.fields if isinstance(inputs.body, Object) else {}
        return frozenset([*declared, *inputs.embedded, *(read.key for read in inputs.reads)])

    def _binds(self, path: str, owner: str, function: Function) -> bool:
        """Whether a function's names may stand for something of the request."""
        if self._is_of_others(path, function) or not self._is_made(path, owner):
            return False
        named = {p.name for p in function.parameters}
        return bool(owner and "self" in named) or bool(named & REQUEST_NAMES)

    def _is_one_of_several(self, path: str, owner: str, name: str) -> bool:
        """Whether a method is one of several that stand in for the same method of a common base class."""
        return len(self._overriding.get((self._origin(path, owner, name), name), ())) > 1

    @cached_property
    def _callers(self) -> Callers:
        return Callers(self.index, self.functions, self.handler)

    @cached_property
    def _overriding(self) -> dict[tuple[Key, str], set[Key]]:
        """The reached methods by the class that first declares them and their name."""
        found: dict[tuple[Key, str], set[Key]] = {}
        for path, function in self.functions:
            owner, _, name = function.name.rpartition(".")
            if owner:
                taken = any(self._names_model(p.annotation) for p in function.parameters)
                if taken or not self._is_of_others(path, function):
                    found.setdefault((self._origin(path, owner, name), name), set()).add((path, owner))
        return {key: {c for c in classes if c != key[0]} for key, classes in found.items()}

    def _origin(self, path: str, owner: str, name: str) -> Key:
        """The farthest base class that has a method of this name."""
        known = self.index.local(path).get(owner)
        if not isinstance(known, Class):
            return path, owner
        lineage = self.ground.types.model(path, known).lineage
        having = [(p, c.name) for p, c in lineage if f"{c.name}.{name}" in self.index.local(p)]
        return having[-1] if having else (path, owner)

    def _refuses(self, path: str, function: Function) -> bool:
        facts = self.index.facts(path)
        roles = {r.role for r in facts.rejections if r.symbol == function.name} if facts else set()
        return bool(roles & {"raises", "returns"})

    def _makes_refusing(self, path: str, function: Function) -> bool:
        """Whether a function makes an object of a class whose methods refuse, apart from when one is made."""
        for call in function.calls:
            owner, _, name = call.rpartition(".")
            if owner == "self":
                found = define_attribute(self.index, path, name)
                if found is not None and isinstance(found.item, Class) and found.item.name in self._refusing:
                    return True
            elif name in self._refusing:
                return True
        return False

    @cached_property
    def _refusing(self) -> set[str]:
        """The classes with methods that refuse, those aside that run where an object is made."""
        found: set[str] = set()
        for path, function in self.functions:
            owner, _, name = function.name.rpartition(".")
            if owner and name not in ENTRY_METHODS and (path, owner) not in self.models:
                found |= {owner} if self._refuses(path, function) else set()
        return found

    def _is_inner(self, path: str, owner: str, name: str) -> bool:
        """Whether a method of a model is a validator, or called by others of its class, which say what it is given."""
        known = self.index.local(path).get(owner)
        if isinstance(known, Class) and any(v.method == name for v in known.validators):
            return True
        methods = (item for symbol, item in self.index.local(path).items() if symbol.startswith(f"{owner}."))
        return any(f"self.{name}" in method.calls for method in methods if isinstance(method, Function))

    def _is_of_others(self, path: str, function: Function) -> bool:
        """Whether a function takes a class of another route for its request."""
        for parameter in function.parameters:
            named = re.findall(r"[A-Z]\w+", parameter.annotation)
            classes = [n for n in named if (d := define(self.index, path, n)) is not None and isinstance(d.item, Class)]
            if classes and not set(classes) & self.model_names and parameter.name not in OTHER_OWNERS:
                return True
        return False

    def _is_made(self, path: str, owner: str) -> bool:
        """Whether the route's code makes an object of a class, where that would hold fields of the request."""
        known = self.index.local(path).get(owner) if owner else None
        if not isinstance(known, Class):
            return True
        if not self.ground.types.model(path, known).fields and not any(
            isinstance(self.index.local(path).get(f"{owner}.{maker}"), Function) for maker in MAKERS
        ):
            return True
        return (path, owner) not in self._of_other_routes and owner.rpartition(".")[2] in self._called

    @cached_property
    def _called(self) -> set[str]:
        """The names that the route's code calls, itself or by an attribute, and those that its files import."""
        called = {step for _, function in self.functions for call in function.calls for step in call.split(".")[-2:]}
        files = {path for path, _ in self.functions}
        kept = (define_attribute(self.index, path, name) for path in files for name in called)
        called |= {found.item.name for found in kept if found is not None and isinstance(found.item, Class)}
        return called | {origin.rpartition(".")[2] for path in files for origin in self.index.imports(path).values()}

    @cached_property
    def _of_other_routes(self) -> set[Key]:
        """The classes that requests of other routes are read into as a whole."""
        found: set[Key] = set()
        for other in self.ground.routes.known:
            body = self.ground.inputs(other).body
            if isinstance(body, Object):
                found.add((body.model.path, body.model.name))
        return found - self.models.keys()

    def _names_model(self, annotation: str) -> bool:
        return bool(annotation) and not self.model_names.isdisjoint(re.findall(r"[A-Z]\w+", annotation))


_codes: WeakKeyDictionary[Ground, dict[tuple[str, int, str], RouteCode]] = WeakKeyDictionary()


def code_of(ground: Ground, registered: Registered) -> RouteCode:
    """The code of a route; read once."""
    key = (registered.file, registered.route.line, registered.route.handler)
    known = _codes.setdefault(ground, {})
    if key not in known:
        known[key] = RouteCode(ground, registered)
    return known[key]
