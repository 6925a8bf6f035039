"""What a route in C++ takes from the body: the keys that its code quotes, and the bounds that it sets for them.

A key counts as read where any code quotes it that the route leads to, or that may be run for it, for whatever end: who
reads JSON by hand may do so anywhere. Only a key that is quoted nowhere there has no effect.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tree_sitter import Node

from llmdebug.diagnosis.cppcode import root_at
from llmdebug.diagnosis.finding import Spot
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.reach import Key
from llmdebug.diagnosis.route import Registered
from llmdebug.index.cpp.syntax import arguments, called, string_of
from llmdebug.index.facts import Function
from llmdebug.index.grammar import end_line_of, line_of, text_of
from llmdebug.index.languages import ASIDE, CPP, language_of
from llmdebug.index.python.inputs import find_handler
from llmdebug.jsontext import pointer as pointers

MAX_ROUTES = 200
LIMITS = re.compile(r"(?i)limit|range|bound|clamp|between")
_INFINITE = re.compile(r"(?:infinity|max|lowest|min)\s*\(\)|_MAX$|_MIN$|INFINITY")
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class Bound:
    """The bounds that code sets for the value of a key."""

    line: int
    end_line: int
    low: float
    high: float


def unread_keys(ground: Ground, registered: Registered, question: Question) -> tuple[list[str], list[Spot]]:
    """The pointers of the body's keys that nothing on the route quotes, and the code that reads the others."""
    if not isinstance(question.body, dict) or not question.body:
        return [], []
    functions = _readers(ground, registered)
    counts: dict[Key, set[str]] = {}
    quoted: set[str] = set()
    for path, function in functions:
        text = b"".join(ground.index.lines(path)[function.line - 1 : function.end_line])
        held = {key for key in question.body if b'"' + key.encode("utf-8", "replace") + b'"' in text}
        quoted |= held
        if held & _read_in(text) and not _holds_others(ground, path, function):
            counts[path, function.name] = _read_in(text)
    unread = [key for key in question.body if key not in quoted]
    if not counts or not unread:
        return [], []
    reached = {(path, function.name) for path, function in _reached(ground, registered)}
    path, symbol = max(counts, key=lambda key: len(counts[key]) * (2 if key in reached else 1))
    reader = ground.index.local(path)[symbol]
    line = reader.line if isinstance(reader, Function) else 1
    why = ("reads the keys of the body by name, and no code of this route quotes these",)
    return [pointers.join(key) for key in unread], [Spot(path, line, line, symbol, "declares", 0.7, why)]


def _read_in(text: bytes) -> set[str]:
    return {key.decode("ascii") for key in _READING.findall(text)}


def _holds_others(ground: Ground, path: str, function: Function) -> bool:
    """Whether a function is made of others for the most part: of the handlers that it registers."""
    inner = [
        f
        for f in ground.index.loaded[path].functions
        if f != function and function.line <= f.line and f.end_line <= function.end_line
    ]
    return 2 * sum(f.end_line - f.line for f in inner) > function.end_line - function.line


_READING = re.compile(rb'(?:\w\(|,\s*|\[)"([A-Za-z_]\w{0,60})"\s*[\]),]')
"""A key where code reads it, rather than writes it: `{"key", value}`."""


