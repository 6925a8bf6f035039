"""Validation errors that were printed as text: by pydantic, by FastAPI, as Python literals.

Knows the forms in which these libraries print, never what a particular server says.
"""

from __future__ import annotations

import ast
import re
from itertools import islice
from typing import Any

import msgspec

from llmdebug.jsontext.pointer import index_of

MAX_ENTRIES = 400
MAX_TEXT = 400_000
MAX_LITERAL = 20_000
MAX_LOCATION = 2_000
MAX_GUESSES = 40

Loc = tuple[str | int, ...]


class Entry(msgspec.Struct, frozen=True):
    """One validation error."""

    message: str
    loc: Loc = ()
    type: str = ""
    """pydantic's name for the kind of error, as `missing`; empty where none is given."""
    input: Any = None
    """The rejected value where it could be read back."""
    context: tuple[tuple[str, str], ...] = ()
    title: str = ""
    """What was validated, where the text names it."""
    given: str = ""
    """The JSON type of what was refused, where the location leaves out places in lists: `array`, `number`."""
    at: tuple[int, int] = (0, 0)
    """Line and column of the body, 1-based, where the text gives them."""
    word: str = ""
    """The name that no variant of an enum has."""
    speaker: str = ""
    """The language whose library says so; empty for Python."""


_HEADER = re.compile(r"(?<!\d)(\d{1,6}) validation errors? for ([^\n]+)\n")
_TAIL = re.compile(r"\[type=([\w.]+)(?:, input_value=(.*?))?(?:, input_type=([\w.]+))?\]\s*$", re.S)
_OLD_TAIL = re.compile(r" \(type=([\w.]+)(?:; [^\n]*)?\)\s*$")
_OLD_NAMES = {
    "value_error.missing": "missing",
    "value_error.extra": "extra_forbidden",
    "value_error.const": "literal_error",
    "value_error.jsondecode": "json_invalid",
    "value_error.number.not_ge": "greater_than_equal",
    "value_error.number.not_gt": "greater_than",
    "value_error.number.not_le": "less_than_equal",
    "value_error.number.not_lt": "less_than",
    "value_error.number.not_multiple": "multiple_of",
    "value_error.any_str.min_length": "string_too_short",
    "value_error.any_str.max_length": "string_too_long",
    "value_error.list.min_items": "too_short",
    "value_error.list.max_items": "too_long",
    "value_error.str.regex": "string_pattern_mismatch",
    "type_error.enum": "enum",
    "type_error.integer": "int_type",
    "type_error.str": "string_type",
    "type_error.none.not_allowed": "none_type",
}
"""What the first pydantic called its errors, where the second has another name."""
_LITERAL_START = re.compile(r"\{(?=['\"](?:type|loc|msg)['\"]: )")
_STRING = r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
_PIECES = {
    "type": re.compile(r"['\"]type['\"]: " + _STRING),
    "loc": re.compile(
        r"['\"]loc['\"]: (\([^()]{0,2000}(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]{0,2000}(?:\[[^\]]*\][^\[\]]*)*\]|"
        + _STRING
        + ")"
    ),
    "msg": re.compile(r"['\"]msg['\"]: " + _STRING),
}


def entries_in(text: str) -> list[Entry]:
    """The validation errors printed in a text, in order, each once; empty where there are none."""
    text = text[:MAX_TEXT]
    found = _pydantic(text) or _literals(text)
    seen: dict[tuple[Loc, str, str], Entry] = {}
    for entry in found:
        seen.setdefault((entry.loc, entry.type, entry.message), entry)
    return list(seen.values())[:MAX_ENTRIES]


