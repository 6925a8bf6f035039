"""Which values of a request are read into which classes of the tree, as the declared types say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.schema import escape
from llmdebug.index.python.models import Model
from llmdebug.index.python.types import Either, Limited, ListOf, MapOf, Object, TupleOf, Type

MAX_DEPTH = 12
MAX_ITEMS = 64


@dataclass(frozen=True, slots=True)
class Placed:
    """An object of the request and the class that takes it."""

    model: Model
    value: dict[str, Any]
    pointer: str


def placed(ground: Ground, kind: Type, value: Any, pointer: str = "", depth: int = 0) -> Iterator[Placed]:
    """The objects in a value that surely are read into a class, outermost first."""
    if depth > MAX_DEPTH:
        return
    match kind:
        case Limited(inner, _):
            yield from placed(ground, inner, value, pointer, depth)
        case Either(options, _):
            fitting = [option for option in options if not ground.checker.check(option, value)]
            if len(fitting) == 1:
                yield from placed(ground, fitting[0], value, pointer, depth + 1)
        case ListOf(item) if isinstance(value, list):
            for place, element in enumerate(value[:MAX_ITEMS]):
                yield from placed(ground, item, element, f"{pointer}/{place}", depth + 1)
        case TupleOf(items) if isinstance(value, list):
            for place, (item, element) in enumerate(zip(items, value, strict=False)):
                yield from placed(ground, item, element, f"{pointer}/{place}", depth + 1)
        case MapOf(_, inner) if isinstance(value, dict):
            for key, element in list(value.items())[:MAX_ITEMS]:
                yield from placed(ground, inner, element, f"{pointer}/{escape(key)}", depth + 1)
        case Object(model) if isinstance(value, dict):
            yield Placed(model, value, pointer)
            for key, element in value.items():
                declared = model.by_key(key)
                if declared is not None:
                    at = f"{pointer}/{escape(key)}"
                    yield from placed(ground, ground.checker.field_type(declared), element, at, depth + 1)
