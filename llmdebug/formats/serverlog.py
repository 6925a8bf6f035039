"""A server's log as text: its tracebacks, panics and error lines, whatever stands before each line.

Python tracebacks (chained ones, exception groups, several processes that write into one log, each line with its
process before it), panics of Go and Rust, and lines of C++ servers that name their own `path:line`. Never raises;
time is linear in the text.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Literal

import msgspec

from llmdebug.formats.logprefix import LogLine, split_prefix
from llmdebug.formats.panics import Panics

MAX_BYTES = 4_000_000
"""Only the end of a longer log is read: what happened last stands there."""
MAX_LINE = 4_000
MAX_TRACES = 400
MAX_LINES = 800
MAX_FRAMES = 400
MAX_MESSAGE_LINES = 30

_START = re.compile(r"Traceback \(most recent call last\):\s*$")
_FRAME = re.compile(r'( *)File "([^"]{1,1000})", line (\d{1,8})(?:, in (.{1,300}))?\s*$')
_TELLING = re.compile(
    r"Traceback \(most recent call last\):|goroutine \d+ \[|panicked at "
    r"|\.(?:cpp|cc|cxx|cu|c|hpp|cuh|h):\d+: "
)
"""What every trace has somewhere: cheap to look for in a log that grows."""
_MARKS = re.compile(r"[\s~^]*$")
_GROUP = re.compile(r" *(?:\| ?|\+[-+]*(?: ?\d+ ?-+)? ?)")
_ERROR = re.compile(r"([A-Za-z_][\w.]{0,200}?)(?:: ?(.*))?$")
_LINKS: dict[str, Link] = {
    "The above exception was the direct cause of the following exception:": "cause",
    "During handling of the above exception, another exception occurred:": "handled",
}

Link = Literal["", "cause", "handled"]
"""What the trace before it is to a trace: nothing, the cause it was raised from, or what was being handled."""


class Frame(msgspec.Struct, frozen=True):
    """One call of a trace."""

    path: str
    """As the log names it."""
    line: int
    function: str = ""
    code: str = ""
    """The source line, where the log prints it."""


class Trace(msgspec.Struct, frozen=True):
    """One exception or panic."""

    frames: tuple[Frame, ...]
    """The outermost call first."""
    error: str = ""
    """The exception's class, its module left out; `panic` for Go and Rust, empty where the log was cut off."""
    text: str = ""
    link: Link = ""


class ServerLog(msgspec.Struct, frozen=True):
    """What a log tells of failures, in its order."""

    chains: tuple[tuple[Trace, ...], ...] = ()
    """Each failure with the exceptions that led to it, in the order in which they were printed."""
    lines: tuple[LogLine, ...] = ()
    """Lines that are no part of a trace, those that are no more than progress left out."""


def read_log(data: bytes | str) -> ServerLog:
    """What the end of a log tells."""
    if isinstance(data, bytes):
        data = data[-MAX_BYTES:].decode("utf-8", "replace")
    reader = _Reader()
    for raw in data[-MAX_BYTES:].splitlines():
        reader.feed(split_prefix(raw[:MAX_LINE]))
    return reader.finish()


def looks_like_log(text: str) -> bool:
    """Whether a text holds a trace: of Python, Go or Rust."""
    head = text[:MAX_BYTES]
    return _TELLING.search(head) is not None and bool(read_log(head).chains)


class _Open:
    """A trace that is being read."""

    def __init__(self, link: Link, before: list[Trace]) -> None:
        self.link = link
        self.chain = before
        self.frames: list[Frame] = []
        self.indent = 0
        self.is_headed = False
        """Whether something stands before each of its lines."""
        self.error = ""
        self.message: list[str] = []
        self.has_ended = False

    def made(self) -> Trace:
        text = "\n".join(self.message).strip()
        return Trace(tuple(self.frames), self.error.rpartition(".")[2], text, self.link)


class _Reader:
    """Line by line; each stream of a log, told by what stands before its lines, has its own open trace."""

    def __init__(self) -> None:
        self.chains: list[list[Trace]] = []
        self.lines: deque[LogLine] = deque(maxlen=MAX_LINES)
        self._open: dict[str, _Open] = {}
        self._closed: dict[str, list[Trace]] = {}
        """By stream, the chain whose last trace was closed there."""
        self._link: dict[str, Link] = {}
        self._panics = Panics()

    def feed(self, line: LogLine) -> None:
        text = line.text
        group = _GROUP.match(text) if text.lstrip()[:1] in {"|", "+"} else None
        if group is not None:
            text = text[group.end() :]
        if _START.search(text):
            self._start(line.stream)
        elif (frame := _FRAME.match(text)) is not None:
            self._frame(line.stream, frame, line.is_headed)
        elif text.strip() in _LINKS:
            self._end(line.stream)
            self._link[line.stream] = _LINKS[text.strip()]
        elif not self._continued(line, text):
            self._other(line)

    def _start(self, stream: str) -> None:
        self._end(stream)
        link = self._link.pop(stream, "")
        chain = self._closed.pop(stream, []) if link else []
        self._open[stream] = _Open(link, chain)

    def _frame(self, stream: str, found: re.Match[str], is_headed: bool) -> None:
        here = self._open.get(stream)
        if here is None or here.has_ended:
            here = self._adopted(stream)
        if len(here.frames) < MAX_FRAMES:
            here.indent, here.is_headed = len(found[1]), is_headed
            here.frames.append(Frame(found[2], int(found[3]), (found[4] or "").strip()))

    def _adopted(self, stream: str) -> _Open:
        """The trace whose heading stood in another stream: a logger puts its prefix before the first line only."""
        for other, waiting in reversed(list(self._open.items())):
            if not waiting.frames and other != stream:
                self._end(stream)
                del self._open[other]
                self._open[stream] = waiting
                return waiting
        self._start(stream)
        return self._open[stream]

    def _continued(self, line: LogLine, text: str) -> bool:
        """Whether a line is one of the open trace of its stream: code, the exception, more of its message."""
        here = self._open.get(line.stream)
        if here is None or not (here.frames or here.has_ended):
            return False
        indent = len(text) - len(text.lstrip(" "))
        if here.has_ended:
            is_another = line.level or (line.is_headed and not (here.is_headed and indent))
            if not text.strip() or is_another or len(here.message) >= MAX_MESSAGE_LINES:
                self._end(line.stream)
                return False
            here.message.append(text)
            return True
        if indent > here.indent:
            last = here.frames[-1]
            if not last.code and not _MARKS.match(text):
                here.frames[-1] = msgspec.structs.replace(last, code=text.strip())
            return True
        error = _ERROR.match(text.strip())
        if error is None or " " in error[1]:
            self._end(line.stream)
            return False
        here.error, here.message, here.has_ended = error[1], [error[2] or ""], True
        return True

    def _end(self, stream: str) -> None:
        here = self._open.pop(stream, None)
        if here is None or not here.frames:
            return
        if not here.chain and len(self.chains) < MAX_TRACES:
            self.chains.append(here.chain)
        here.chain.append(here.made())
        self._closed[stream] = here.chain

    def _other(self, line: LogLine) -> None:
        if self._panics.feed(line):
            return
        if line.text.strip():
            self.lines.append(line)

    def finish(self) -> ServerLog:
        for stream in list(self._open):
            self._end(stream)
        panics = [
            (Trace(tuple(Frame(*place) for place in found.frames), "panic", found.text),)
            for found in self._panics.finish()
        ]
        return ServerLog((*map(tuple, self.chains), *panics), tuple(self.lines))
