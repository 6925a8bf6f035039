"""Holding an answer against the signs of a family, and reading from it what a family's places name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from llmdebug.families.family import Family, Place, Sign
from llmdebug.http.exchange import Response, header
from llmdebug.jsontext.pointer import parse

MAX_TEXT = 20_000
"""Characters of a text that patterns look at."""
MAX_VALUES = 2_000
TELLING = 0.5
"""How sure the look of a refusal must be to name a family by it."""


class Answer:
    """An answer, its JSON read once."""

    def __init__(self, response: Response) -> None:
        self.response = response
        try:
            self.json: Any = msgspec.json.decode(response.body)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            self.json = None

    @property
    def text(self) -> str:
        return self.response.body[: 4 * MAX_TEXT].decode("utf-8", "replace")[:MAX_TEXT]


def certainty(family: Family, answers: dict[str, Answer]) -> float:
    """How surely these answers, by the path that was asked, are a server's of the family; 0 where nothing says so."""
    signs = ((sign, answers.get(sign.get)) for sign in family.recognise)
    return max((sign.certainty for sign, answer in signs if answer is not None and holds(sign, answer)), default=0.0)


def refusal_of(families: Iterable[Family], response: Response) -> Family | None:
    """The family whose refusals look most like this answer; None where many servers' look so."""
    answer = Answer(response)
    signs = ((sign, family) for family in families for sign in family.errors)
    found = [(sign.certainty, family) for sign, family in signs if sign.certainty >= TELLING and holds(sign, answer)]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def holds(sign: Sign, answer: Answer) -> bool:
    """Whether an answer bears a sign."""
    response = answer.response
    if sign.status and response.status not in sign.status:
        return False
    if not all(_found(pattern, header(response.headers, name)) for name, pattern in sign.headers.items()):
        return False
    if not all(_any(pattern, values_at(answer.json, pointer)) for pointer, pattern in sign.json.items()):
        return False
    return not sign.body or _found(sign.body, answer.text)


def texts_at(place: Place, answers: dict[str, Answer]) -> list[str]:
    """The texts that a place names, cut to what its pattern wants; empty where there is none."""
    answer = answers.get(place.get)
    if answer is None or answer.response.status != 200:
        return []
    told = header(answer.response.headers, place.header) if place.header else None
    values = [told] if place.header else [_text(value) for value in values_at(answer.json, place.json)]
    found = (_cut(place.pattern, text) for text in values if text)
    return [text for text in found if text]


def values_at(document: Any, pointer: str) -> list[Any]:
    """The values that a pointer leads to; `*` is each member of an array or object."""
    values = [document]
    for key in parse(pointer):
        values = [child for value in values for child in _children(value, key)][:MAX_VALUES]
    return values


def _children(value: Any, key: str) -> Iterator[Any]:
    if isinstance(value, dict):
        if key in value:
            yield value[key]
        elif key == "*":
            yield from value.values()
    elif isinstance(value, list):
        if key == "*":
            yield from value
        elif key.isdecimal() and len(key) < 10 and int(key) < len(value):
            yield value[int(key)]


def _any(pattern: str, values: Iterable[Any]) -> bool:
    return any(_found(pattern, _text(value)) for value in values)


def _text(value: Any) -> str:
    """A value as patterns see it: a string as it is, an object as its beginning."""
    return value if isinstance(value, str) else msgspec.json.encode(value)[:MAX_TEXT].decode("utf-8", "replace")


def _found(pattern: str, text: str | None) -> bool:
    return text is not None and _compiled(pattern).search(text[:MAX_TEXT]) is not None


def _cut(pattern: str, text: str) -> str:
    match = _compiled(pattern).search(text[:MAX_TEXT]) if pattern else None
    if not pattern:
        return text[:MAX_TEXT]
    return "" if match is None else (match[1] or "") if match.re.groups else match[0]


@lru_cache(maxsize=500)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
