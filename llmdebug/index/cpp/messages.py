"""The words of refusals in C++: literals, `+`, `printf` and `{}` formats, and texts of JSON written by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tree_sitter import Node

from llmdebug.index.cpp.syntax import MAX_DEPTH, NAMES, STRINGS, arguments, called, last, owner_of, string_of
from llmdebug.index.facts import HOLE, Template
from llmdebug.index.formatted import formatted
from llmdebug.index.grammar import text_of

ERROR_KEYS = frozenset({"error", "message", "msg", "detail", "details", "reason", "description"})
WRAPPERS = frozenset({"string", "to_string", "move", "c_str", "str", "what", "dump", "string_view", "data"})
"""Calls that hand on what they are given, or what they are called on, as text."""
FORMATS = re.compile(r"(?i)(^|_)(s?n?printf|str_?format|string_?format|format|strprintf|fmt)(_|$)|(?i:^\w*format\w*$)")
_VERB = re.compile(r"%%|%[-+# 0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j|t|L)?[a-zA-Z]|\{\{|\}\}|\{[^{}]*\}")
_IN_JSON = re.compile(r'"(?:error|message|msg|detail|details|reason|description)"\s*:\s*"')
_MAX_VALUES = 4

Values = Mapping[str, Sequence[tuple[int, Node, bool]]]
"""What the variables of a function are set to, by name, with the 0-based line of each and whether it declares them."""


def told(node: Node, values: Values, depth: int = 0) -> Iterator[Template]:
    """The messages in what a refusal is handed: texts, those of calls inside, error keys of JSON, local variables."""
    if depth > MAX_DEPTH:
        return
    if node.type in STRINGS or node.type == "binary_expression" or is_format(node):
        made = template_of(node)
        if made is not None:
            yield made
    elif node.type in {"call_expression", "compound_literal_expression"}:
        for argument in arguments(node):
            yield from told(argument, values, depth + 1)
    elif node.type == "initializer_list":
        yield from _keyed(node, values, depth)
    elif node.type == "conditional_expression":
        for side in node.named_children[1:]:
            yield from told(side, values, depth + 1)
    elif node.type == "identifier" and depth <= 2:
        for value in _before(values.get(text_of(node), ()), node.start_point[0]):
            if value.type != "identifier":
                yield from told(value, values, 3)


def _before(settings: Sequence[tuple[int, Node, bool]], line: int) -> list[Node]:
    """What a variable may hold at a line: its settings back to the declaration before it, the last first."""
    found: list[Node] = []
    for at, value, declares in reversed(settings):
        if at <= line and len(found) < _MAX_VALUES:
            found.append(value)
            if declares:
                break
    return found


def _keyed(node: Node, values: Values, depth: int) -> Iterator[Template]:
    """The values of `message` and its like in `{{"error", {{"message", "…"}}}}`."""
    parts = [part for part in node.named_children if part.type != "comment"]
    if len(parts) == 2 and string_of(parts[0]) is not None:
        if string_of(parts[0]) in ERROR_KEYS:
            yield from told(parts[1], values, depth + 1)
        return
    for part in parts:
        if part.type == "initializer_list":
            yield from _keyed(part, values, depth + 1)


def template_of(node: Node) -> Template | None:
    """The message that an expression makes; None where it holds no words."""
    parts, holes = _parts(node, 0)
    parts = _without_json(parts)
    return Template(tuple(parts), tuple(holes)) if any(part for part in parts) else None


def _parts(node: Node, depth: int) -> tuple[list[str | None], list[str]]:
    if depth > MAX_DEPTH:
        return [HOLE], [""]
    if node.type in STRINGS:
        return [string_of(node) or ""], []
    if node.type == "binary_expression":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sides = [_parts(side, depth + 1) for side in (left, right) if side is not None]
        return [p for parts, _ in sides for p in parts], [h for _, holes in sides for h in holes]
    if node.type == "parenthesized_expression" and node.named_children:
        return _parts(node.named_children[0], depth + 1)
    if is_format(node):
        given = arguments(node)
        return formatted(string_of(given[0]) or "", _VERB, [_spoken(value) for value in given[1:]])
    if node.type == "call_expression" and called(node) in WRAPPERS:
        given = arguments(node)
        if len(given) == 1 and owner_of(node) is None:
            return _parts(given[0], depth + 1)
    return [HOLE], [_spoken(node)]


def _spoken(node: Node) -> str:
    """The name of what fills a hole: `e.what` of `e.what()`, `x` of `x.dump()`; empty for an expression."""
    if node.type in NAMES:
        return text_of(node).replace("->", ".").replace("::", ".")
    if node.type == "call_expression" and called(node) in WRAPPERS:
        held = owner_of(node)
        if held is not None:
            return f"{_spoken(held)}.what" if called(node) == "what" else _spoken(held)
        given = arguments(node)
        return _spoken(given[0]) if len(given) == 1 else ""
    return ""


def is_format(node: Node) -> bool:
    """Whether a call fills a text in: `string_format("…%s…", x)` and its like."""
    if node.type != "call_expression" or not FORMATS.search(called(node)):
        return False
    given = arguments(node)
    return len(given) > 1 and given[0].type in STRINGS and _VERB.search(string_of(given[0]) or "") is not None


def _without_json(parts: list[str | None]) -> list[str | None]:
    """The words of a JSON text that is written by hand: what stands behind `"error": "`, up to the closing quote."""
    first = parts[0] if parts else None
    begin = _IN_JSON.search(first) if first and first.lstrip().startswith("{") else None
    if first is None or begin is None:
        return parts
    kept: list[str | None] = [first[begin.end() :], *parts[1:]]
    for place, part in enumerate(kept):
        end = re.search(r'(?<!\\)"', part) if part else None
        if part is not None and end is not None:
            kept = [*kept[:place], part[: end.start()]]
            break
    return [part for part in kept if part != ""]


def raised_by(node: Node) -> str:
    """The class that a `throw` throws; empty where it throws on what it caught."""
    thrown = next(iter(node.named_children), None)
    return called(thrown) or last(thrown) if thrown is not None else ""
