"""Where things stand in a JSON text, found without reading values: a scan that skips what is not asked for.

Works on valid JSON; on anything else it ends without an answer, never in a loop. Positions are offsets in
characters. Nothing here recurses, and nothing holds more than the way down to where it stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import msgspec

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
_BLANK = re.compile(r"[ \t\r\n]*")
_STRING_TOKEN = re.compile(_STRING, re.DOTALL)
_SCALAR_TOKEN = re.compile(r'[^\s,:\[\]{}"]+')
_FLAT_ARRAY = r'\[[^\[\]{}"]*+\]'
_FLAT_ARRAY_TOKEN = re.compile(_FLAT_ARRAY)
_BRACKETS = re.compile(rf"{_STRING}|(?P<open>[\[{{])|(?P<close>[\]}}])", re.DOTALL)
_STRUCTURE = re.compile(rf"(?P<flat>{_FLAT_ARRAY})|(?P<key>{_STRING})\s*:|{_STRING}|(?P<mark>[\[\]{{}},])", re.DOTALL)


class Member(msgspec.Struct, frozen=True):
    """A value inside an array or object."""

    key: str
    """Its key, or its index as text."""
    key_start: int
    """Where its key begins; in an array, where the value does."""
    start: int
    end: int


def depth_exceeds(text: str, limit: int) -> int | None:
    """The offset of the first bracket that opens a deeper level than `limit`; None where none does."""
    if text.count("[") + text.count("{") <= limit:
        return None
    depth = 0
    for match in _BRACKETS.finditer(text):
        if match["open"]:
            depth += 1
            if depth > limit:
                return match.start()
        elif match["close"]:
            depth -= 1
    return None


def first_value(text: str) -> int:
    """Where the document's value begins."""
    return _after_blank(text, 0)


def value_end(text: str, start: int) -> int:
    """The offset behind the value that begins at `start`."""
    letter = text[start : start + 1]
    if letter == '"':
        return _matched_end(_STRING_TOKEN, text, start)
    if letter not in ("[", "{"):
        return _matched_end(_SCALAR_TOKEN, text, start)
    flat = _FLAT_ARRAY_TOKEN.match(text, start)
    if flat is not None:
        return flat.end()
    depth = 0
    for match in _BRACKETS.finditer(text, start):
        if match["open"]:
            depth += 1
        elif match["close"]:
            depth -= 1
            if depth == 0:
                return match.end()
    return len(text)


def members(text: str, start: int) -> Iterator[Member]:
    """The members of the array or object that begins at `start`, in order; none for another value."""
    is_object = text[start : start + 1] == "{"
    if not is_object and text[start : start + 1] != "[":
        return
    at = _after_blank(text, start + 1)
    index = 0
    while at < len(text) and text[at] not in "]}":
        key, key_start = str(index), at
        if is_object:
            key_end = _matched_end(_STRING_TOKEN, text, at)
            key = decoded_key(text[at:key_end])
            at = _after_blank(text, _after_blank(text, key_end) + 1)
        end = value_end(text, at)
        if end <= at:
            return
        yield Member(key, key_start, at, end)
        at = _after_blank(text, end)
        if text[at : at + 1] == ",":
            at = _after_blank(text, at + 1)
        index += 1


def decoded_key(token: str) -> str:
    """A key from its text, quotes included."""
    if "\\" not in token:
        return token[1:-1]
    try:
        return str(json.loads(token, strict=False))
    except ValueError:
        return token[1:-1]


def duplicate_keys(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Each key that its object had already, as the way to it and its offset."""
    stack: list[_Open] = []
    for match in _STRUCTURE.finditer(text):
        token = match["key"]
        if token is not None:
            if stack:
                key = decoded_key(token)
                stack[-1].step = key
                if key in stack[-1].keys:
                    yield tuple(str(level.step) for level in stack), match.start()
                stack[-1].keys.add(key)
            continue
        mark = match["mark"]
        if mark in ("[", "{"):
            stack.append(_Open())
        elif mark in ("]", "}") and stack:
            stack.pop()
        elif mark == "," and stack and isinstance(stack[-1].step, int):
            stack[-1].step += 1


class _Open:
    """An array or object that the scan is inside of."""

    __slots__ = ("keys", "step")

    def __init__(self) -> None:
        self.step: str | int = 0
        self.keys: set[str] = set()


def _after_blank(text: str, start: int) -> int:
    return _matched_end(_BLANK, text, start)


def _matched_end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return start if match is None else match.end()
