"""The values that are admitted: listed by a type, or told by a text."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from llmdebug.index.python.types import Either, Limited, OneOf, Type

QUOTED = re.compile(r"'([^'\n]{1,60})'|\"([^\"\n]{1,60})\"|`([^`\n]{1,60})`")
ANNOUNCED = re.compile(
    r"(?:should be|must be|one of|expected (?:one of|tags?|values?)|allowed|(?<!not )(?<!un)supported"
    r"|(?<!in)valid (?:values?|options?)|available|choose)\b",
    re.I,
)
LISTED = re.compile(r"(\[[^\[\]]{1,400}\]|\{[^{}:]{1,400}\}|\([^()]{1,400}\))")


def literals(kind: Type) -> list[Any]:
    """The values that a type lists."""
    match kind:
        case OneOf(values):
            return [value for value in values if isinstance(value, str | int | float | bool)]
        case Limited(inner, _):
            return literals(inner)
        case Either(options, _):
            return [value for option in options for value in literals(option)]
    return []


def quoted(text: str) -> list[Any]:
    """Alternatives that a text gives: a printed list, else what stands in quotes after the words that announce it."""
    text = re.split(r"\b(?:got|received)\b", text[:4_000], maxsplit=1, flags=re.I)[0]
    for match in LISTED.finditer(text):
        values = _printed(match[1])
        if len(values) > 1 and all(isinstance(value, str) for value in values):
            return values
    announced = ANNOUNCED.search(text)
    if announced is None:
        return []
    start = announced.end()
    end = re.search(r"\b(?:got|but|received|not)\b", text[start:])
    part = text[start : start + end.start()] if end else text[start:]
    return [next(group for group in match.groups() if group) for match in QUOTED.finditer(part)][:20]


def _printed(source: str) -> list[Any]:
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(source)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        if isinstance(value, list | tuple | set):
            return sorted(value, key=str) if isinstance(value, set) else list(value)
    bare = [part.strip().strip("`'\"") for part in source[1:-1].split(",")]
    return (
        bare if len(bare) > 1 and all(re.fullmatch(r"[\w.\-]+", part) and not part.isdigit() for part in bare) else []
    )


def shown(value: Any) -> str:
    """A value in a title: short."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
