"""The smallest value of a declared type that says something."""

from __future__ import annotations

import math
from typing import Any

from llmdebug.diagnosis.remedies.names import words
from llmdebug.diagnosis.schema import Checker
from llmdebug.index.python.constants import literal
from llmdebug.index.python.models import Declared, Model
from llmdebug.index.python.types import Anything, Either, Limited, ListOf, MapOf, Object, OneOf, Scalar, TupleOf, Type

MAX_DEPTH = 8
MAX_LENGTH = 64
GREETING = "Hello"
MESSAGE = {"role": "user", "content": GREETING}
KEY = "first"
"""Of the only entry of a map that must not be empty."""
LEAST = frozenset({"min_length", "min_items"})
NOT_GIVEN = object()


class Examples:
    """Makes examples with the types of one tree."""

    def __init__(self, checker: Checker, holder: Any = None, models: tuple[str, ...] = ()) -> None:
        self.checker = checker
        self.models = models
        self.holder = holder if isinstance(holder, dict) else {}
        """The object that the value goes into: a tag is chosen to fit its keys."""

    def of(self, kind: Type, name: str = "", depth: int = 0) -> Any:
        """An example for the field `name`."""
        if depth > MAX_DEPTH:
            return None
        match kind:
            case Scalar(scalar):
                return self._scalar(scalar, name)
            case OneOf(values):
                return self._one_of(values, name)
            case ListOf(Anything() | MapOf()) if "message" in words(name):
                return [dict(MESSAGE)]
            case ListOf(item):
                return [self.of(item, name, depth + 1)]
            case TupleOf(items):
                return [self.of(item, name, depth + 1) for item in items]
            case MapOf():
                return {}
            case Limited(MapOf(_, inner), bounds) if any(name in LEAST and bound for name, bound in bounds):
                return {KEY: self.of(inner, name, depth + 1)}
            case Limited(inner, bounds):
                return bounded(self.of(inner, name, depth), bounds)
            case Either(options, _):
                return self.of(min(options, key=self._preference), name, depth + 1) if options else None
            case Object(model):
                return self._object(model, depth)
        return self._unknown(name)

    def _preference(self, kind: Type) -> int:
        """Plain values before made-up ones; of messages the user's."""
        if isinstance(kind, Object) and (role := kind.model.by_key("role")) is not None:
            admitted = self.checker.field_type(role)
            return 4 if isinstance(admitted, OneOf) and "user" in admitted.values else 5
        return _rank(kind)

    def _scalar(self, scalar: str, name: str) -> Any:
        if scalar == "str":
            return self._text(name)
        return {"int": 1, "float": 1.0, "bool": True, "none": None}.get(scalar, GREETING)

    def _text(self, name: str) -> str:
        last = (words(name) or [""])[-1]
        if last == "role":
            return "user"
        if last == "model":
            return self.models[0] if self.models else "default"
        if last == "type":
            return next((key for key in self.holder if isinstance(key, str) and key != name), "text")
        return f"{name.split('_')[0]}-1" if last == "id" else GREETING

    def _one_of(self, values: tuple[object, ...], name: str) -> Any:
        plain = [value for value in values if isinstance(value, str | int | float | bool)]
        fitting = [value for value in plain if isinstance(value, str) and value in self.holder]
        if fitting:
            return fitting[0]
        return "user" if "user" in plain else plain[0] if plain else None

    def _object(self, model: Model, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for field in model.fields.values():
            if self.checker.is_required(model, field):
                made[field.names[0]] = self.of(self.checker.field_type(field), field.names[0], depth + 1)
        if "role" in model.fields and "content" in model.fields and "content" not in made:
            made["content"] = GREETING
        return made

    def _unknown(self, name: str) -> Any:
        spoken = words(name)
        if "message" in spoken:
            return [dict(MESSAGE)]
        if spoken[-1:] == ["id"] and name.endswith("s"):
            return [1]
        return self._text(name)


def _rank(kind: Type) -> int:
    match kind:
        case Limited(inner, _):
            return _rank(inner)
        case OneOf():
            return 0
        case Scalar("str"):
            return 1
        case Scalar("none"):
            return 9
        case Scalar():
            return 2
        case ListOf(Scalar("str")):
            return 3
        case ListOf() | TupleOf():
            return 4
        case Object():
            return 5
        case MapOf():
            return 6
    return 7


def bounded(value: Any, bounds: tuple[tuple[str, object], ...]) -> Any:
    """The value moved to the nearest one inside declared bounds."""
    for name, bound in bounds:
        value = _inside(value, name, bound)
    return value


def _inside(value: Any, name: str, bound: object) -> Any:
    if isinstance(value, bool) or not isinstance(bound, int | float):
        return value
    if isinstance(value, int | float):
        return _number_inside(value, name, bound)
    if isinstance(value, str | list) and isinstance(bound, int) and 0 <= bound <= 1_000_000:
        if name in {"max_length", "max_items"} and len(value) > bound:
            return value[:bound]
        if name in LEAST and len(value) < bound <= MAX_LENGTH:
            filler = value or ("x" if isinstance(value, str) else [GREETING])
            return (filler * bound)[:bound]
    return value


def _number_inside(value: float, name: str, bound: float) -> float:
    whole = isinstance(value, int)
    if isinstance(value, float) and not math.isfinite(value):
        return bound
    step = 1 if whole else 0.01
    if name == "ge" and value < bound:
        return math.ceil(bound) if whole else bound
    if name == "gt" and value <= bound:
        return math.floor(bound) + 1 if whole else bound + step
    if name == "le" and value > bound:
        return math.floor(bound) if whole else bound
    if name == "lt" and value >= bound:
        return math.ceil(bound) - 1 if whole else bound - step
    if name == "multiple_of" and bound and value % bound:
        return value - value % bound
    return value


def default_of(declared: Declared) -> Any:
    """The declared default where it is a plain value; NOT_GIVEN where there is none, or it must be worked out."""
    if declared.field.default is None:
        return NOT_GIVEN
    try:
        value = literal(declared.field.default)
    except LookupError:
        return NOT_GIVEN
    plain = isinstance(value, str | int | float | bool | list | dict) or value is None
    return value if plain else NOT_GIVEN


def is_flag(kind: Type) -> bool:
    """Whether a type is a yes or no."""
    match kind:
        case Scalar(name):
            return name == "bool"
        case Limited(inner, _):
            return is_flag(inner)
        case Either(options, _):
            return all(is_flag(option) or option == Scalar("none") for option in options)
    return False
