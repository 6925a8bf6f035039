"""Declared fields without effect in one request: read by nobody, overridden, switched off, or cut to a bound.

Each rule looks at the code of the route. Nothing is said of a field that must be sent, holds null or its default.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from llmdebug.diagnosis.clamped import Cuts
from llmdebug.diagnosis.finding import Spot
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.schema import escape
from llmdebug.diagnosis.takers import Taker, taking
from llmdebug.index.facts import Function
from llmdebug.index.languages import ASIDE, PYTHON
from llmdebug.index.python.constants import literal
from llmdebug.index.python.models import Declared, Model
from llmdebug.index.python.types import Either, Limited, Scalar, Type

DUMPS = re.compile(rb"\bmodel_dump\(|\.dict\(\)|\basdict\(|\bvars\(|__dict__|model_fields_set|\*\*\w*req")
SWITCH = ("top_{}", "{}_options", "{}_interval", "{}_reasoning", "num_{}")
"""Names of fields that say more of what a switch turns on."""
QUESTION_NAMES = ("has_", "is_", "contains", "use_", "any_", "should_")
"""Names of variables that hold whether something was given, not what."""


Functions = Sequence[tuple[str, Function]]


@dataclass(frozen=True, slots=True)
class Vain:
    """A field without effect, and the place that says so."""

    key: str
    spot: Spot


@dataclass
class _Given:
    """What a request gives of the fields of its class."""

    model: Model
    body: dict[str, Any]

    def value(self, name: str) -> Any:
        declared = self.model.fields.get(name)
        key = next((n for n in declared.names if n in self.body), None) if declared else None
        return self.body[key] if key is not None else None

    def key(self, name: str) -> str:
        declared = self.model.fields[name]
        return next(n for n in declared.names if n in self.body)

    def chosen(self) -> dict[str, Declared]:
        """The fields that the sender chose to give: none that must be there, none that holds null or its default."""
        found: dict[str, Declared] = {}
        for name, declared in self.model.fields.items():
            value = self.value(name)
            if value is not None and not declared.required and not _is_default(declared, value):
                found[name] = declared
        return found


def _is_default(declared: Declared, value: Any) -> bool:
    try:
        default = literal(declared.field.default or "None")
    except LookupError:
        return False
    return type(default) is type(value) and default == value


def vain_fields(ground: Ground, functions: Functions, model: Model, body: dict[str, Any]) -> list[Vain]:
    """The fields of a body without effect, in the order of their declaration; none where the code is not Python.

    `functions` are those of the route, nearest first.
    """
    if not model.path.endswith(PYTHON.suffixes):
        return []
    given = _Given(model, body)
    chosen = given.chosen()
    if model.kind not in {"pydantic", "msgspec", "dataclass"}:
        return []
    found: dict[str, Spot] = {}
    for name, spot in (
        *_cut(ground, functions, given),
        *_overridden(ground, functions, given, chosen),
        *_switched_off(ground, given, chosen),
        *(_unread(ground, model, chosen) if chosen else ()),
    ):
        found.setdefault(name, spot)
    return [Vain(given.key(name), found[name]) for name in model.fields if name in found]


def pointers_of(found: list[Vain]) -> list[str]:
    return [f"/{escape(item.key)}" for item in found]


# read by nobody


def _unread(ground: Ground, model: Model, chosen: dict[str, Declared]) -> Iterator[tuple[str, Spot]]:
    """Fields whose names stand nowhere in the tree but where fields are declared."""
    index = ground.index
    left = dict(chosen)
    for path in [*dict.fromkeys(place for place, _ in model.lineage), *index.base()]:
        data = index.tree.read(path) if left else None
        if data is not None and path in {place for place, _ in model.lineage} and DUMPS.search(data):
            return
        for name in [n for n in left if data is not None and _reads(n, data)]:
            del left[name]
    held = index.search.files_with(left) if left else {}
    for path, names in held.items():
        data = index.tree.read(path) if names & left.keys() and not ASIDE.search(path) else None
        for name in [n for n in names if n in left and data is not None and _reads(n, data)]:
            del left[name]
    for name, declared in left.items():
        yield name, _declaration(declared, "the class declares it, and nothing in the tree reads it")


def _reads(name: str, data: bytes) -> bool:
    """Whether source may read a field: by attribute, by key, or as a parameter."""
    word = re.escape(name.encode())
    pattern = rb"\." + word + rb"\b(?!\s*=[^=])|[\"']" + word + rb"[\"']|[(,]\s*\*{0,2}" + word + rb"\s*[:=,)]"
    return re.search(pattern + rb"|^\s+" + word + rb"\s*(?::[^=\n]+)?(?:=[^\n]*)?,\s*$", data, re.M) is not None


def _declaration(declared: Declared, why: str) -> Spot:
    field = declared.field
    return Spot(declared.path, field.line, field.end_line, f"{declared.owner}.{field.name}", "declares", 0.8, (why,))


# switched off


def _switched_off(ground: Ground, given: _Given, chosen: dict[str, Declared]) -> Iterator[tuple[str, Spot]]:
    """Fields that say more of what a switch turns on, where the switch is off."""
    for name, switch in given.model.fields.items():
        if given.value(name) or not _is_switch(ground.checker.field_type(switch)) or not _is_off(switch):
            continue
        for form in SWITCH:
            declared = chosen.get(form.format(name))
            if declared is not None and given.value(declared.field.name) and _is_tested(ground, given.model, name):
                yield declared.field.name, _declaration(declared, f"it counts only with {name}, which is off")


def _is_switch(kind: Type) -> bool:
    match kind:
        case Limited(inner, _):
            return _is_switch(inner)
        case Either(options, _):
            return {Scalar("bool")} == {o for o in options if o != Scalar("none")}
    return kind == Scalar("bool")


def _is_off(switch: Declared) -> bool:
    return switch.field.default in {"False", "None"}


def _is_tested(ground: Ground, model: Model, name: str) -> bool:
    """Whether code near the class asks for the switch."""
    asked = re.compile(rb"\b(?:if|and|not|while)\s+(?:not\s+)?[\w.]+\." + re.escape(name.encode()) + rb"\b")
    speaking = (path for path in ground.index.search.holding(model.name) if not ASIDE.search(path))
    return any(asked.search(ground.index.tree.read(path) or b"") for path in speaking)


# overridden


def _overridden(
    ground: Ground, functions: Functions, given: _Given, chosen: dict[str, Declared]
) -> Iterator[tuple[str, Spot]]:
    """Fields that code takes only where another one, which is given too, is not."""
    if len(chosen) < 2:
        return
    for taker in taking(ground, functions, given.model, set(chosen), 2):
        yield from _Choices(taker, given, chosen).of(taker.node)


def _cut(ground: Ground, functions: Functions, given: _Given) -> Iterator[tuple[str, Spot]]:
    """Fields whose value is cut to a bound, or dropped for its type."""
    values = {name: given.value(name) for name in given.model.fields if given.value(name) is not None}
    for taker in taking(ground, functions, given.model, set(values), 1) if values else ():
        yield from Cuts(ground.index, taker, values).found()


@dataclass
class _Choices:
    """The choices between fields that one function makes."""

    taker: Taker
    given: _Given
    chosen: dict[str, Declared]

    def of(self, node: ast.AST) -> Iterator[tuple[str, Spot]]:
        aliases: dict[str, str] = {}
        for part in ast.walk(node):
            match part:
                case ast.Assign(targets=[ast.Name(id=target)], value=ast.Attribute() as value) if self._field(value):
                    aliases[target] = self._field(value)
        for part in ast.walk(node):
            match part:
                case ast.If():
                    yield from self._chain(part, aliases)
                case ast.Assign(targets=[goal], value=ast.BoolOp(op=ast.Or(), values=[first, *rest])):
                    yield from self._first_of(goal, first, rest, part.lineno)
                case ast.Assign(targets=[goal], value=ast.IfExp(test=test, body=body, orelse=orelse)):
                    if self._field(body) and self._given_by(test) == self._field(body):
                        yield from self._first_of(goal, body, [orelse], part.lineno)

    def _field(self, node: ast.expr | None) -> str:
        """The field that an attribute of the request reads; empty for another expression."""
        match node:
            case ast.Attribute(value=ast.Name(id=holder), attr=name) if holder in self.taker.holders:
                return name if name in self.given.model.fields else ""
        return ""

    def _given_by(self, test: ast.expr) -> str:
        """The field whose presence a test asks for."""
        match test:
            case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
                return self._field(left)
        return self._field(test)

    def _holds(self, name: str) -> bool:
        return bool(name) and name in self.chosen and self.given.value(name) not in (None, "", [], {}, False)

    def _first_of(
        self, target: ast.expr, first: ast.expr, rest: list[ast.expr], line: int
    ) -> Iterator[tuple[str, Spot]]:
        winner, losers = self._field(first), [self._field(other) for other in rest]
        name = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
        if not self._holds(winner) or not all(losers) or name.startswith(QUESTION_NAMES):
            return
        for loser in losers:
            if self._holds(loser) and loser != winner:
                yield loser, self._spot(winner, line)

    def _chain(self, node: ast.If, aliases: dict[str, str]) -> Iterator[tuple[str, Spot]]:
        """`if x.a is not None: v = x.a … else: v = f(x.b)`: where both are given, b is not looked at."""
        winner = self._given_by(node.test)
        if not self._holds(winner) or not node.orelse:
            return
        made = {name for name, read in _made(node.body) if winner in self._read(read, aliases)}
        for name, read in _made(node.orelse):
            others = self._read(read, aliases) - {winner}
            for loser in others if name in made else ():
                if self._holds(loser) and winner not in self._read(read, aliases):
                    yield loser, self._spot(winner, node.lineno)

    def _read(self, node: ast.expr, aliases: dict[str, str]) -> set[str]:
        """The fields that an expression reads, also by the name of a variable that holds one."""
        found = {self._field(part) for part in ast.walk(node) if isinstance(part, ast.Attribute)}
        found |= {aliases.get(part.id, "") for part in ast.walk(node) if isinstance(part, ast.Name)}
        return found - {""}

    def _spot(self, winner: str, line: int) -> Spot:
        taker = self.taker
        return Spot(
            taker.path, line, line, taker.symbol, "checks", 0.85, (f"{winner} is given too, and is taken first",)
        )


def _made(body: list[ast.stmt]) -> list[tuple[str, ast.expr]]:
    """What a block assigns to names, at any depth of its branches."""
    found: list[tuple[str, ast.expr]] = []
    for statement in body:
        for part in ast.walk(statement):
            if isinstance(part, ast.Assign):
                names = [n for target in part.targets for n in getattr(target, "elts", [target])]
                found += [(n.id, part.value) for n in names if isinstance(n, ast.Name)]
    return found
