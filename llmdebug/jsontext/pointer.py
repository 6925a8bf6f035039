"""JSON Pointers (RFC 6901) into JSON values. Values given are never changed; changed copies share the rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_INDEX = re.compile(r"0|[1-9][0-9]*")


class PointerError(ValueError):
    """A pointer is none, or leads nowhere; the message is a sentence for the user."""


def escape(key: str) -> str:
    """An object's key as a pointer writes it."""
    return key.replace("~", "~0").replace("/", "~1")


def join(*parts: str | int) -> str:
    """The pointer that leads through these keys and indices."""
    return "".join("/" + escape(str(part)) for part in parts)


def parse(pointer: str) -> tuple[str, ...]:
    """The keys of a pointer, unescaped; array indices stay texts. Raises PointerError."""
    if not pointer:
        return ()
    if not pointer.startswith("/"):
        raise PointerError(f"{pointer!r} is no JSON Pointer: it must be empty or begin with '/'.")
    if re.search(r"~(?![01])", pointer):
        raise PointerError(f"{pointer!r} is no JSON Pointer: '~' is written '~0', '/' in a key '~1'.")
    return tuple(key.replace("~1", "/").replace("~0", "~") for key in pointer[1:].split("/"))


def index_of(key: str) -> int | None:
    """The array index that a step of a pointer writes; None where it is none (`-1`, `01`, `²`)."""
    return int(key) if len(key) < 16 and _INDEX.fullmatch(key) else None


def parent(pointer: str) -> str:
    """The pointer one level up; the whole document's is its own."""
    return pointer.rpartition("/")[0]


def get(document: Any, pointer: str) -> Any:
    """The value at a pointer. Raises PointerError where there is none."""
    value = document
    for key in parse(pointer):
        value = _child(value, key, pointer)
    return value


def has(document: Any, pointer: str) -> bool:
    """Whether a pointer leads to a value."""
    try:
        get(document, pointer)
    except PointerError:
        return False
    return True


def set(document: Any, pointer: str, value: Any) -> Any:
    """A copy in which the pointer leads to `value`.

    In an object the key is added or replaced; in an array the element is replaced, and `-` or the
    array's length appends. Everything above must be there already: else PointerError.
    """

    def put(holder: Any, key: str) -> None:
        if isinstance(holder, dict):
            holder[key] = value
            return
        index = _index(holder, key, pointer, end=True)
        holder[index : index + 1] = [value]

    return value if not pointer else _changed(document, pointer, put)


def insert(document: Any, pointer: str, value: Any) -> Any:
    """As set(), but an array's element is pushed back instead of replaced: the `add` of RFC 6902."""

    def put(holder: Any, key: str) -> None:
        if isinstance(holder, dict):
            holder[key] = value
            return
        holder.insert(_index(holder, key, pointer, end=True), value)

    return value if not pointer else _changed(document, pointer, put)


def remove(document: Any, pointer: str) -> Any:
    """A copy without the value at the pointer; removing the whole document gives None."""

    def drop(holder: Any, key: str) -> None:
        _child(holder, key, pointer)
        del holder[key if isinstance(holder, dict) else int(key)]

    return None if not pointer else _changed(document, pointer, drop)


def _changed(document: Any, pointer: str, change: Callable[[Any, str], None]) -> Any:
    """Copies the containers on the way, and lets `change` work on the last of them."""
    *way, last = parse(pointer)
    holders = [document]
    for key in way:
        holders.append(_child(holders[-1], key, pointer))
    copy = _copied(holders.pop(), pointer)
    change(copy, last)
    for key in reversed(way):
        holder = _copied(holders.pop(), pointer)
        holder[key if isinstance(holder, dict) else int(key)] = copy
        copy = holder
    return copy


def _copied(holder: Any, pointer: str) -> Any:
    if isinstance(holder, dict | list):
        return holder.copy()
    raise PointerError(f"{pointer} leads through a value that is neither object nor array.")


def _child(holder: Any, key: str, pointer: str) -> Any:
    if isinstance(holder, dict):
        if key not in holder:
            raise PointerError(f"{pointer} leads nowhere: there is no key {key!r}.")
        return holder[key]
    if isinstance(holder, list):
        return holder[_index(holder, key, pointer)]
    raise PointerError(f"{pointer} leads nowhere: {key!r} stands below a value that holds nothing.")


def _index(holder: list[Any], key: str, pointer: str, *, end: bool = False) -> int:
    """`end` admits the place after the last element."""
    if end and key == "-":
        return len(holder)
    if not _INDEX.fullmatch(key) or len(key) > 18:
        raise PointerError(f"{pointer} leads nowhere: {key!r} is no index of an array.")
    index = int(key)
    if index >= len(holder) + end:
        raise PointerError(f"{pointer} leads nowhere: the array has {len(holder)} elements.")
    return index