def clamped_keys(ground: Ground, registered: Registered, question: Question) -> tuple[list[str], list[Spot]]:
    """The keys whose values lie outside of the bounds that the route's code sets, though they were not refused."""
    found: list[str] = []
    spots: list[Spot] = []
    if not isinstance(question.body, dict) or question.answer.refused:
        return found, spots
    numbers = {k: v for k, v in question.body.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    for path, function in _reached(ground, registered) if numbers else ():
        text = b"".join(ground.index.lines(path)[function.line - 1 : function.end_line])
        for key, value in numbers.items():
            if b'"' + key.encode("utf-8", "replace") + b'"' not in text or pointers.join(key) in found:
                continue
            bound = _bound(ground, path, function, key)
            if bound is not None and not bound.low <= value <= bound.high:
                found.append(pointers.join(key))
                why = (f"keeps {key} between {bound.low:g} and {bound.high:g}, without a word",)
                spots.append(Spot(path, bound.line, bound.end_line, function.name, "checks", 0.8, why))
    return found, spots


def _reached(ground: Ground, registered: Registered) -> list[tuple[str, Function]]:
    """The functions in C++ that a route leads to, guessed ones among them; none where its handler is not known."""
    if find_handler(ground.index, registered.file, registered.route) is None:
        return []
    return [
        (path, function) for path, function in _functions(ground) if (path, function.name) in _keys(ground, registered)
    ]


def _readers(ground: Ground, registered: Registered) -> list[tuple[str, Function]]:
    """The functions that may read the body of a route: what it leads to, and what may be run for it by others.

    Work that is queued is done by code that no call leads to. So all counts that somebody calls, apart from what only
    other routes lead to.
    """
    reached = _reached(ground, registered)
    if not reached:
        return []
    own = {(path, function.name) for path, function in reached}
    handlers = {
        (r.file, r.route.handler): r for r in ground.routes.known if r.route.handler != registered.route.handler
    }
    others: set[Key] = set().union(*(_keys(ground, r) for r in list(handlers.values())[:MAX_ROUTES])) - own
    called = {call.rpartition(".")[2] for _, function in _functions(ground) for call in function.calls}
    rest = [
        (path, function)
        for path, function in _functions(ground)
        if (path, function.name) not in own | others and function.name.rpartition(".")[2] in called
    ]
    return reached + rest


def _keys(ground: Ground, registered: Registered) -> set[Key]:
    reach = ground.reach(registered)
    reach.of("", "")
    return set(reach.depth)


def _functions(ground: Ground) -> list[tuple[str, Function]]:
    """All functions in C++ of the files read so far, those of tests and examples aside."""
    files = [(p, f) for p, f in ground.index.loaded.items() if language_of(p) is CPP and not ASIDE.search(p)]
    return [(path, function) for path, facts in files for function in facts.functions]


def _bound(ground: Ground, path: str, function: Function, key: str) -> Bound | None:
    """The two literal bounds in the chain of calls that begins with a key, or around the read of it."""
    root = root_at(ground.index, path)
    pending: list[Node] = [root] if root is not None else []
    while pending:
        node = pending.pop()
        if not (node.start_point[0] < function.end_line and node.end_point[0] >= function.line - 1):
            continue
        if node.type == "call_expression" and LIMITS.search(called(node)):
            found = _bounds(node, key)
            if found is not None:
                return found
        pending += node.named_children
    return None


def _bounds(call: Node, key: str) -> Bound | None:
    """`builder("k")->set_limits(a, b)` or `clamp(read("k"), a, b)`."""
    given = arguments(call)
    limits = [_number(each) for each in given[-2:]]
    target = call.child_by_field_name("function")
    if len(given) == 2 and target is not None and target.type == "field_expression":
        source: Node | None = target.child_by_field_name("argument")
    else:
        source = given[0] if len(given) == 3 else None
    low, high = (limits[0], limits[1]) if len(limits) == 2 else (None, None)
    if source is None or low is None or high is None or not _begins_with(source, key):
        return None
    return Bound(line_of(call), end_line_of(call), low, high)


def _begins_with(node: Node | None, key: str) -> bool:
    """Whether a chain of calls begins with the making of something for a key, or is a read of it."""
    for _ in range(24):
        if node is None:
            return False
        if node.type in {"call_expression", "new_expression"}:
            given = arguments(node)
            if any(string_of(each) == key for each in given[:2]):
                return True
            target = node.child_by_field_name("function")
            node = target.child_by_field_name("argument") if target is not None else None
        elif node.type == "parenthesized_expression":
            node = next(iter(node.named_children), None)
        else:
            return node.type == "subscript_expression" and f'"{key}"' in text_of(node)
    return False


def _number(node: Node) -> float | None:
    """A literal bound; infinite for the least and the greatest value of a type, None for what is not known."""
    spoken = text_of(node)
    if _INFINITE.search(spoken):
        return -math.inf if spoken.startswith("-") or re.search(r"lowest|_MIN$|::min", spoken) else math.inf
    found = _NUMBER.match(spoken)
    return float(found[0]) if found and node.type in {"number_literal", "unary_expression"} else None


def of_route(ground: Ground, registered: Registered, question: Question) -> tuple[list[str], list[Spot]]:
    """The keys of the body without effect on a route in C++, and the places that say so."""
    unread, readers = unread_keys(ground, registered, question)
    clamped, bounds = clamped_keys(ground, registered, question)
    return unread + clamped, bounds + readers


def is_cpp(registered: Registered) -> bool:
    """Whether a route is registered by code in C++."""
    return language_of(registered.file) is CPP
