"""JSON text to a document: its value at once, its positions when asked for.

Bodies are large and hostile. Reading the value is the C parser's work; positions are found by a scan
that holds only the way to where it stands, so a document costs no more memory than its text and value.
Lines and columns count from 1, offsets from 0, all in characters.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import Any

import msgspec

from llmdebug.jsontext import pointer as pointers
from llmdebug.jsontext.scan import depth_exceeds, duplicate_keys, first_value, members, value_end

MAX_DEPTH = 500
MAX_DIGITS = 4300
"""Of one integer; more would take quadratic time to read."""

_LONG_NUMBER = re.compile(rf'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|(?P<number>-?\d{{{MAX_DIGITS + 1},}})', re.DOTALL)
_PYTHON_WORD = re.compile(r"(True|False|None)\b")


class JsonError(ValueError):
    """A text is no JSON, or goes beyond what is read: MAX_DEPTH, MAX_DIGITS."""

    def __init__(self, message: str, text: str, offset: int) -> None:
        self.message = message
        self.offset = offset
        self.line, self.column = line_and_column(text, offset)
        super().__init__(f"line {self.line}, column {self.column}: {message}")


class Span(msgspec.Struct, frozen=True):
    """Where a value stands: text[start:end]."""

    key_start: int
    """Where its key begins; without a key, where the value does."""
    start: int
    end: int


class Duplicate(msgspec.Struct, frozen=True):
    """A key that stands again in its object; the parser, like most servers, takes the last."""

    pointer: str
    line: int


class JsonDocument:
    """A parsed text. Positions are scanned for at each call: on large bodies keep them off the event loop."""

    def __init__(self, text: str, value: Any, *, non_finite: bool) -> None:
        self.text = text
        self.value = value
        self.non_finite = non_finite
        """Whether NaN or Infinity stands in it: JSON forbids them, Python reads and writes them."""

    @cached_property
    def duplicates(self) -> tuple[Duplicate, ...]:
        """Keys that stand more than once in one object: each repetition."""
        return tuple(
            Duplicate(pointers.join(*way), line_and_column(self.text, offset)[0])
            for way, offset in duplicate_keys(self.text)
        )

    def span(self, pointer: str) -> Span | None:
        """Where the value at a pointer stands; None where there is none. Raises PointerError for no pointer."""
        start = first_value(self.text)
        way = pointers.parse(pointer)
        if not way:
            return Span(start, start, value_end(self.text, start))
        found = None
        for key in way:
            found = None
            for member in members(self.text, start):
                if member.key == key:
                    found = member
            if found is None:
                return None
            start = found.start
        return None if found is None else Span(found.key_start, found.start, found.end)

    def position(self, pointer: str) -> tuple[int, int] | None:
        """Line and column of a value's key, or of the value where it has none."""
        span = self.span(pointer)
        return None if span is None else line_and_column(self.text, span.key_start)


def parse_json(source: str | bytes) -> JsonDocument:
    """Raises JsonError. NaN and Infinity are taken and flagged; a byte order mark is dropped."""
    text = _text(source)
    non_finite = False

    def constant(name: str) -> float:
        nonlocal non_finite
        non_finite = True
        return float(name)

    too_deep = depth_exceeds(text, MAX_DEPTH)
    if too_deep is not None:
        raise JsonError(f"Nested deeper than {MAX_DEPTH} levels.", text, too_deep)
    try:
        value = json.loads(text, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise JsonError(_explained(error, text), text, error.pos) from None
    except RecursionError:
        raise JsonError("Nested too deeply to be read.", text, 0) from None
    except ValueError:
        raise JsonError(f"A number has more than {MAX_DIGITS} digits.", text, _long_number(text)) from None
    return JsonDocument(text, value, non_finite=non_finite)


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Both from 1; lines end with a line feed."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _text(source: str | bytes) -> str:
    if isinstance(source, str):
        return source.removeprefix("\ufeff")
    try:
        return source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = source[: error.start].decode("utf-8-sig")
        raise JsonError(
            f"Byte {error.start} (0x{source[error.start]:02X}) is not UTF-8.", before, len(before)
        ) from None


def _long_number(text: str) -> int:
    found = (match.start() for match in _LONG_NUMBER.finditer(text) if match["number"])
    return next(found, 0)


def _explained(error: json.JSONDecodeError, text: str) -> str:
    """The parser's words, and what is most often behind them."""
    if not text.strip():
        return "There is nothing here, where JSON should be."
    at = text[error.pos : error.pos + 8]
    before = text[: error.pos].rstrip()[-1:]
    if at.startswith("'"):
        return "JSON writes strings in double quotes, not in single ones."
    if _PYTHON_WORD.match(at):
        return "This is Python; JSON writes true, false and null."
    if at.startswith(("//", "/*", "#")):
        return "JSON has no comments."
    if before == "," and at[:1] in ("]", "}"):
        return f"A comma before '{at[0]}', where another value should follow."
    if error.pos >= len(text.rstrip()):
        return f"The text ends too early ({error.msg})."
    return f"{error.msg}."
