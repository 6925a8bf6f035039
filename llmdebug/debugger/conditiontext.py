"""The text of a condition: its words and signs, and what is said of one that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
          |(?P<operator>==|!=|>=|<=|!~|=~|&&|\|\||[=<>~!(),])
          |(?P<number>\d[\w.]*)
          |(?P<pointer>/[^\s,()]*)
          |(?P<word>[A-Za-z_][\w.:-]*))""",
    re.VERBOSE,
)
_SHOWN = 60
"""Letters of a long condition that are shown in a message."""


class ConditionError(ValueError):
    """A condition cannot be read; its text names the position, from 1, and what was expected there."""

    def __init__(self, source: str, offset: int, expected: str) -> None:
        self.source = source
        self.offset = offset
        self.expected = expected
        super().__init__(f"column {offset + 1} of {_around(source, offset)!r}: {expected}")


class SlowExpressionError(Exception):
    """A regular expression ran out of time on one text: whether it matches is not known, so nothing is decided."""

    def __init__(self, expression: str, step: int | None = None) -> None:
        """`step` counts from 0."""
        self.expression = expression
        place = "" if step is None else f" at step {step + 1:,}"
        super().__init__(
            f"The expression {shortened(expression)!r} took too long{place}: write it without nested repeats."
        )


class Token(NamedTuple):
    """A word or a sign, and where it stands."""

    kind: str
    text: str
    offset: int


def tokens_of(source: str) -> Iterator[Token]:
    """Ends with a token of the kind `end`. Raises ConditionError."""
    at = 0
    end = len(source.rstrip())
    while at < end:
        match = _TOKEN.match(source, at)
        if match is None or match.lastgroup is None:
            at += len(source[at:]) - len(source[at:].lstrip())
            told = "the closing quote" if source[at] in "\"'" else "no such sign"
            raise ConditionError(source, at, f"expected {told}" if "quote" in told else f"{source[at]!r} means nothing")
        yield Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup))
        at = match.end()
    yield Token("end", "", end)


def unquoted(token: Token) -> str:
    """Only the quote and the backslash before it are written with a backslash: patterns keep theirs."""
    quote = token.text[0]
    return token.text[1:-1].replace("\\" + quote, quote)


def shortened(source: str) -> str:
    """A condition for a message."""
    return source if len(source) <= _SHOWN else source[: _SHOWN - 1] + "…"


def _around(source: str, offset: int) -> str:
    """What stands around a place; where it stands is told beside it."""
    first = max(min(offset - _SHOWN // 2, len(source) - _SHOWN), 0)
    shown = source[first : first + _SHOWN]
    return ("…" if first else "") + shown + ("…" if first + _SHOWN < len(source) else "")


def required_text(pattern: str) -> str | None:
    """The longest plain text that stands in whatever a regular expression matches; None where none is seen.

    Nothing is seen in what groups, choices and escapes make of a pattern.
    """
    if re.search(r"[\\|()]", pattern):
        return None
    pieces = re.split(r"\[\^?\]?[^\]]*\](?:[*+?]|\{[^}]*\})*|.[*?]\??|.\{[^}]*\}\??|[.^$+]\??", pattern)
    longest = max(pieces, key=len)
    return longest or None