def _pydantic(text: str) -> list[Entry]:
    """`1 validation error for X`, then a line with the location and an indented one with the message."""
    found: list[Entry] = []
    headers = list(_HEADER.finditer(text))
    ends = [header.start() for header in headers[1:]]
    for header, end in zip(headers, [*ends, len(text)], strict=False):
        title = header[2].strip()
        where = ""
        for line in text[header.end() : end].split("\n"):
            if line.startswith("    For further information"):
                continue
            tail = _TAIL.match(line, max(line.rfind("[type="), 0))
            old = _OLD_TAIL.match(line, max(line.rfind(" (type="), 0))
            if tail and line.startswith("  "):
                message = line[: tail.start()].strip()
                found.append(
                    Entry(message, loc_of(where), tail[1], literal_of(tail[2]), title=title),
                )
                where = ""
            elif old and line.startswith("  "):
                found.append(Entry(line[: old.start()].strip(), _old_loc(where), error_name(old[1]), title=title))
                where = ""
            elif line and not line.startswith(" "):
                where = line.strip()
    return found


def _old_loc(where: str) -> Loc:
    """A location whose steps are parted by arrows; a step that pydantic itself put there is left out."""
    steps = [step for step in where.split(" -> ") if step != "__root__"]
    return tuple(step if (index := index_of(step)) is None else index for step in steps)


def error_name(kind: str) -> str:
    """What pydantic calls this error today."""
    if kind in _OLD_NAMES:
        return _OLD_NAMES[kind]
    family, dot, name = kind.partition(".")
    if not dot or family not in {"value_error", "type_error"}:
        return kind
    return f"{name}_type" if family == "type_error" and name.isidentifier() else family


def _literals(text: str) -> list[Entry]:
    """Dicts with `type`, `loc` and `msg` printed by Python."""
    found = []
    starts = [m.start() for m in _LITERAL_START.finditer(text)][:MAX_ENTRIES]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=False):
        entry = _literal(text[start : min(end, start + MAX_LITERAL)])
        if entry:
            found.append(entry)
    return found


def _literal(text: str) -> Entry | None:
    pieces: dict[str, Any] = {}
    for name, pattern in _PIECES.items():
        match = pattern.search(text)
        if match:
            pieces[name] = literal_of(match[1])
    if not isinstance(pieces.get("msg"), str):
        return None
    given = re.search(r"['\"]input['\"]: (.*)", text, re.S)
    return Entry(
        pieces["msg"],
        loc_of(pieces.get("loc", ())),
        error_name(str(pieces.get("type") or "")),
        _leadingliteral_of(given[1] if given else ""),
    )


def loc_of(value: object) -> Loc:
    """A location as a tuple, whether it came as a list, a tuple or a dotted text."""
    if isinstance(value, str):
        return tuple(step for piece in _dotted(value[:MAX_LOCATION]) for step in _steps(piece))
    if isinstance(value, list | tuple):
        return tuple(part if isinstance(part, int) and not isinstance(part, bool) else str(part) for part in value)
    return ()


def _dotted(text: str) -> list[str]:
    """Split at dots that stand outside of brackets."""
    parts, depth, current = [], 0, ""
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "." and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    return [part for part in [*parts, current] if part]


def _steps(piece: str) -> list[str | int]:
    """A name, an index, or a name with indexes in brackets."""
    indexed = re.fullmatch(r"([^\[\]]*)((?:\[\d+\])+)", piece)
    if indexed:
        return [*([indexed[1]] if indexed[1] else []), *(int(n) for n in re.findall(r"\d+", indexed[2]))]
    return [int(piece) if piece.isdecimal() else piece]


def literal_of(source: str | None) -> Any:
    """The value that a Python literal printed; None where it is none, or too long."""
    if not source or len(source) > 50_000:
        return None
    try:
        return ast.literal_eval(source)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _leadingliteral_of(source: str) -> Any:
    """The literal at the start of a text that goes on behind it."""
    for match in islice(re.finditer(r"(?=, '|\}|$)", source[:5_000]), MAX_GUESSES):
        value = literal_of(source[: match.start()])
        if value is not None:
            return value
    return None
