"""A JSON value held against a declared type, as pydantic's lax mode holds it (msgspec's strict one for structs).

Where the tree does not tell a type everything is admitted: a problem found here is a claim.
"""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec

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

MAX_DEPTH = 60
MAX_ITEMS = 2_000
MAX_PATTERN = 200

TRUE_TEXTS = frozenset({"true", "t", "yes", "y", "on", "1"})
BOOL_TEXTS = TRUE_TEXTS | {"false", "f", "no", "n", "off", "0"}
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


class Checker:
    """Holds values against types of one tree."""

    def __init__(self, types: Types) -> None:
        self.types = types

    def check(self, kind: Type, value: Any, pointer: str = "", declared: Declared | None = None) -> list[Problem]:
        """The problems of a value, of the nearest branch where unions are; empty where it is admitted."""
        return self._check(kind, value, pointer, declared, False, 0)

    def _check(
        self, kind: Type, value: Any, pointer: str, declared: Declared | None, strict: bool, depth: int
    ) -> list[Problem]:
        if depth > MAX_DEPTH:
            return []
        match kind:
            case Scalar(name):
                return _one(scalar_problem(name, value, strict), pointer, name, declared)
            case OneOf(values, enum):
                if any(_same(value, v) for v in values):
                    return []
                return [Problem(pointer, "enum" if enum else "literal_error", values, declared)]
            case ListOf(item):
                return self._list(item, value, pointer, declared, strict, depth)
            case TupleOf(items):
                if not isinstance(value, list):
                    return [Problem(pointer, "tuple_type", "list", declared)]
                if len(value) != len(items):
                    return [
                        Problem(pointer, "too_short" if len(value) < len(items) else "too_long", len(items), declared)
                    ]
                pairs = zip(items, value, strict=True)
                return [
                    p
                    for i, (t, v) in enumerate(pairs)
                    for p in self._check(t, v, f"{pointer}/{i}", declared, strict, depth + 1)
                ]
            case MapOf(_, inner):
                if not isinstance(value, dict):
                    return [Problem(pointer, "dict_type", "object", declared)]
                return [
                    p
                    for k, v in list(value.items())[:MAX_ITEMS]
                    for p in self._check(inner, v, f"{pointer}/{escape(k)}", declared, strict, depth + 1)
                ]
            case Limited(inner, bounds):
                found = self._check(inner, value, pointer, declared, strict, depth)
                return found or _bound_problems(bounds, value, pointer, declared)
            case Either():
                return self._either(kind, value, pointer, declared, strict, depth)
            case Object(model):
                return self._object(model, value, pointer, declared, depth)
        return []

    def _list(
        self, item: Type, value: Any, pointer: str, declared: Declared | None, strict: bool, depth: int
    ) -> list[Problem]:
        if not isinstance(value, list):
            return [Problem(pointer, "list_type", "list", declared)]
        found: list[Problem] = []
        for place, element in enumerate(value[:MAX_ITEMS]):
            found += self._check(item, element, f"{pointer}/{place}", declared, strict, depth + 1)
        return found

    def _object(self, model: Model, value: Any, pointer: str, declared: Declared | None, depth: int) -> list[Problem]:
        if model.kind == "plain" and not model.fields:
            return []
        if not isinstance(value, dict):
            certain = not any(v.mode != "after" and not v.fields for _, c in model.lineage for v in c.validators)
            names = {"dataclass": "dataclass_type", "typeddict": "dict_type"}
            return [Problem(pointer, names.get(model.kind, "model_attributes_type"), model.name, declared, certain)]
        found: list[Problem] = []
        whole, single = early_validators(model)
        for field in model.fields.values():
            key = next((name for name in field.names if name in value), None)
            certain = not whole and field.field.name not in single
            at = f"{pointer}/{escape(key or field.names[0])}"
            if key is None:
                if self.is_required(model, field):
                    found.append(Problem(at, "missing", model.name, field, certain))
                continue
            kind = self.field_type(field)
            inner = self._check(kind, value[key], at, field, model.kind == "msgspec", depth + 1)
            found += inner if certain else [msgspec.structs.replace(problem, certain=False) for problem in inner]
        if model.refuses_unknown and not unknown_bases(model):
            found += [
                Problem(f"{pointer}/{escape(key)}", "extra_forbidden", model.name, declared, not whole)
                for key in value
                if model.by_key(key) is None
            ]
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

    def _either(
        self, kind: Either, value: Any, pointer: str, declared: Declared | None, strict: bool, depth: int
    ) -> list[Problem]:
        if any(isinstance(option, Anything) for option in kind.options):
            return []
        branches: list[tuple[Type, list[Problem]]] = []
        for option in kind.options:
            found = self._check(option, value, pointer, declared, strict, depth + 1)
            if not found:
                return []
            branches.append((option, found))
        tagged = self._tag_problem(kind, value, pointer, declared)
        if tagged is not None:
            return tagged
        return min(branches, key=lambda branch: self._distance(branch[0], branch[1], value, pointer))[1]

    def _tag_problem(self, kind: Either, value: Any, pointer: str, declared: Declared | None) -> list[Problem] | None:
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
                at = f"{pointer}/{escape(name)}"
                if name not in value:
                    return [Problem(at, "missing", tuple(admitted), declared)]
                if not any(_same(value[name], v) for v in admitted):
                    return [Problem(at, "literal_error", tuple(admitted), declared)]
        return None

    def _distance(self, option: Type, problems: list[Problem], value: Any, pointer: str) -> tuple[int, int, int, int]:
        """How far a value is from a branch: wrong tag, wrong JSON type, number of problems, how early."""
        tags = sum(
            p.type in {"literal_error", "enum"} and p.pointer.count("/") == pointer.count("/") + 1 for p in problems
        )
        at_root = any(p.pointer == pointer and p.type.endswith("_type") for p in problems)
        if at_root and isinstance(option, Scalar) and option.name == "none":
            at_root = True
            tags += 1
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


