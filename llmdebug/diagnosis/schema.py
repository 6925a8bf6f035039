"""A JSON value held against a declared type, as pydantic's lax mode holds it (msgspec's strict one for structs).

Where the tree does not tell a type everything is admitted: a problem found here is a claim.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from llmdebug.diagnosis.scalars import bound_problem, scalar_problem
from llmdebug.index.python.early import EARLY, NOTHING, Change, early_change
from llmdebug.index.python.models import ROOTS, Declared, Model
from llmdebug.index.python.types import (
    Anything,
    Either,
    Limited,
    ListOf,
    MapOf,
    Object,
    OneOf,
    Scalar,
    TupleOf,
    Type,
    Types,
)
from llmdebug.index.python.values import Doubtful

MAX_DEPTH = 60
MAX_ITEMS = 2_000
NOT_AN_OBJECT = {"dataclass": "dataclass_type", "typeddict": "dict_type"}
TAG_NAMES = ("type", "role", "object", "kind", "mode")


class Problem(msgspec.Struct, frozen=True):
    """A value, or a missing one, that a declaration does not admit."""

    pointer: str
    type: str
    """pydantic's name for the kind of error."""
    expected: Any = None
    """The type, literals or bound that was not met."""
    declared: Any = None
    """The `Declared` field it belongs to, the innermost; None for the body itself."""
    certain: bool = True
    """False where a validator of the tree sees the value first and may change it."""


def escape(key: str | int) -> str:
    """A key as a step of a JSON Pointer."""
    return str(key).replace("~", "~0").replace("/", "~1")


@dataclass(frozen=True, slots=True)
class At:
    """Where a check stands, and in which mood."""

    pointer: str
    declared: Declared | None = None
    """The innermost field around."""
    strict: bool = False
    """Whether nothing is converted."""
    numbers_to_str: bool = False
    extra: str = ""
    """Policy for unknown keys that classes without one of their own take over."""
    depth: int = 0
    settled: bool = False
    """Whether the validators that see the raw value first have run already."""

    def below(self, step: str | int) -> At:
        return replace(self, pointer=f"{self.pointer}/{escape(step)}", depth=self.depth + 1, settled=False)

    def problem(self, kind: str, expected: Any, certain: bool = True) -> Problem:
        return Problem(self.pointer, kind, expected, self.declared, certain)


class Checker:
    """Holds values against types of one tree."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self._changes: dict[tuple[str, str], Change] = {}

    def early(self, model: Model) -> Change:
        """What the model's own validators may change in a value before its fields are checked."""
        key = (model.path, model.name)
        if key not in self._changes:
            self._changes[key] = NOTHING if not has_early(model) else early_change(self.types.index, model)
        return self._changes[key]

    def check(
        self,
        kind: Type,
        value: Any,
        pointer: str = "",
        declared: Declared | None = None,
        *,
        settled: bool = False,
        strict: bool = False,
    ) -> list[Problem]:
        """The problems of a value, of the nearest branch where unions are; empty where it is admitted.

        `settled`: the validators of the outermost class that see the raw value first have run on it already;
        `strict`: nothing is converted.
        """
        return self._check(kind, value, At(pointer, declared, strict=strict, settled=settled))

    def _check(self, kind: Type, value: Any, at: At) -> list[Problem]:
        if at.depth > MAX_DEPTH or isinstance(value, Doubtful):
            return []
        match kind:
            case Scalar(name):
                if name == "str" and at.numbers_to_str and isinstance(value, int | float):
                    return []
                problem = scalar_problem(name, value, at.strict or kind.strict)
                return [at.problem(problem, name)] if problem else []
            case OneOf(values, enum):
                if any(value == v and (not at.strict or type(value) is type(v)) for v in values):
                    return []
                return [at.problem("enum" if enum else "literal_error", values)]
            case ListOf():
                return self._list(kind, value, at)
            case TupleOf():
                return self._tuple(kind, value, at)
            case MapOf():
                return self._map(kind, value, at)
            case Limited(inner, bounds):
                problems = _bound_problems(bounds, value, at)
                if isinstance(value, list) and any(p.type == "too_long" for p in problems):
                    return problems
                return self._check(inner, value, at) or problems
            case Either():
                return self._either(kind, value, at)
            case Object(model):
                return self._object(model, value, at)
        return []

    def _list(self, kind: ListOf, value: Any, at: At) -> list[Problem]:
        if not isinstance(value, list):
            return [at.problem(f"{kind.name}_type", "list")]
        found: list[Problem] = []
        for place, element in enumerate(value[:MAX_ITEMS]):
            found += self._check(kind.item, element, at.below(place))
        return found

    def _tuple(self, kind: TupleOf, value: Any, at: At) -> list[Problem]:
        if not isinstance(value, list):
            return [at.problem("tuple_type", "list")]
        if len(value) > len(kind.items):
            return [at.problem("too_long", len(kind.items))]
        found: list[Problem] = []
        for place, item in enumerate(kind.items):
            if place < len(value):
                found += self._check(item, value[place], at.below(place))
            else:
                found.append(at.below(place).problem("missing", len(kind.items)))
        return found

    def _map(self, kind: MapOf, value: Any, at: At) -> list[Problem]:
        if not isinstance(value, dict):
            return [at.problem("dict_type", "object")]
        found: list[Problem] = []
        for key, item in list(value.items())[:MAX_ITEMS]:
            inside = at.below(key)
            found += self._check(kind.key, key, inside)
            found += self._check(kind.value, item, inside)
        return found

    def _object(self, model: Model, value: Any, at: At) -> list[Problem]:
        if model.kind == "plain" and not model.fields:
            return []
        change = NOTHING if at.settled else self.early(model)
        if not isinstance(value, dict):
            certain = not change.whole
            return [at.problem(NOT_AN_OBJECT.get(model.kind, "model_attributes_type"), model.name, certain)]
        found: list[Problem] = []
        inside = _inside(model, at)
        for field in model.fields.values():
            key = next((name for name in field.names if name in value), None)
            certain = not change.whole and not change.keys & {field.field.name, *field.names}
            below = replace(inside.below(key or field.names[0]), declared=field)
            if key is None:
                if self.is_required(model, field):
                    found.append(below.problem("missing", model.name, certain))
                continue
            inner = self._check(self.field_type(field), value[key], below)
            found += inner if certain else [msgspec.structs.replace(problem, certain=False) for problem in inner]
        if inside.extra == "forbid" and not unknown_bases(model):
            unknown = [key for key in value if model.by_key(key) is None]
            found += [at.below(key).problem("extra_forbidden", model.name, not change.whole) for key in unknown]
        return found

    def field_type(self, declared: Declared) -> Type:
        """The type of a declared field with its bounds."""
        field = declared.field
        return self.types.field(declared.path, field.annotation, field.constraints)

    def is_required(self, model: Model, declared: Declared) -> bool:
        if not declared.required:
            return False
        if model.kind == "typeddict":
            annotation = declared.field.annotation
            if "NotRequired[" in annotation:
                return False
            owner = next((c for _, c in model.lineage if c.name == declared.owner), None)
            total = dict(owner.keywords).get("total", "True") if owner else "True"
            return total != "False" or "Required[" in annotation
        return True

    def _either(self, kind: Either, value: Any, at: At) -> list[Problem]:
        if any(isinstance(option, Anything) for option in kind.options):
            return []
        branches: list[list[Problem]] = []
        inside = replace(at, depth=at.depth + 1)
        for option in kind.options:
            found = self._check(option, value, inside)
            if not found:
                return []
            if option != Scalar("none"):
                branches.append(found)
        tagged = self._tag_problem(kind, value, at)
        if tagged is not None:
            return tagged
        return min(branches, key=lambda found: _distance(found, at.pointer))

    def _tag_problem(self, kind: Either, value: Any, at: At) -> list[Problem] | None:
        """Where no branch admits the value of the field that tells branches apart, that field is the problem."""
        objects = [o for o in kind.options if isinstance(o, Object)]
        if not isinstance(value, dict) or len(objects) < 2:
            return None
        for name in [kind.tag] if kind.tag else TAG_NAMES:
            admitted: list[object] = []
            for option in objects:
                field = option.model.by_key(name)
                inner = self.field_type(field) if field else None
                if not isinstance(inner, OneOf):
                    break
                admitted += inner.values
            else:
                if name not in value:
                    return [at.below(name).problem("missing", tuple(admitted))]
                if value[name] not in admitted:
                    return [at.below(name).problem("literal_error", tuple(admitted))]
        return None


