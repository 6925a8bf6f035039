"""Functions of Python's standard library on known values: what they give, or the error with which they refuse.

Patterns are never run, as they may run for ever; only the type of the text is held against them.
"""

from __future__ import annotations

import base64
import copy
import json
import os.path
import re
from collections.abc import Callable
from typing import Any

from llmdebug.index.python.values import Doubt, Doubtful

MAX_TEXT = 100_000
MAX_DEPTH = 50


def _json(*given: Any) -> Any:
    text = _text(given)
    if isinstance(text, str) and text.count("[") + text.count("{") > MAX_DEPTH:
        raise Doubt
    return json.loads(text)


def _base64(*given: Any) -> Any:
    base64.b64decode(_text(given))
    raise Doubt


def _text(given: tuple[Any, ...], place: int = 0) -> Any:
    """An argument that is known, and not too long to be read."""
    if len(given) <= place or isinstance(given[place], Doubtful):
        raise Doubt
    found = given[place]
    if isinstance(found, str | bytes | list | dict) and len(found) > MAX_TEXT:
        raise Doubt
    return found


def _scan(place: int) -> Callable[..., Any]:
    """A function of `re` that is given its text at `place`."""

    def scan(*given: Any) -> Any:
        text = _text(given, place)
        if not isinstance(text, str | bytes):
            re.search("", text)
        raise Doubt

    return scan


def _join(*given: Any) -> Any:
    if not given:
        raise Doubt
    for place, part in enumerate(given):
        if not isinstance(part, Doubtful | str | bytes):
            os.path.join(*([""] if place else []), part)
    return os.path.join(*(_text(given, place) for place in range(len(given))))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "base64.b64decode": _base64,
    "copy.copy": lambda *given: copy.copy(_text(given)),
    "copy.deepcopy": lambda *given: copy.deepcopy(_text(given)),
    "json.loads": _json,
    "os.path.basename": lambda *given: os.path.basename(_text(given)),
    "os.path.join": _join,
    "re.findall": _scan(1),
    "re.finditer": _scan(1),
    "re.fullmatch": _scan(1),
    "re.match": _scan(1),
    "re.search": _scan(1),
    "re.split": _scan(1),
    "re.sub": _scan(2),
}
