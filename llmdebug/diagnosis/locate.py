"""Locations of validation errors: from a `loc` to a pointer into the body, and to the declaration in the tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from llmdebug.diagnosis.complaint import Complaint
from llmdebug.diagnosis.schema import Checker, escape
from llmdebug.diagnosis.verdict import Place
from llmdebug.index.python.models import Declared, Model
from llmdebug.index.python.types import Either, Limited, ListOf, MapOf, Object, TupleOf, Type
from llmdebug.jsontext.pointer import index_of

PLACES: dict[str, Place] = {"body": "body", "query": "query", "path": "path", "header": "header", "cookie": "header"}
MAX_NODES = 20_000
MAX_LISTED = 2_000
JSON_TYPES: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "object": dict,
    "string": str,
    "number": (int, float),
    "bool": bool,
}
ABSENT = frozenset({"missing", "missing_argument", "union_tag_not_found"})

_MARKER = re.compile(
    r"[\[({<]|^(?:str|int|float|bool|none|bytes|list|dict|any|nullable|constrained-\w+)$|^[A-Z]\w*[a-z]\w*$"
)


@dataclass(frozen=True, slots=True)
class Located:
    """A complaint and where it points."""

    complaint: Complaint
    pointer: str
    place: Place = "body"
    markers: tuple[str, ...] = ()
    """Steps of the location that name a branch of a union rather than a key."""
    marker_depths: tuple[int, ...] = ()
    """For each marker, how many steps of the pointer come before it."""
    of_union: bool = False
    """Whether all branches of a union complain of this tag, so that no branch can be told."""


def located(complaint: Complaint, body: Any) -> Located:
    """Where a complaint points in the body."""
    steps = list(complaint.loc)
    place: Place = "body"
    if steps and steps[0] in PLACES and not _is_own_key(steps, body):
        place = PLACES[str(steps.pop(0))]
    if place != "body":
        return Located(complaint, "".join(f"/{escape(step)}" for step in steps), place)
    if complaint.given:
        return Located(complaint, _through_lists(body, [str(step) for step in steps], complaint.given) or "")
    markers: list[str] = []
    depths: list[int] = []
    base = _base(complaint, steps, body)
    current = value_at(body, base)
    pointer = base
    for position, step in enumerate(steps):
        last = position == len(steps) - 1
        if isinstance(current, list) and isinstance(step, int):
            pointer += f"/{step}"
            current = current[step] if 0 <= step < len(current) else None
        elif isinstance(current, dict) and isinstance(step, str) and step in current:
            pointer += f"/{escape(step)}"
            current = current[step]
        elif isinstance(step, str) and last and complaint.type in ABSENT and isinstance(current, dict | type(None)):
            pointer += f"/{escape(step)}"
        elif isinstance(step, str) and (not _is_key(step, current, last)):
            markers.append(step)
            depths.append(pointer.count("/"))
        elif isinstance(step, str) and isinstance(current, dict | type(None)):
            pointer += f"/{escape(step)}"
            current = None
    return Located(complaint, pointer, place, tuple(markers), tuple(depths))


def _through_lists(value: Any, steps: list[str], given: str) -> str | None:
    """Where keys lead that pass over places in lists: to the first value of a JSON type."""
    if isinstance(value, list) and steps:
        found = ((place, _through_lists(item, steps, given)) for place, item in enumerate(value[:MAX_LISTED]))
        return next((f"/{place}{rest}" for place, rest in found if rest is not None), None)
    if not steps:
        return "" if isinstance(value, JSON_TYPES.get(given, object)) else None
    key = next((k for k in value if k.lower() == steps[0].lower()), None) if isinstance(value, dict) else None
    rest = _through_lists(value[key], steps[1:], given) if key is not None and isinstance(value, dict) else None
    return f"/{escape(key)}{rest}" if key is not None and rest is not None else None


def _is_own_key(steps: list[str | int], body: Any) -> bool:
    """Whether a location's first step, though it names a place, is a key of the body: what follows is not beside it."""
    return isinstance(body, dict) and steps[0] in body and len(steps) > 1 and steps[1] not in body


def _is_key(step: str, current: Any, last: bool) -> bool:
    if _MARKER.search(step):
        return False
    return last or not isinstance(current, dict)


def _base(complaint: Complaint, steps: list[str | int], body: Any) -> str:
    """Where a location starts that is not relative to the body: found by the rejected value."""
    if not steps or not isinstance(body, dict):
        return ""
    first = steps[0]
    if isinstance(first, str) and (first in body or not isinstance(complaint.input, dict)):
        return ""
    wanted = complaint.input
    if wanted is None or isinstance(wanted, bool | int | float) or wanted in ("", [], {}):
        return _base_by_shape(steps, body)
    named = [s for s in steps if isinstance(s, int) or not _MARKER.search(str(s))]
    tail = named[:-1] if complaint.type in ABSENT else named
    for pointer, value in walk(body):
        if value == wanted:
            suffix = "".join(f"/{escape(step)}" for step in tail)
            if pointer.endswith(suffix):
                return pointer[: len(pointer) - len(suffix)]
    return "" if isinstance(first, str) else _base_by_shape(steps, body)