def _inside(model: Model, at: At) -> At:
    """The mood inside an object: its own settings, or for classes that can have none those around."""
    if model.kind in {"typeddict", "dataclass"} and not model.settings and not model.extra:
        return at
    return replace(
        at,
        strict=model.kind == "msgspec" or model.settings.get("strict") == "True",
        numbers_to_str=model.settings.get("coerce_numbers_to_str") == "True",
        extra=model.extra,
    )


def _distance(problems: list[Problem], pointer: str) -> tuple[int, int, int, int]:
    """How far a value is from a branch: wrong tag, wrong JSON type, number of problems, how early."""
    tags = sum(p.type in {"literal_error", "enum"} and p.pointer.count("/") == pointer.count("/") + 1 for p in problems)
    at_root = any(p.pointer == pointer and p.type.endswith("_type") for p in problems)
    first = min(_first_index(p.pointer[len(pointer) :]) for p in problems)
    return (tags, int(at_root), len(problems), -first)


def is_told(kind: Type, depth: int = 0) -> bool:
    """Whether the tree tells a type to its ends, nothing in it left open."""
    match kind:
        case Anything():
            return False
        case Limited(inner, _) | ListOf(inner):
            return is_told(inner, depth + 1)
        case MapOf(key, value):
            return is_told(key, depth + 1) and is_told(value, depth + 1)
        case Either(options, _) | TupleOf(options):
            return all(is_told(option, depth + 1) for option in options)
        case Object():
            return False
    return True


def has_early(model: Model) -> bool:
    """Whether any validator sees the raw input."""
    return any(validator.mode in EARLY for _, known in model.lineage for validator in known.validators)


def early_validators(model: Model) -> tuple[bool, frozenset[str]]:
    """Whether a validator sees the whole raw input first, and the fields that one sees first."""
    whole = False
    single: set[str] = set()
    for _, known in model.lineage:
        for validator in known.validators:
            if validator.mode in {"before", "wrap", "plain"}:
                single.update(validator.fields)
                whole = whole or not validator.fields
    return whole, frozenset(single)


def unknown_bases(model: Model) -> bool:
    """Whether the model inherits from classes outside the tree, whose fields can't be known."""
    return any(base not in ROOTS for base in model.foreign_bases)


def _first_index(rest: str) -> int:
    match = re.match(r"/(\d+)", rest)
    return int(match[1]) if match else 0


def _bound_problems(bounds: tuple[tuple[str, object], ...], value: Any, at: At) -> list[Problem]:
    """The first bound that a value breaks."""
    for name, bound in bounds:
        found = bound_problem(name, bound, value)
        if found:
            return [at.problem(found, bound)]
    return []
