"""Panics of Go and Rust, and lines of C++ that name the place they come from, as a log prints them."""

from __future__ import annotations

import re
from typing import NamedTuple

from llmdebug.formats.logprefix import LogLine

_GO_START = re.compile(r"(?:.*\s)?panic(?: serving [^\s]+| recovered)?: ?(.*)$")
_GO_ROUTINE = re.compile(r"goroutine \d+ \[[^\]]*\]:\s*$")
_GO_CALL = re.compile(r"(?:created by )?([\w./*()\[\]@·-]{1,300}?)(?:\([^()]*\)|(?: in goroutine \d+))?$")
_GO_FRAME = re.compile(r"\s*(/?[^\s:()]{1,500}\.go):(\d{1,7})(?: \+0x[0-9a-f]+| \(0x[0-9a-f]+\))?\s*$")
_RUST = re.compile(r"(?:.*\s)?panicked at (?:'(.*)', )?([^\s:']{1,500}\.rs):(\d{1,7})(?::\d+)?:?\s*$")
_CPP = re.compile(r"(?:\S+: )?(/?[^\s:()]{1,500}\.(?:cpp|cc|cxx|cu|c|hpp|cuh|h)):(\d{1,7}): (.{3,})$")
MAX_FRAMES = 200
MAX_PANICS = 100


class Panic(NamedTuple):
    """A panic with its calls, the outermost first, as (path, line, function)."""

    text: str
    frames: tuple[tuple[str, int, str], ...]


class Panics:
    """Takes the lines that belong to a panic out of a log."""

    def __init__(self) -> None:
        self._found: list[Panic] = []
        self._text = ""
        self._frames: list[tuple[str, int, str]] = []
        self._call = ""
        self._is_open = False
        self._rust: tuple[str, int] | None = None

    def feed(self, line: LogLine) -> bool:
        """Whether the line is part of a panic."""
        text = line.text
        if self._rust is not None:
            place, self._rust = self._rust, None
            self._add(Panic(text.strip(), ((*place, ""),)))
            return True
        if (rust := _RUST.match(text)) is not None:
            return self._starts_rust(rust)
        if (cpp := _CPP.match(text)) is not None:
            self._add(Panic(cpp[3].strip(), ((cpp[1], int(cpp[2]), ""),)))
            return True
        if _GO_ROUTINE.match(text):
            self._is_open = True
            return True
        if (start := _GO_START.match(text)) is not None:
            self._close()
            self._text, self._is_open = start[1].strip(), True
            return True
        return self._is_open and self._goes_on(text)

    def _starts_rust(self, found: re.Match[str]) -> bool:
        place = (found[2], int(found[3]))
        if found[1] is not None:
            self._add(Panic(found[1], ((*place, ""),)))
        else:
            self._rust = place
        return True

    def _goes_on(self, text: str) -> bool:
        frame = _GO_FRAME.match(text)
        if frame is not None:
            if len(self._frames) < MAX_FRAMES:
                self._frames.append((frame[1], int(frame[2]), self._call))
            self._call = ""
            return True
        call = _GO_CALL.match(text.strip()) if text.strip() else None
        if call is not None:
            self._call = call[1]
            return True
        if not text.strip() or text.lstrip().startswith(("[signal", "exit status")):
            return True
        self._close()
        return False

    def _add(self, panic: Panic) -> None:
        self._found.append(panic)
        del self._found[:-MAX_PANICS]

    def _close(self) -> None:
        if self._frames:
            self._add(Panic(self._text, tuple(reversed(self._frames))))
        self._text, self._frames, self._call, self._is_open = "", [], "", False

    def finish(self) -> list[Panic]:
        self._close()
        return self._found
