"""Places that a log names, found in a linked tree: by the end of the path, and by the line that the log prints."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from llmdebug.formats.serverlog import Frame
from llmdebug.index.build import Index
from llmdebug.index.facts import Function

OTHER_SUFFIXES = (".go", ".rs", ".cpp", ".cc", ".cxx", ".c", ".cu", ".h", ".hpp", ".cuh")
FEW_COMMON = 2
"""So many last parts of two paths must agree where neither path ends with the whole of the other."""
MAX_LINES = 400_000


@dataclass(frozen=True, slots=True)
class Placed:
    """A frame of a trace in a tree."""

    frame: Frame
    file: str
    line: int
    symbol: str = ""
    is_exact: bool = True
    """Whether the tree has the very line there that the log prints; False where it was found elsewhere in its
    function, as in a tree of another version."""


@dataclass(eq=False)
class LogPlaces:
    """The files of one tree by their names."""

    index: Index
    _by_name: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _has_others: bool = False

    def __post_init__(self) -> None:
        self._add(list(self.index.paths))

    def _add(self, paths: list[str]) -> None:
        for path in paths:
            self._by_name[path.rpartition("/")[2]].append(path)

    def placed(self, frame: Frame) -> Placed | None:
        """Where a frame is in the tree; None where it is not, or may be at several places."""
        found = [place for path in self._files(frame) if (place := self._at(frame, path)) is not None]
        sure = [place for place in found if place.is_exact]
        found = sure if sure and frame.code else found
        return found[0] if len(found) == 1 else None

    def has_file(self, frame: Frame) -> bool:
        """Whether a file of the tree may be the one that a frame names."""
        return bool(self._files(frame))

    def _files(self, frame: Frame) -> list[str]:
        parts = [part for part in frame.path.replace("\\", "/").split("/") if part not in {"", "."}]
        if not parts:
            return []
        if parts[-1].endswith(OTHER_SUFFIXES) and not self._has_others:
            self._has_others = True
            self._add([file.path for file in self.index.tree.files(OTHER_SUFFIXES)])
        fitting = [(self._common(parts, path), path) for path in self._by_name.get(parts[-1], [])]
        best = max((common for common, _ in fitting), default=0)
        return [path for common, path in fitting if common == best and common]

    @staticmethod
    def _common(parts: list[str], path: str) -> int:
        """How many last parts agree; 0 where those are too few to mean the same file."""
        own = path.split("/")
        common = 0
        while common < min(len(own), len(parts)) and own[-1 - common] == parts[-1 - common]:
            common += 1
        return common if common >= FEW_COMMON or common in {len(own), len(parts)} else 0

    def _at(self, frame: Frame, path: str) -> Placed | None:
        lines = self.index.lines(path)
        if len(lines) > MAX_LINES:
            return None
        function = self._function(frame, path)
        if not frame.code:
            fits = 0 < frame.line <= len(lines) and (not frame.function or function is None or _holds(function, frame))
            return Placed(frame, path, frame.line, function.name if function else "") if fits else None
        wanted = frame.code.encode()
        if 0 < frame.line <= len(lines) and lines[frame.line - 1].strip() == wanted:
            return Placed(frame, path, frame.line, function.name if function else "")
        if function is None:
            return None
        inside = range(function.line, function.end_line + 1)
        moved = [number for number in inside if number <= len(lines) and lines[number - 1].strip() == wanted]
        return Placed(frame, path, moved[0], function.name, is_exact=False) if len(moved) == 1 else None

    def _function(self, frame: Frame, path: str) -> Function | None:
        """The function that a frame is in: by its name, the one around its line first."""
        facts = self.index.facts(path) if path.endswith(".py") else None
        name = frame.function.rpartition(".")[2]
        named = [f for f in facts.functions if f.name.rpartition(".")[2] == name] if facts else []
        around = [f for f in named if _holds(f, frame)]
        if around:
            return around[-1]
        return named[0] if len(named) == 1 else None


def _holds(function: Function, frame: Frame) -> bool:
    return function.line <= frame.line <= function.end_line
