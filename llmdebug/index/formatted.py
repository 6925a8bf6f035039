"""Messages that a format fills in: `%s` and its like, whatever the language."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llmdebug.index.facts import HOLE

LITERAL = frozenset({"%%", "{{", "}}"})
"""Places that stand for their own first character."""


def formatted(message: str, verb: re.Pattern[str], names: Sequence[str]) -> tuple[list[str | None], list[str]]:
    """The pieces of a message, HOLE where a value is filled in, and the names of those values; empty for no name.

    `%q` stands for a value in double quotes.
    """
    parts: list[str | None] = []
    holes: list[str] = []
    place = 0
    for match in verb.finditer(message):
        piece = message[place : match.start()]
        place = match.end()
        if match[0] in LITERAL:
            parts.append(piece + match[0][0])
            continue
        quoted = '"' if match[0].startswith("%") and match[0].endswith("q") else ""
        parts += [piece + quoted, HOLE, quoted]
        holes.append(names[len(holes)] if len(holes) < len(names) else "")
    return [part for part in [*parts, message[place:]] if part != ""], holes
