"""The same value in the shape that is wanted: told from the value and the declared type alone."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from llmdebug.diagnosis.remedies.names import words
from llmdebug.diagnosis.remedies.repair import repaired
from llmdebug.diagnosis.schema import Checker
from llmdebug.index.python.models import Model
from llmdebug.index.python.types import (
    ANYTHING,
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
)

MAX_TEXT = 200_000
MAX_ITEMS = 5_000
MAX_DEPTH = 5

WANTED_BY_TYPE: tuple[tuple[str, Type], ...] = (
    (r"^int_|^integer", Scalar("int")),
    (r"^float_|^decimal_", Scalar("float")),
    (r"^bool_", Scalar("bool")),
    (r"^string_(?:type|sub_type)", Scalar("str")),
    (r"^(?:list|set|tuple|frozen_set)_type|^iterable", ListOf(ANYTHING)),
    (r"^(?:dict|model|dataclass|mapping)_", MapOf(Scalar("str"), ANYTHING)),
)
"""By the validation library's name for the error."""
WANTED_BY_WORD: dict[str, Type] = {
    **dict.fromkeys(("str", "string", "text"), Scalar("str")),
    **dict.fromkeys(("int", "integer", "i32", "u32", "i64", "u64", "usize"), Scalar("int")),
    **dict.fromkeys(("float", "number", "f32", "f64", "double", "float32", "float64"), Scalar("float")),
    **dict.fromkeys(("bool", "boolean"), Scalar("bool")),
    **dict.fromkeys(("list", "array", "sequence"), ListOf(ANYTHING)),
    **dict.fromkeys(("dict", "dictionary", "object", "map", "mapping", "struct"), MapOf(Scalar("str"), ANYTHING)),
}
_PRESCRIBED = re.compile(
    r"(?:expected|must be|should be|has to be|needs? to be|of type|to be)\s+"
    r"(?:either\s+)?(?:an?\s+)?(?:valid\s+)?[`'\"]?([a-z]+\d*)",
    re.I,
)


def wanted_by(error_type: str, text: str) -> Type:
    """The type that an error speaks of; anything where it names none."""
    for pattern, kind in WANTED_BY_TYPE:
        if re.search(pattern, error_type):
            return kind
    for match in _PRESCRIBED.finditer(text[:4_000]):
        kind = WANTED_BY_WORD.get(match[1].lower(), ANYTHING)
        if kind != ANYTHING:
            return kind
    return ANYTHING


class Shapes:
    """Finds the shapes of a value that a type admits, nearest first. Without a tree nothing is checked."""

    def __init__(self, checker: Checker | None) -> None:
        self.checker = checker

    def of(self, value: Any, kind: Type) -> list[Any]:
        """Values of the type that say the same, each once."""
        found: list[Any] = []
        for made in self._made(value, kind, 0):
            if made == value and type(made) is type(value):
                continue
            if self._admits_but_for_more(kind, made) and not any(
                made == other and type(made) is type(other) for other in found
            ):
                found.append(made)
        found.sort(key=lambda made: (not self._admits(kind, made), _is_list_for_one(made, value)))
        return found[:6]

    def _admits_but_for_more(self, kind: Type, value: Any) -> bool:
        """Whether a value is admitted once what is missing beside it is there."""
        return self.checker is None or all(p.type == "missing" for p in self.checker.check(kind, value))

    def _admits(self, kind: Type, value: Any) -> bool:
        return self.checker is None or not self.checker.check(kind, value)

    def _made(self, value: Any, kind: Type, depth: int) -> Iterator[Any]:
        if depth > MAX_DEPTH:
            return
        match kind:
            case Limited(inner, _):
                yield from self._made(value, inner, depth)
            case Either(options, _):
                for option in options:
                    yield from self._made(value, option, depth + 1)
            case Scalar(name):
                yield from scalars(value, name)
            case OneOf(values):
                yield from _named_alike(value, values)
            case ListOf(item) | TupleOf((item, *_)):
                yield from self._lists(value, item, depth)
            case MapOf() | Object():
                yield from self._objects(value, kind, depth)

    def _lists(self, value: Any, item: Type, depth: int) -> Iterator[Any]:
        if isinstance(value, str) and value.lstrip().startswith("["):
            parsed = _parsed(value)
            if isinstance(parsed, list):
                yield parsed
        if isinstance(value, list):
            yield from self._converted(value, item, depth)
            if len(value) == 1 and isinstance(value[0], list):
                yield value[0]
            return
        if value is None:
            return
        yield [value]
        for made in self._made(value, item, depth + 1):
            yield [made]
            break
        if isinstance(value, dict):
            for inner in list(value.values())[:20]:
                if isinstance(inner, list):
                    yield inner

    def _converted(self, value: list[Any], item: Type, depth: int) -> Iterator[Any]:
        """Each element in the wanted shape; then without those that have none."""
        made: list[Any] = []
        kept: list[Any] = []
        for element in value[:MAX_ITEMS]:
            if self._admits(item, element) and item != ANYTHING:
                made.append(element)
                kept.append(element)
                continue
            shaped = next((m for m in self._made(element, item, depth + 1) if self._admits(item, m)), None)
            if shaped is not None:
                made.append(shaped)
        if len(made) == len(value):
            yield made
        if 0 < len(kept) < len(value):
            yield kept

    def _objects(self, value: Any, kind: Type, depth: int) -> Iterator[Any]:
        if isinstance(value, str) and value.lstrip().startswith("{"):
            parsed = _parsed(value)
            if isinstance(parsed, dict):
                yield parsed
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            yield value[0]
        if isinstance(kind, Object):
            yield from self._wrapped(value, kind.model)
        if isinstance(value, dict) and isinstance(kind, MapOf):
            made = {}
            for key, element in list(value.items())[:MAX_ITEMS]:
                shaped = [element] if self._admits(kind.value, element) else []
                shaped += self._made(element, kind.value, depth + 1)
                if shaped:
                    made[key] = shaped[0]
            if made:
                yield made

    def _wrapped(self, value: Any, model: Model) -> Iterator[Any]:
        """The value as a field of the object: of a required one, else of the first that admits it."""
        if isinstance(value, dict) or value is None or self.checker is None:
            return
        if isinstance(value, str) and {"role", "content"} <= model.fields.keys():
            yield {"role": "user", "content": value}
        if isinstance(value, str) and value:
            for field in list(model.fields.values())[:40]:
                if words(value) and set(words(value)) <= set(words(field.field.name)):
                    yield {field.names[0]: True}
        fields = sorted(model.fields.values(), key=lambda field: not field.required)
        for field in fields[:40]:
            admitted = self.checker.field_type(field)
            if not isinstance(admitted, Anything) and self._admits(admitted, value):
                yield {field.names[0]: value}