def _base_by_shape(steps: list[str | int], body: Any) -> str:
    """The first list of the body that has an element at a leading index."""
    if not isinstance(steps[0], int) or not isinstance(body, dict):
        return ""
    for pointer, value in walk(body):
        if isinstance(value, list) and 0 <= steps[0] < len(value) and isinstance(value[steps[0]], dict):
            return pointer
    return ""


def walk(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Each value of a JSON value with its pointer, breadth first, bounded."""
    pending = [(pointer, value)]
    for place, node in pending:
        if len(pending) > MAX_NODES:
            break
        if isinstance(node, dict):
            pending.extend((f"{place}/{escape(k)}", v) for k, v in node.items())
        elif isinstance(node, list):
            pending.extend((f"{place}/{i}", v) for i, v in enumerate(node[:1_000]))
    yield from pending


def value_at(body: Any, pointer: str) -> Any:
    """The value at a pointer; None where there is none."""
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(body, dict) and key in body:
            body = body[key]
        elif isinstance(body, list) and (index := index_of(key)) is not None and index < len(body):
            body = body[index]
        else:
            return None
    return body


def has_pointer(body: Any, pointer: str) -> bool:
    """Whether the body has a value, null included, at a pointer."""
    if not pointer:
        return True
    parent, _, last = pointer.rpartition("/")
    holder = value_at(body, parent)
    key = last.replace("~1", "/").replace("~0", "~")
    if isinstance(holder, dict):
        return key in holder
    index = index_of(key)
    return isinstance(holder, list) and index is not None and index < len(holder)


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declared field on the way to a pointer, with the class that it was found in."""

    declared: Declared
    model: Model
    depth: int
    """How many steps of the pointer lead to it."""


def declarations(
    checker: Checker, kind: Type, pointer: str, body: Any, markers: tuple[str, ...] = ()
) -> list[Declaration]:
    """The declared fields along a pointer, outermost first; ends where the tree's types end."""
    steps = [s.replace("~1", "/").replace("~0", "~") for s in pointer.split("/")[1:]]
    return _descend(checker, kind, steps, body, markers, 0)


def _descend(
    checker: Checker, kind: Type, steps: list[str], value: Any, markers: tuple[str, ...], depth: int
) -> list[Declaration]:
    if depth > 40:
        return []
    match kind:
        case Limited(inner, _):
            return _descend(checker, inner, steps, value, markers, depth)
        case Either(options, _):
            return _branch(checker, options, steps, value, markers, depth)
        case ListOf(item) if steps and index_of(steps[0]) is not None:
            return _descend(checker, item, steps[1:], _child(value, steps[0]), markers, depth + 1)
        case TupleOf(items) if steps and (index := index_of(steps[0])) is not None and index < len(items):
            return _descend(checker, items[index], steps[1:], _child(value, steps[0]), markers, depth + 1)
        case MapOf(_, inner) if steps:
            return _descend(checker, inner, steps[1:], _child(value, steps[0]), markers, depth + 1)
        case Object(model) if steps:
            declared = model.by_key(steps[0])
            if declared is None:
                return []
            here = Declaration(declared, model, depth + 1)
            inner = checker.field_type(declared)
            return [here, *_descend(checker, inner, steps[1:], _child(value, steps[0]), markers, depth + 1)]
    return []


def _child(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    index = index_of(step)
    if isinstance(value, list) and index is not None and index < len(value):
        return value[index]
    return None


def _branch(
    checker: Checker, options: tuple[Type, ...], steps: list[str], value: Any, markers: tuple[str, ...], depth: int
) -> list[Declaration]:
    """The branch that a marker names, else the one that the value is nearest to, else the one that leads on."""
    if not steps:
        return []

    def preference(option: Type) -> tuple[int, int, int]:
        named = isinstance(option, Object) and any(
            re.search(rf"\b{re.escape(option.model.name)}\b", marker) for marker in markers
        )
        found = checker.check(option, value)
        tags = sum(p.type in {"literal_error", "enum"} and p.pointer.count("/") == 1 for p in found)
        return (0 if named else 1, tags, len(found))

    best: list[Declaration] = []
    for option in sorted(options, key=preference):
        chain = _descend(checker, option, steps, value, markers, depth)
        if chain and chain[-1].depth > (best[-1].depth if best else -1):
            best = chain
            if chain[-1].depth - depth >= _named_steps(steps):
                break
    return best


def _named_steps(steps: list[str]) -> int:
    """Steps up to the last that is a key."""
    return max((i + 1 for i, step in enumerate(steps) if index_of(step) is None), default=0)
