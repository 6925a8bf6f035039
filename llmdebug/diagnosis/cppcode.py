"""Code in C++ held against a request: the tests before a refusal, and the lines that read a key."""

from __future__ import annotations

import itertools
import re
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from tree_sitter import Node

from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.reach import Reach
from llmdebug.index.build import Index
from llmdebug.index.cpp.arrive import Arrival, arrivals
from llmdebug.index.facts import Function
from llmdebug.index.grammar import root_of
from llmdebug.index.languages import ASIDE, CPP, language_of
from llmdebug.index.python.frames import Outcome
from llmdebug.jsontext import pointer as pointers

MAX_ROOTS = 6
MAX_READS = 60
MAX_NAMES = 6
_NAME = re.compile(r"[A-Za-z_]\w{2,60}")
_PARSING = re.compile(rb"\bparse\s*\(\s*\w*req\w*(?:\.|->)body\b")
_CONTINUED = re.compile(rb"\s*(?:->|\.|,|\?|:|\+)")
"""A line that goes on with the statement of the line before."""

_roots: WeakKeyDictionary[Index, OrderedDict[str, Node | None]] = WeakKeyDictionary()


class KeyRead(NamedTuple):
    """A line that reads a key from a JSON object."""

    path: str
    line: int
    function: Function
    depth: int | None
    """How many calls lead to it; None where none are known to."""


def root_at(index: Index, path: str) -> Node | None:
    """The syntax tree of a file in C++; a few are kept."""
    kept = _roots.setdefault(index, OrderedDict())
    if path not in kept:
        kept[path] = root_of("cpp", index.tree.read(path) or b"")
        if len(kept) > MAX_ROOTS:
            kept.popitem(last=False)
    return kept[path]


def arriving(ground: Ground, path: str, symbol: str, line: int, body: Any) -> tuple[list[Outcome], bool]:
    """The ways of a request to a line of a function, best first, and whether it surely takes none."""
    function = ground.index.local(path).get(symbol)
    if not isinstance(function, Function):
        return [], False
    found, refuted = ways(ground.index, path, function, line, body)
    return [Outcome("raise", path, symbol, line, line, w.certain, w.reads, near=w.near) for w in found], refuted


def ways(
    index: Index, path: str, function: Function, line: int, body: Any, key: str = ""
) -> tuple[list[Arrival], bool]:
    """The ways of a request to a line of a function that is known to hold it."""
    root = root_at(index, path)
    if root is None or body is None:
        return [], False
    return arrivals(root, function.line, line, body, key)


def reads_of(ground: Ground, key: str, reach: Reach | None) -> list[KeyRead]:
    """The lines of the files read so far that read a key and fail where that can't be read, the reached ones first.

    Where there are none: those that hand the key to what reads it.
    """
    name = rb"\s*\"" + re.escape(key.encode("utf-8", "replace")) + rb"\"\s*[\]),]"
    read = _lines_with(ground, re.compile(rb"(?:\bat\s*\(|\bvalue\s*\(|\[)" + name), reach)
    return read or _lines_with(ground, re.compile(rb"\w\(" + name), reach)


def parsing_lines(ground: Ground, reach: Reach) -> list[KeyRead]:
    """The lines that parse the body of a request, those that the route leads to, the nearest first."""
    return [read for read in _lines_with(ground, _PARSING, reach) if read.depth is not None]


def _lines_with(ground: Ground, quoted: re.Pattern[bytes], reach: Reach | None) -> list[KeyRead]:
    found: list[KeyRead] = []
    for path, facts in list(ground.index.loaded.items()):
        if language_of(path) is not CPP or ASIDE.search(path):
            continue
        for number, text in enumerate(ground.index.lines(path), 1):
            if quoted.search(text):
                inner = [f for f in facts.functions if f.line <= number <= f.end_line]
                if inner:
                    function = min(inner, key=lambda f: f.end_line - f.line)
                    found.append(KeyRead(path, number, function, reach.of(path, function.name) if reach else None))
    return sorted(found, key=lambda r: (r.depth is None, r.depth or 0, r.path, r.line))[:MAX_READS]


def aliased(ground: Ground, text: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The pointers of keys of a request that code reads in place of those that a text names.

    Where a statement quotes both a name of the text, which the request lacks, and keys that the request has.
    """
    names = [name for name in dict.fromkeys(_NAME.findall(text[:2_000])) if "_" in name and name not in fields]
    found: dict[str, None] = {}
    for name in names[:MAX_NAMES]:
        quoted = f'"{name}"'.encode()
        for path in ground.index.loaded if fields else ():
            if language_of(path) is not CPP or ASIDE.search(path):
                continue
            lines = ground.index.lines(path)
            for place, line in enumerate(lines):
                if quoted in line:
                    beside = line + b"".join(itertools.takewhile(_CONTINUED.match, lines[place + 1 : place + 5]))
                    found |= {pointers.join(key): None for key in fields if f'"{key}"'.encode() in beside}
    return tuple(found) if len(found) == 1 else ()
