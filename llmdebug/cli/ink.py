"""Colour for a terminal, and none for anything else."""

from __future__ import annotations

import os
import shutil
import textwrap
from typing import TextIO

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_WIDEST = 100


class Ink:
    """Styles text for one stream."""

    def __init__(self, stream: TextIO) -> None:
        terminal = stream.isatty()
        self._colours = terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._width = min(shutil.get_terminal_size().columns, _WIDEST) if terminal else None

    def __call__(self, text: str, style: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self._colours and text and style else text

    def paragraph(self, text: str, indent: str = "") -> str:
        """Broken into lines where a terminal would break it in the middle of a word."""
        if self._width is None:
            return indent + text.replace("\n", "\n" + indent)
        width = max(self._width, len(indent) + 20)
        lines = text.splitlines() or [""]
        return "\n".join(
            textwrap.fill(
                line,
                width,
                initial_indent=indent,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
            or indent
            for line in lines
        )
