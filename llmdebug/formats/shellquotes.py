"""Where quotes and parentheses of shell text end, and what `$'…'` holds."""

from __future__ import annotations

import re

ANSI_QUOTED = re.compile(r"\$'([^'\\]*+(?:\\.[^'\\]*+)*+)'", re.DOTALL)
_PARENTHESES = re.compile(r"""'[^']*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+"|\\.|[()]""", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "'": "'", '"': '"', "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|([eE])|(.))", re.DOTALL
)


def parenthesis_end(text: str, start: int) -> int | None:
    """Where a `$(` is closed, quotes passed over."""
    depth = 1
    for match in _PARENTHESES.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    return None


def unescaped(text: str) -> str:
    """As `$'…'` says it; bytes that are written one by one become the text they make."""

    def letter(match: re.Match[str]) -> str:
        hexadecimal = match[2] or match[3]
        if hexadecimal:
            code = int(hexadecimal, 16)
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
        if match[1] or match[4]:
            byte = int(match[1], 16) if match[1] else int(match[4], 8) & 0xFF
            return chr(byte) if byte < 0x80 else chr(0xDC00 + byte)
        return "\x1b" if match[5] else _ESCAPES.get(match[6], "\\" + match[6])

    return _ESCAPE.sub(letter, text).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
