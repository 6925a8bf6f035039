"""JSON that is nearly JSON, repaired: what people and models write by mistake, read as they meant it."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from llmdebug.jsontext.scan import depth_exceeds

MAX_TEXT = 2_000_000
MAX_DEPTH = 100

_TOKEN = re.compile(
    r"""(?P<blank>\s+)
    |(?P<comment>//[^\n]*|\#[^\n]*|/\*.*?\*/)
    |(?P<double>"[^"\\]*+(?:(?:\\.|"(?!\s*(?:[,:\]}"/\#]|$)))[^"\\]*+)*"(?=\s*(?:[,:\]}"/\#]|$)))
    |(?P<single>'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+')
    |(?P<mark>[\[\]{},:])
    |(?P<number>[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    |(?P<word>[-+]?[^\s\[\]{},:"']+)
    |(?P<open>["'])""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = {
    "true": "true", "false": "false", "null": "null", "none": "null", "nil": "null", "undefined": "null",
    "nan": "null", "infinity": "null", "inf": "null",
}  # fmt: skip
_CLOSING = {"[": "]", "{": "}"}
_PIECE = re.compile(r'\\.|"', re.DOTALL)
"""An escape, or a quote that is none."""
_ESCAPE = re.compile(r'(\\\\)|\\(?!["\\/bfnrtu])|\\u(?![0-9a-fA-F]{4})')
"""An escaped backslash, or one that escapes nothing."""


def repaired(text: str) -> Any:
    """The value that a text was meant to be; None where that cannot be told. NaN and Infinity become null.

    Takes single quotes, comments, trailing and missing commas, Python's and JavaScript's words, bare keys, and an
    end that was cut off.
    """
    if len(text) > MAX_TEXT or not text.strip():
        return None
    text = text.strip().removeprefix("\ufeff")
    fence = re.fullmatch(r"```\w*\n(.*?)\n?```", text, re.DOTALL)
    text = fence[1] if fence else text
    if depth_exceeds(text, MAX_DEPTH) is not None:
        return None
    value = _parsed(text)
    if value is not None:
        return value
    value = _parsed(_Rewriter(text).result())
    return value if isinstance(value, dict | list) else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda _: None, parse_float=_finite, strict=False)
    except (ValueError, RecursionError):
        return None


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


class _Rewriter:
    """Writes the tokens of a text again as JSON."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.written: list[str] = []
        self.open: list[str] = []
        self.after_value = False

    def result(self) -> str:
        position = 0
        while position < len(self.text):
            match = _TOKEN.match(self.text, position)
            if match is None:
                return ""
            position = match.end()
            kind = match.lastgroup
            if kind == "open":
                self._value(_string(self.text[position:], self.text[match.start()]))
                break
            if kind not in {"blank", "comment"}:
                self._token(str(kind), match[0])
        return "".join(self._ended())

    def _token(self, kind: str, token: str) -> None:
        if kind == "mark":
            self._mark(token)
        elif kind == "double":
            self._value(_string(token[1:-1], '"'))
        elif kind == "single":
            self._value(_string(token[1:-1], "'"))
        elif kind == "number":
            self._value(_number(token))
        else:
            known = _WORDS.get(token.lower().lstrip("+-"))
            self._value(known or json.dumps(token))

    def _value(self, written: str) -> None:
        if self.after_value:
            self.written.append(",")
        self.written.append(written)
        self.after_value = True

    def _mark(self, mark: str) -> None:
        if mark in "[{":
            if self.after_value:
                self.written.append(",")
            self.written.append(mark)
            self.open.append(mark)
            self.after_value = False
        elif mark in "]}":
            self._close(mark)
        elif mark == ":":
            self.written.append(":")
            self.after_value = False
        elif self.after_value:
            self.written.append(",")
            self.after_value = False

    def _close(self, mark: str) -> None:
        """Brackets that were left open inside are closed too; one that closes nothing is dropped."""
        if not any(_CLOSING[opened] == mark for opened in self.open):
            return
        while self.open:
            closing = _CLOSING[self.open.pop()]
            self._end_container(closing)
            if closing == mark:
                return

    def _end_container(self, closing: str) -> None:
        while self.written and self.written[-1] == ",":
            self.written.pop()
        if self.written and self.written[-1] == ":":
            self.written.pop()
            self._drop_key()
        elif closing == "}" and len(self.written) > 1 and self.written[-2] in (",", "{"):
            self._drop_key()
        self.written.append(closing)
        self.after_value = True

    def _drop_key(self) -> None:
        """A key whose value was cut off goes too."""
        if self.written[-1] not in ("{", "[", "}", "]"):
            self.written.pop()
        while self.written and self.written[-1] == ",":
            self.written.pop()

    def _ended(self) -> list[str]:
        while self.open:
            self._end_container(_CLOSING[self.open.pop()])
        while self.written and self.written[-1] == ",":
            self.written.pop()
        return self.written


def _string(inner: str, quote: str) -> str:
    """The inside of a string in any quotes, as JSON writes it."""
    inner = inner.replace("\\'", "'") if quote == "'" else inner
    inner = _PIECE.sub(lambda m: m[0] if len(m[0]) == 2 else "\\" + m[0], inner)
    inner = _ESCAPE.sub(lambda m: m[1] or "\\" + m[0], inner)
    if (len(inner) - len(inner.rstrip("\\"))) % 2:
        inner = inner[:-1]
    return '"' + inner.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def _number(token: str) -> str:
    token = token.replace("_", "").lstrip("+")
    sign, digits = ("-", token[1:]) if token.startswith("-") else ("", token)
    digits = "0" + digits if digits.startswith(".") else digits
    whole, point, rest = digits.partition(".")
    whole = whole.lstrip("0") or "0" if whole.isdigit() else whole
    return sign + whole + (point + (rest if rest[:1].isdigit() else "0" + rest) if point else "")
