"""What nlohmann's JSON library prints, held against the lines that read the request with it.

Its texts name a key or the types, never the place: https://json.nlohmann.me/home/exceptions/. The line is one that the
route leads to and that reads such a key; the place is where the request lacks it, or has another type there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from llmdebug.diagnosis.blame import names_in
from llmdebug.diagnosis.cppcode import KeyRead, parsing_lines, reads_of, ways
from llmdebug.diagnosis.finding import Finding, Spot, blamed
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.locate import walk
from llmdebug.diagnosis.malformed import unreadable_body
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.template import Match, matches
from llmdebug.diagnosis.verdict import Kind
from llmdebug.index.languages import CPP, language_of
from llmdebug.jsontext import pointer as pointers

MAX_TEXT = 20_000
MAX_SPOTS = 3
EXCEPTION = re.compile(r"\[json\.exception\.(\w+)\.(\d+)\] ")
KEY = re.compile(r"key '([^'\n]{1,200})' not found")
TYPES = re.compile(r"type must be (\w+), but is (\w+)|cannot use ([\w\[\]()]+)(?: with [\w ]*argument)? with (\w+)")
JSON_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "array": list,
    "object": dict,
    "boolean": bool,
    "number": (int, float),
    "null": type(None),
}
WANTED = {
    "string": re.compile(r"std::string\b(?!>)|get<string>"),
    "number": re.compile(r"\b(?:int|float|double|size_t|long|unsigned|u?int\d+_t)\b"),
    "boolean": re.compile(r"\bbool\b"),
    "array": re.compile(r"vector<|is_array"),
    "object": re.compile(r"\bmap<|items\(\)"),
}


@dataclass(frozen=True, slots=True)
class _Place:
    """A line that may have thrown, and the place of the request that it would have failed at."""

    read: KeyRead
    pointer: str
    rank: tuple[int, ...]
    """Smaller is better."""


def from_json_exception(ground: Ground, registered: Registered | None, question: Question, text: str) -> Finding | None:
    """The finding for a text of the library; None where the text is another, or no line of the tree explains it."""
    told = EXCEPTION.search(text[:MAX_TEXT])
    if told is None or not any(language_of(path) is CPP for path in ground.index.loaded):
        return None
    wrapping = _wrapping(ground, text, told.start())
    rest = text[told.end() : MAX_TEXT]
    key, types = KEY.match(rest), TYPES.match(rest)
    if told[1] == "parse_error":
        return unparsed(ground, registered) if question.is_unreadable or question.body is None else None
    if key is not None:
        return _found(ground, "missing_field", _lacking(ground, registered, question, key[1], wrapping), wrapping)
    if types is not None:
        wanted, given = types[1] or "", types[2] or types[4]
        named = _named(ground, registered, question, text[: told.start()], given, wrapping)
        if named:
            return _found(ground, "wrong_type", named, wrapping)
        return _found(ground, "wrong_type", _mistyped(ground, registered, question, wanted, given, wrapping), wrapping)
    return None


def unparsed(ground: Ground, registered: Registered | None) -> Finding:
    """The finding for a body that is no JSON: the line that parses it, where the route leads to one."""
    finding = unreadable_body(ground, registered)
    for read in parsing_lines(ground, ground.reach(registered))[:1] if registered is not None else ():
        why = ("reads the body as JSON",)
        finding.spots.insert(0, Spot(read.path, read.line, read.line, read.function.name, "checks", 0.9, why))
    return finding


def _wrapping(ground: Ground, text: str, place: int) -> list[Match]:
    """The refusals that put their own words around what they caught."""
    around = matches(ground.index, text, ground.index.loaded.values())
    return [m for m in around if any(a <= place < b for a, b in m.spans)]


def _lacking(
    ground: Ground, registered: Registered | None, question: Question, key: str, wrapping: list[Match]
) -> list[_Place]:
    """The lines that read a key, each with an object of the request that lacks it."""
    found: list[_Place] = []
    for read in _reads(ground, registered, key):
        for way in ways(ground.index, read.path, read.function, read.line, question.body, key)[0]:
            holder = way.holder
            if holder.pointer is not None and isinstance(holder.value, dict) and key not in holder.value:
                found.append(_Place(read, holder.pointer + pointers.join(key), _rank(read, wrapping, way.certain)))
    if not found and isinstance(question.body, dict) and key not in question.body:
        found = [_Place(r, pointers.join(key), _rank(r, wrapping, False)) for r in _reads(ground, registered, key)]
    return sorted(found, key=lambda each: each.rank)


def _mistyped(
    ground: Ground, registered: Registered | None, question: Question, wanted: str, given: str, wrapping: list[Match]
) -> list[_Place]:
    """The lines that read a value of the type that was given, and that want the other one."""
    found: list[_Place] = []
    for pointer, value in walk(question.body):
        key = pointer.rpartition("/")[2]
        if not pointer or key.isdigit() or not _is_of(value, given):
            continue
        for read in _reads(ground, registered, key):
            line = ground.index.lines(read.path)[read.line - 1].decode("utf-8", "replace")
            if wanted and not (WANTED[wanted].search(line) if wanted in WANTED else False):
                continue
            rank = _rank(read, wrapping, False)
            found.append(_Place(read, pointer, (*rank[:2], pointer.count("/"), *rank[2:])))
    return sorted(found, key=lambda each: each.rank)


def _named(
    ground: Ground, registered: Registered | None, question: Question, before: str, given: str, wrapping: list[Match]
) -> list[_Place]:
    """The lines that read a field which the words before the library's own name, and what in it has the type."""
    found: list[_Place] = []
    for key in (name for name, quoted in names_in(before) if quoted and name in question.fields):
        inside = [p for p, v in walk(question.fields[key], pointers.join(key)) if _is_of(v, given)]
        pointer = inside[0] if len(inside) == 1 else pointers.join(key)
        found += [_Place(read, pointer, _rank(read, wrapping, False)) for read in _reads(ground, registered, key)]
    return sorted(found, key=lambda each: each.rank)


