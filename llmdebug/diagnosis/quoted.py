"""Values that a text quotes, and the places of a body that hold them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from llmdebug.diagnosis.locate import walk

IN_QUOTES = re.compile(r"[\"'`]([^\"'`]{1,200})[\"'`]")


def quoted_values(values: Sequence[str]) -> list[str]:
    """What a text quotes, lists taken apart."""
    found: list[str] = []
    for value in values:
        inner = value.strip()
        if inner.startswith(("[", "(", "{")) and len(inner) < 2_000:
            found += [part.strip("'\"` ") for part in inner.strip("[](){}").split(",")]
        else:
            found.append(inner.strip("'\"` "))
            found += [match[1] for match in IN_QUOTES.finditer(inner[:2_000])]
    return [value for value in dict.fromkeys(found) if value]


def by_value(values: Sequence[str], body: Any) -> str | None:
    """The only place of the body that holds one of these values."""
    for wanted in values:
        if len(wanted) < 2 and not wanted.isdigit():
            continue
        places = [p for p, v in walk(body) if p and prints_as(v, wanted)]
        if len(places) == 1:
            return places[0]
    return None


def by_part(values: Sequence[str], body: Any) -> str | None:
    """The only text of the body that has one of these values as a part."""
    for wanted in values:
        if len(wanted) < 5:
            continue
        places = [p for p, v in walk(body) if p and isinstance(v, str) and wanted in v]
        if len(places) == 1:
            return places[0]
    return None


def prints_as(value: Any, text: str) -> bool:
    """Whether a JSON value printed into a message gives this text."""
    if isinstance(value, str):
        return value == text
    if isinstance(value, bool | list | dict) or value is None:
        return False
    try:
        return str(value) == text or float(value) == float(text)
    except (ValueError, OverflowError):
        return False
