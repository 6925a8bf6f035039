"""What loggers, process managers and log collectors put before each line of a log, told apart from the line itself."""

from __future__ import annotations

import re

import msgspec

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.")
_TIME = (
    r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d\d:\d\d:\d\d(?:[.,]\d+)?"
)
_LEVEL = r"TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL"
_PIECE = re.compile(
    rf"(?P<time>(?:{_TIME}) ?)"
    rf"|(?P<level>\b(?:{_LEVEL})\b:? {{0,6}})"
    r"|(?P<named>\((?=[^()]{0,80}\bpid=\d)[^()]{1,80}\) ?|\[[^\[\]]{1,120}\]:? ?"
    r"|(?:[\w.-]{1,60} )?[\w./-]{1,60}\[\d{1,8}\]: ?)"
    r"|(?P<stream>std(?:out|err) [FP] )"
    r"|(?P<container>[\w.-]{1,60} {0,30}\| )"
    r"|(?P<dash>[-|] )"
)
_TIMES = re.compile(_TIME)
_LEVELS = re.compile(rf"\b(?:{_LEVEL})\b")
_PLACE = re.compile(r"\b([\w./-]{1,300}\.\w{1,4}):(\d{1,7})\b")
_LOGFMT = re.compile(r"time=\S+ level=(\w+)(?: source=([^\s:]{1,300}):(\d{1,7}))? msg=(\"[^\"]*\"|\S+)(.*)")
MAX_PIECES = 8


class LogLine(msgspec.Struct, frozen=True):
    """One line without what was put before it."""

    text: str
    stream: str = ""
    """What was put before it, times and levels left out: lines of one process share it."""
    level: str = ""
    """Upper case; empty where none is told."""
    is_headed: bool = False
    """Whether anything stood before it."""
    path: str = ""
    """The file that logged it, as far as the prefix tells."""
    line: int = 0


def split_prefix(raw: str) -> LogLine:
    """A line of a log taken apart; one that begins with a blank has no prefix."""
    text = _ESCAPES.sub("", raw).replace("\t", "    ").rstrip()
    if text.startswith("time=") and (pairs := _LOGFMT.match(text)) is not None:
        return _line_of_pairs(pairs)
    stream: list[str] = []
    level = ""
    place: re.Match[str] | None = None
    at = 0
    for _ in range(MAX_PIECES):
        piece = _PIECE.match(text, at)
        if piece is None or (piece["dash"] and not at):
            break
        at = piece.end()
        if piece["level"]:
            level = piece[0].strip(" :")
        named = piece["named"] or piece["container"] or ""
        if named:
            inner = _LEVELS.search(named)
            level = level or (inner[0] if inner else "")
            place = place or _PLACE.search(named)
            stream.append(_LEVELS.sub("", _TIMES.sub("", named)).strip())
    return LogLine(
        text[at:],
        "".join(part for part in stream if part not in {"[]", "[ ]"}),
        {"WARN": "WARNING"}.get(level, level),
        at > 0,
        place[1] if place else "",
        int(place[2]) if place else 0,
    )


def _line_of_pairs(found: re.Match[str]) -> LogLine:
    """A line of a logger that writes `name=value`."""
    level = found[1].upper()
    return LogLine(
        found[4].strip('"') + found[5],
        level={"WARN": "WARNING"}.get(level, level),
        is_headed=True,
        path=found[2] or "",
        line=int(found[3] or 0),
    )