def _one(problem: str, pointer: str, expected: str, declared: Declared | None) -> list[Problem]:
    return [Problem(pointer, problem, expected, declared)] if problem else []


def scalar_problem(name: str, value: Any, strict: bool = False) -> str:
    """pydantic's name for why a value is no str, int, float, bool or none; empty where it is."""
    if name == "none":
        return "" if value is None else "none_required"
    if name == "str":
        return "" if isinstance(value, str) else "string_type"
    if name == "file":
        return ""
    if strict:
        kinds = {"int": int, "float": (int, float), "bool": bool}
        bad = isinstance(value, bool) != (name == "bool") or not isinstance(value, kinds[name])  # type: ignore[arg-type]
        return f"{name}_type" if bad else ""
    if name == "bool":
        return _bool_problem(value)
    if isinstance(value, str):
        return _number_text_problem(name, value)
    if not isinstance(value, int | float):
        return f"{name}_type"
    if name == "int" and isinstance(value, float):
        if not math.isfinite(value):
            return "finite_number"
        return "" if value.is_integer() else "int_from_float"
    return ""


def _bool_problem(value: Any) -> str:
    if isinstance(value, bool):
        return ""
    if isinstance(value, str):
        return "" if value.strip().lower() in BOOL_TEXTS else "bool_parsing"
    if isinstance(value, int | float):
        if value in (0, 1):
            return ""
        return "bool_parsing" if isinstance(value, int) or value.is_integer() else "bool_type"
    return "bool_type"


def _number_text_problem(name: str, value: str) -> str:
    text = value.strip()
    try:
        if name == "int":
            whole, _, fraction = text.partition(".")
            int(whole)
            if fraction.strip("0") or ("." in text and not fraction):
                return "int_parsing"
        else:
            float(text)
    except ValueError:
        return f"{name}_parsing"
    return ""


def _same(value: Any, admitted: object) -> bool:
    return value == admitted and isinstance(value, bool) == isinstance(admitted, bool)


def _first_index(rest: str) -> int:
    match = re.match(r"/(\d+)", rest)
    return int(match[1]) if match else 0


def _bound_problems(
    bounds: tuple[tuple[str, object], ...], value: Any, pointer: str, declared: Declared | None
) -> list[Problem]:
    for name, bound in bounds:
        found = bound_problem(name, bound, value)
        if found:
            return [Problem(pointer, found, bound, declared)]
    return []


def bound_problem(name: str, bound: object, value: Any) -> str:
    """pydantic's name for a bound that a value of the right type breaks; empty where it keeps it."""
    number = value
    if isinstance(value, str) and name in {"ge", "gt", "le", "lt", "multiple_of"}:
        try:
            number = float(value)
        except ValueError:
            return ""
    if isinstance(number, int | float) and isinstance(bound, int | float):
        broken = {
            "ge": ("greater_than_equal", not number >= bound),
            "gt": ("greater_than", not number > bound),
            "le": ("less_than_equal", not number <= bound),
            "lt": ("less_than", not number < bound),
        }.get(name)
        if broken:
            return broken[0] if broken[1] else ""
        if name == "multiple_of" and bound:
            return "multiple_of" if number % bound else ""
    if isinstance(value, str | list | dict) and isinstance(bound, int):
        text = isinstance(value, str)
        if name in {"min_length", "min_items"} and len(value) < bound:
            return "string_too_short" if text else "too_short"
        if name in {"max_length", "max_items"} and len(value) > bound:
            return "string_too_long" if text else "too_long"
    if name in {"pattern", "regex"} and isinstance(value, str) and isinstance(bound, str):
        return _pattern_problem(bound, value)
    return ""


def _pattern_problem(pattern: str, value: str) -> str:
    if len(pattern) > MAX_PATTERN or len(value) > 1_000 or re.search(r"[*+}]\)?[*+{]", pattern):
        return ""
    try:
        return "" if re.search(pattern, value) else "string_pattern_mismatch"
    except re.error:
        return ""
