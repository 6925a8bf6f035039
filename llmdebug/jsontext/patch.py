"""JSON Patch (RFC 6902): what changed between two values, and how to make the change."""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from typing import Any

from llmdebug.jsontext import pointer as pointers

Operation = dict[str, Any]

_ALIGNED_ELEMENTS = 300
"""Arrays that differ in more elements are compared place by place: aligning takes quadratic time."""
_MAX_DEPTH = 200
"""Deeper differences are replaced whole."""


class PatchError(ValueError):
    """A patch cannot be applied; the message is a sentence for the user."""


def diff(old: Any, new: Any) -> list[Operation]:
    """A small patch from `old` to `new`; empty where they are the same, 1 and 1.0 and true told apart.

    A renamed key gives a `move`. Where replacing a value whole is shorter than its changes, it is replaced.
    """
    return _diff(old, new, "", 0)


def apply(patch: list[Operation] | tuple[Operation, ...], document: Any) -> Any:
    """A changed copy. Raises PatchError, also for a `test` that fails."""
    for number, operation in enumerate(patch, start=1):
        try:
            document = _applied(operation, document)
        except (pointers.PointerError, KeyError, TypeError, AttributeError) as error:
            told = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise PatchError(f"Operation {number} of the patch cannot be applied: {told}") from error
    return document


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal and of equal types; key order does not count."""
    waiting = [(one, other)]
    while waiting:
        left, right = waiting.pop()
        if type(left) is not type(right):
            return False
        if isinstance(left, dict):
            if left.keys() != right.keys():
                return False
            waiting.extend((left[key], right[key]) for key in left)
        elif isinstance(left, list):
            if len(left) != len(right):
                return False
            waiting.extend(zip(left, right, strict=True))
        elif left != right and not (left != left and right != right):
            return False
    return True


def _applied(operation: Operation, document: Any) -> Any:
    name, path = operation["op"], operation["path"]
    if name == "test":
        if not same(pointers.get(document, path), operation["value"]):
            raise pointers.PointerError(f"the value at {path!r} is another one.")
        return document
    if name == "remove":
        pointers.get(document, path)
        return pointers.remove(document, path)
    if name == "replace":
        pointers.get(document, path)
        return pointers.set(document, path, operation["value"])
    if name == "add":
        return pointers.insert(document, path, operation["value"])
    if name not in ("move", "copy"):
        raise pointers.PointerError(f"{name!r} is no operation of JSON Patch.")
    source = operation["from"]
    value = pointers.get(document, source)
    if name == "move":
        if path.startswith(source + "/"):
            raise pointers.PointerError(f"{source!r} cannot be moved into itself.")
        document = pointers.remove(document, source)
    return pointers.insert(document, path, value)


def _diff(old: Any, new: Any, path: str, depth: int) -> list[Operation]:
    if same(old, new):
        return []
    whole: list[Operation] = [{"op": "replace", "path": path, "value": new}]
    if depth >= _MAX_DEPTH:
        return whole
    if isinstance(old, dict) and isinstance(new, dict):
        changes = _object_diff(old, new, path, depth)
    elif isinstance(old, list) and isinstance(new, list):
        changes = _array_diff(old, new, path, depth)
    else:
        return whole
    return changes if _cost(changes) <= _cost(whole) else whole


def _cost(changes: list[Operation]) -> int:
    """Length as text, for `move` without the pointers' share: a rename tells more than two values."""
    return sum(8 if change["op"] == "move" else len(json.dumps(change)) - 20 for change in changes)


def _object_diff(old: dict[str, Any], new: dict[str, Any], path: str, depth: int) -> list[Operation]:
    removed = [key for key in old if key not in new]
    added = [key for key in new if key not in old]
    changes: list[Operation] = []
    for key in list(added):
        source = next((gone for gone in removed if same(old[gone], new[key])), None)
        if source is not None:
            changes.append({"op": "move", "from": _below(path, source), "path": _below(path, key)})
            removed.remove(source)
            added.remove(key)
    changes += [{"op": "remove", "path": _below(path, key)} for key in removed]
    for key in old:
        if key in new:
            changes += _diff(old[key], new[key], _below(path, key), depth + 1)
    changes += [{"op": "add", "path": _below(path, key), "value": new[key]} for key in added]
    return changes


def _array_diff(old: list[Any], new: list[Any], path: str, depth: int) -> list[Operation]:
    """Operations on places from the end to the beginning, so that none shifts the place of a later one."""
    changes: list[Operation] = []
    for start, end, new_start, new_end in reversed(_blocks(old, new)):
        paired = min(end - start, new_end - new_start)
        too_many = range(end - 1, start + paired - 1, -1)
        changes += [{"op": "remove", "path": _below(path, place)} for place in too_many]
        changes += [
            {"op": "add", "path": _below(path, start + offset), "value": new[new_start + offset]}
            for offset in range(paired, new_end - new_start)
        ]
        for offset in range(paired):
            place = start + offset
            changes += _diff(old[place], new[new_start + offset], _below(path, place), depth + 1)
    return changes


def _blocks(old: list[Any], new: list[Any]) -> list[tuple[int, int, int, int]]:
    """Ranges of `old` and the ranges of `new` that take their places, in order."""
    shortest = min(len(old), len(new))
    start = 0
    while start < shortest and same(old[start], new[start]):
        start += 1
    tail = 0
    while tail < shortest - start and same(old[-1 - tail], new[-1 - tail]):
        tail += 1
    end, new_end = len(old) - tail, len(new) - tail
    if max(end, new_end) - start > _ALIGNED_ELEMENTS:
        return [(start, end, start, new_end)]
    texts = [json.dumps(value, sort_keys=True) for value in old[start:end]]
    new_texts = [json.dumps(value, sort_keys=True) for value in new[start:new_end]]
    matcher = SequenceMatcher(None, texts, new_texts, autojunk=False)
    return [
        (start + i1, start + i2, start + j1, start + j2)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _below(path: str, key: str | int) -> str:
    return path + pointers.join(key)
