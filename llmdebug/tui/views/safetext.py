"""Text of strangers made fit for a terminal: no control, escape or direction character reaches it.

A server's answer and a source tree are untrusted. Each harmful character is shown as a picture of itself,
so that nothing is hidden, and every text is one line.
"""

from __future__ import annotations

import re
from functools import lru_cache

from rich.cells import cell_len

TAB_WIDTH = 4
MAX_MARKS = 4
"""Combining characters on one letter; more would climb into the neighbouring lines."""

_HARMLESS = re.compile(r"[ -~]*")
_HARMFUL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200c\u200e\u200f"
    "\u2028-\u202f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\ud800-\udfff]"
)
_COMBINING = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_MARKS = re.compile(f"({_COMBINING}{{{MAX_MARKS}}}){_COMBINING}+")
_JOINER = "\u200d"


def clean(text: str) -> str:
    """One line of text, tabs widened, harmful characters shown as `␛` or `<U+202E>`."""
    if _HARMLESS.fullmatch(text):
        return text
    if "\t" in text:
        text = text.expandtabs(TAB_WIDTH)
    text = _HARMFUL.sub(_picture, text)
    if _JOINER in text:
        text = text.replace(_JOINER, "<ZWJ>")
    return _MARKS.sub(r"\1", text)


def _picture(match: re.Match[str]) -> str:
    return _picture_of(match[0])


@lru_cache(maxsize=512)
def _picture_of(letter: str) -> str:
    code = ord(letter)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xFE00 <= code <= 0xFE0F:
        return ""
    return f"<U+{code:04X}>"


def harmless_letters(text: str) -> str:
    """As clean(), but letter for letter, so that columns stay: for the editor."""
    if _HARMLESS.fullmatch(text):
        return text
    shown = _HARMFUL.sub(lambda match: chr(0x2400 + ord(match[0])) if ord(match[0]) < 0x20 else "�", text)
    return shown.replace(_JOINER, "�")


def width(text: str) -> int:
    """Cells that a cleaned text takes on the terminal."""
    return len(text) if text.isascii() else cell_len(text)


def cut(text: str, cells: int) -> str:
    """The longest beginning that fits into this many cells."""
    if text.isascii() or width(text) <= cells:
        return text[:cells] if text.isascii() else text
    return text[: index_at(text, cells)]


def index_at(text: str, cells: int) -> int:
    """How many characters from the left fit into this many cells, combining ones with their letter."""
    if text.isascii():
        return min(len(text), cells)
    used = 0
    for index, letter in enumerate(text):
        used += cell_len(letter)
        if used > cells:
            return index
    return len(text)


def shorten(text: str, cells: int) -> str:
    """The text, or its beginning and `…`, in at most this many cells."""
    if width(text) <= cells:
        return text
    return cut(text, max(cells - 1, 0)).rstrip() + "…" if cells > 0 else ""


def shorten_middle(text: str, cells: int) -> str:
    """As shorten(), but the end stays: for paths."""
    if width(text) <= cells or cells < 5:
        return shorten(text, cells)
    tail = (cells - 1) * 2 // 3
    return cut(text, cells - 1 - tail) + "…" + text[-tail:] if text.isascii() else shorten(text, cells)