def _is_list_for_one(made: Any, value: Any) -> bool:
    return isinstance(made, list) and not isinstance(value, list | dict)


def scalars(value: Any, name: str) -> Iterator[Any]:
    """A value as str, int, float or bool."""
    if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], list | dict):
        yield value[0]
        yield from scalars(value[0], name)
    if name == "str":
        yield from _texts(value)
    elif name in {"int", "float"}:
        yield from _numbers(value, name)
    elif name == "bool":
        if isinstance(value, str) and value.strip().lower() in {"true", "yes", "1", "on", "false", "no", "0", "off"}:
            yield value.strip().lower() in {"true", "yes", "1", "on"}
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield bool(value)


def _numbers(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, bool):
        if value:
            yield 1
        return
    if isinstance(value, str) and len(value) <= 40:
        text = value.strip().replace("_", "")
        try:
            number = float(text)
        except ValueError:
            return
    elif isinstance(value, int | float):
        number = value
    else:
        return
    if not math.isfinite(number):
        return
    yield round(number) if name == "int" else number


def _texts(value: Any) -> Iterator[Any]:
    """As text: the text in parts, messages and one-key objects; else how JSON writes it."""
    spoken = text_in(value)
    has_words = not isinstance(value, dict) or "content" in value or "text" in value
    if spoken and has_words:
        yield spoken
    if isinstance(value, bool | int | float | dict | list):
        try:
            yield json.dumps(value, ensure_ascii=False, allow_nan=False)
        except (ValueError, RecursionError):
            return
    if spoken and not has_words:
        yield spoken


def text_in(value: Any) -> str:
    """The words in a value: of message contents, of text parts, of an object that holds one text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(found for found in (text_in(item) for item in value[:MAX_ITEMS]) if found)
    if isinstance(value, dict):
        for key in ("content", "text"):
            if key in value:
                return text_in(value[key])
        texts = [item for item in value.values() if isinstance(item, str)]
        return texts[0] if len(value) == 1 and texts else ""
    return ""


def _named_alike(value: Any, values: tuple[object, ...]) -> Iterator[Any]:
    if isinstance(value, str):
        for known in values:
            if isinstance(known, str) and known.lower() == value.strip().lower():
                yield known
    for known in values:
        if isinstance(known, bool) and isinstance(value, str | int) and str(known).lower() == str(value).lower():
            yield known
    if isinstance(value, dict):
        for inner in list(value.values())[:5]:
            yield from (known for known in values if known == inner)
    if isinstance(value, list) and len(value) == 1:
        yield from (known for known in values if known == value[0])


def _parsed(text: str) -> Any:
    if len(text) > MAX_TEXT:
        return None
    return repaired(text)
