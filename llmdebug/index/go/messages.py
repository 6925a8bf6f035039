"""The words that Go code refuses with: formats, concatenations, keyed errors, and the status beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http import HTTPStatus

from tree_sitter import Node

from llmdebug.index.facts import HOLE, Template
from llmdebug.index.formatted import formatted
from llmdebug.index.go.syntax import STRINGS, arguments_of, is_name, last_name, string_of
from llmdebug.index.grammar import text_of, within

ERROR_KEYS = frozenset({"error", "message", "msg", "detail", "reason"})
_VERB = re.compile(r"%%|%[-+# 0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?[a-zA-Z]")


def template_of(node: Node) -> Template | None:
    """The message that an expression makes; None where it holds no words."""
    parts, holes = _parts(node)
    return Template(tuple(parts), tuple(holes)) if any(part for part in parts) else None


def _parts(node: Node) -> tuple[list[str | None], list[str]]:
    if node.type in STRINGS:
        return [string_of(node) or ""], []
    if node.type == "binary_expression":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sides = [_parts(side) for side in (left, right) if side is not None]
        return [p for parts, _ in sides for p in parts], [h for _, holes in sides for h in holes]
    if is_format(node):
        arguments = arguments_of(node)
        names = [text_of(value) if is_name(value) else "" for value in arguments[1:]]
        return formatted(string_of(arguments[0]) or "", _VERB, names)
    return [HOLE], [text_of(node) if is_name(node) else ""]


def is_format(node: Node) -> bool:
    """Whether a call fills a message in: `fmt.Errorf` and its like."""
    if node.type != "call_expression" or not last_name(node.child_by_field_name("function")).endswith("f"):
        return False
    return bool(arguments_of(node)) and arguments_of(node)[0].type in STRINGS


def error_values(call: Node) -> Iterator[Node]:
    """The values of `error` and its like in what a call is handed."""
    for argument in arguments_of(call):
        for element in within(argument, "keyed_element", but=frozenset({"call_expression", "func_literal"})):
            key, value = element.named_children[0], element.named_children[-1]
            if text_of(key).strip('"').lower() in ERROR_KEYS:
                yield value.named_children[0] if value.type == "literal_element" and value.named_children else value


def status_of(call: Node) -> int | None:
    """The status among a call's arguments: `http.StatusBadRequest`, or a number."""
    for argument in arguments_of(call):
        spoken = text_of(argument)
        if spoken.startswith("http.Status"):
            name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", spoken.removeprefix("http.Status")).upper()
            found = HTTPStatus.__members__.get(name)
            return found.value if found is not None else None
        if re.fullmatch(r"[45]\d\d", spoken):
            return int(spoken)
    return None