def _reads(ground: Ground, registered: Registered | None, key: str) -> list[KeyRead]:
    return reads_of(ground, key, ground.reach(registered) if registered else None)


def _rank(read: KeyRead, wrapping: list[Match], certain: bool) -> tuple[int, ...]:
    here = any(m.path == read.path and m.rejection.symbol == read.function.name for m in wrapping)
    near = any(m.path == read.path for m in wrapping)
    return (0 if here else 1 if near else 2, read.depth is None, not certain, read.depth or 0)


def _is_of(value: Any, given: str) -> bool:
    kind = JSON_TYPES.get(given)
    return kind is not None and isinstance(value, kind) and (given != "number" or not isinstance(value, bool))


def _found(ground: Ground, kind: Kind, places: list[_Place], wrapping: list[Match]) -> Finding | None:
    if not places:
        return None
    spots: list[Spot] = []
    for place in places:
        read = place.read
        why: tuple[str, ...] = ("reads the key that the library speaks of",)
        if read.depth is not None:
            why += (f"the route reaches it over {read.depth} call{'s' if read.depth != 1 else ''}",)
        if all((s.file, s.line) != (read.path, read.line) for s in spots):
            spots.append(
                Spot(read.path, read.line, read.line, read.function.name, "raises", 0.85 - 0.2 * len(spots), why)
            )
    fields = [blamed(p, "the line that failed reads it here", 0.8) for p in dict.fromkeys(p.pointer for p in places)]
    kept = spots[:1]
    for match in wrapping[:1]:
        r = match.rejection
        kept.append(Spot(match.path, r.line, r.end_line, r.symbol, r.role, 0.6, ("puts its words around the text",)))
    return Finding(kind, fields[:MAX_SPOTS], [*kept, *spots[1:]][:MAX_SPOTS], confidence=0.75)
