"""Expressions of C++ on a JSON document as nlohmann's library reads it, evaluated on a request as far as they go."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tree_sitter import Node

from llmdebug.index.cpp.bindings import Scoped
from llmdebug.index.cpp.syntax import MAX_DEPTH, STRINGS, arguments, called, last, owner_of, string_of
from llmdebug.index.grammar import text_of
from llmdebug.index.python.values import NOT_KNOWN, NOTHING, UNKNOWN, Value
from llmdebug.jsontext.pointer import join

BODY_NAMES = re.compile(
    r"(?i)^(?:\w+_)?(?:body|data|req|request|json|payload|params_json|input_json|j|root|obj|doc)\d?$"
)
PARSED = re.compile(r"(?i)body|payload|content|data|req")
TYPE_TESTS: dict[str, Callable[[Any], bool]] = {
    "is_string": lambda v: isinstance(v, str),
    "is_array": lambda v: isinstance(v, list),
    "is_object": lambda v: isinstance(v, dict),
    "is_boolean": lambda v: isinstance(v, bool),
    "is_null": lambda v: v is None,
    "is_number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "is_number_integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "is_number_unsigned": lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0,
    "is_number_float": lambda v: isinstance(v, float),
    "is_primitive": lambda v: not isinstance(v, list | dict),
    "is_structured": lambda v: isinstance(v, list | dict),
}
ON_AS_IT_IS = frozenset({"get", "get_ref", "value_or", "as_string", "c_str", "str", "data", "begin", "front_value"})
KEY_READERS = frozenset({"at", "value", "find", "contains", "count", "get_value", "has"})
MAX_CHOICES = 24
MAX_LOOKED_AT = 2_000
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: bool(a < b),
    ">": lambda a, b: bool(a > b),
    "<=": lambda a, b: bool(a <= b),
    ">=": lambda a, b: bool(a >= b),
    "==": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
}
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|[\d']+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)")


class Choice(Exception):
    """A name that may stand for several values: the caller tries each."""

    def __init__(self, name: str, values: list[Value]) -> None:
        super().__init__(name)
        self.name = name
        self.values = values[:MAX_CHOICES]


@dataclass
class Evaluator:
    """Evaluates expressions of one function on one body."""

    body: Any
    scoped: Scoped
    chosen: dict[str, Value]
    """What names stand for that may stand for several values."""
    guessed: bool = False
    """Whether a name was taken for what it is called: a parameter that nobody told the value of."""

    def value(self, node: Node | None, depth: int = 0) -> Value:
        """The value of an expression; unknown, with what it reads, where that can't be told.

        Raises Choice.
        """
        if node is None or depth > MAX_DEPTH:
            return NOT_KNOWN
        if node.type in STRINGS:
            return Value(string_of(node))
        match node.type:
            case "number_literal":
                return _number(text_of(node))
            case "true" | "false":
                return Value(node.type == "true")
            case "null" | "nullptr":
                return Value(None)
            case "identifier":
                return self._name(node, depth)
            case "parenthesized_expression" | "condition_clause" | "cast_expression":
                return self.value(node.child_by_field_name("value") or next(iter(node.named_children), None), depth + 1)
            case "unary_expression":
                return self._not(node, depth)
            case "binary_expression":
                return self._binary(node, depth)
            case "subscript_expression":
                return self._subscript(node, depth)
            case "call_expression":
                return self._call(node, depth)
            case "compound_literal_expression":
                return self._literal(node, depth)
            case "conditional_expression":
                return self._all(node.named_children, depth)
        return NOT_KNOWN

    def _all(self, nodes: list[Node], depth: int) -> Value:
        """Nothing known, but what was read for it."""
        return Value(UNKNOWN, frozenset().union(*(self.value(each, depth + 1).reads for each in nodes)))

    def _literal(self, node: Node, depth: int) -> Value:
        given = arguments(node)
        return self.value(given[0], depth + 1) if len(given) == 1 else _made(node) if not given else NOT_KNOWN

    def _name(self, node: Node, depth: int) -> Value:
        name = text_of(node)
        if name in self.chosen:
            return self.chosen[name]
        for setting in self.scoped.of(name, node.start_byte):
            if setting.varies:
                return NOT_KNOWN
            key = (name, setting.at)
            if key in self.scoped.seen:
                return NOT_KNOWN
            self.scoped.seen.add(key)
            try:
                found = self.value(setting.value, depth + 1)
            finally:
                self.scoped.seen.discard(key)
            if not setting.of_each:
                return found
            raise Choice(name, list(_elements(found)) or [Value(UNKNOWN, found.reads)])
        return self._taken_for(name)

    def _taken_for(self, name: str) -> Value:
        """What a parameter stands for by its name: the body, or what the body has under this name."""
        self.guessed = True
        if isinstance(self.body, dict) and name in self.body:
            return _child(Value(self.body, NOTHING, ""), name)
        if BODY_NAMES.match(name):
            return Value(self.body, NOTHING, "")
        inner = list(islice(_below(Value(self.body, NOTHING, ""), 0), MAX_LOOKED_AT))
        named = [v for v in inner if _key(v) in {name, name + "s"}]
        exact = [v for v in named if _key(v) == name]
        held = exact or [e for v in named for e in _elements(v)]
        if not held and name in {"msg", "message"}:
            held = [e for v in inner if _key(v) == "messages" for e in _elements(v)]
        if len(held) == 1:
            return held[0]
        if held:
            raise Choice(name, held)
        return NOT_KNOWN

    def _not(self, node: Node, depth: int) -> Value:
        inner = self.value(node.child_by_field_name("argument"), depth + 1)
        sign = text_of(node)[:1]
        if not inner.known:
            return Value(UNKNOWN, inner.reads)
        if sign == "!":
            return Value(not inner.value, inner.reads)
        if sign == "-" and isinstance(inner.value, int | float):
            return Value(-inner.value, inner.reads)
        return Value(UNKNOWN, inner.reads)

    def _binary(self, node: Node, depth: int) -> Value:
        left = self.value(node.child_by_field_name("left"), depth + 1)
        sign = text_of(node.child_by_field_name("operator"))
        if sign in {"&&", "and"} and left.known and not left.value:
            return Value(False, left.reads)
        if sign in {"||", "or"} and left.known and left.value:
            return Value(True, left.reads)
        right = self.value(node.child_by_field_name("right"), depth + 1)
        reads = left.reads | right.reads
        if sign in {"&&", "and"}:
            sure = right.known and not right.value
            return Value(False, right.reads) if sure else Value((left.known and right.known) or UNKNOWN, reads)
        if sign in {"||", "or"}:
            sure = right.known and bool(right.value)
            return Value(True, right.reads) if sure else Value(False if left.known and right.known else UNKNOWN, reads)
        if sign in COMPARED and left.known and right.known:
            try:
                return Value(COMPARED[sign](left.value, right.value), reads)
            except TypeError:
                return Value(UNKNOWN, reads)
        return Value(UNKNOWN, reads)

    def _subscript(self, node: Node, depth: int) -> Value:
        owner = self.value(node.child_by_field_name("argument"), depth + 1)
        held = node.child_by_field_name("indices")
        key = next(iter(held.named_children), None) if held is not None else None
        return self.under(owner, self.value(key, depth + 1), text_of(node))

    def under(self, owner: Value, key: Value, spoken: str) -> Value:
        """What an object, or a list, has under a key."""
        if isinstance(key.value, str) and owner.pointer is not None:
            return _child(owner, key.value)
        if isinstance(owner.value, list) and owner.pointer is not None:
            if key.known and isinstance(key.value, int):
                return next((e for i, e in enumerate(_elements(owner)) if i == key.value), NOT_KNOWN)
            if spoken in self.chosen:
                return self.chosen[spoken]
            raise Choice(spoken, list(_elements(owner)) or [Value(UNKNOWN, owner.reads)])
        return Value(UNKNOWN, owner.reads)

    def _call(self, node: Node, depth: int) -> Value:
        name, given = called(node), arguments(node)
        target = owner_of(node)
        if name == "parse" and given and PARSED.search(text_of(given[0])):
            return Value(self.body, NOTHING, "")
        if target is not None:
            return self._method(node, name, self.value(target, depth + 1), given, depth)
        if name in {"static_cast", "move", "forward", "string", "ref", "as_const", "json"} and len(given) == 1:
            return self.value(given[0], depth + 1)
        if not given:
            return _made(node)
        keyed = self._keyed(given, depth)
        return keyed if keyed is not None else self._all(given, depth)

    def _keyed(self, given: list[Node], depth: int) -> Value | None:
        """`json_value(body, "k", default)` and its like: a function that is handed an object and a quoted key."""
        if len(given) < 2 or given[0].type in STRINGS or string_of(given[1]) is None:
            return None
        owner, key = self.value(given[0], depth + 1), string_of(given[1]) or ""
        if owner.pointer is None or not isinstance(owner.value, dict | list):
            return None
        found = _child(owner, key)
        if len(given) == 2:
            return Value(UNKNOWN, found.reads)
        fallback = self.value(given[2], depth + 1)
        if found.known and found.value is not None and _alike(found.value, fallback):
            return found
        return Value(fallback.value, found.reads, found.pointer)

    def _method(self, node: Node, name: str, owner: Value, given: list[Node], depth: int) -> Value:
        key = string_of(given[0]) if given else None
        if name in TYPE_TESTS:
            return Value(TYPE_TESTS[name](owner.value) if owner.known else UNKNOWN, owner.reads)
        if name in {"empty", "size", "length"}:
            return _measured(name, owner)
        if name in {"contains", "count", "has"} and key is not None and owner.pointer is not None:
            known = owner.known
            there = isinstance(owner.value, dict) and key in owner.value
            return Value(there if known else UNKNOWN, frozenset({join_key(owner, key)}))
        if name in {"at", "value", "find"} and given and owner.pointer is not None:
            found = self.under(owner, self.value(given[0], depth + 1), text_of(node))
            if name == "value" and len(given) > 1 and not found.known:
                return Value(self.value(given[1], depth + 1).value, found.reads, found.pointer)
            return found
        return owner if name in ON_AS_IT_IS else Value(UNKNOWN, owner.reads | self._all(given, depth).reads)


def join_key(owner: Value, key: str) -> str:
    """The pointer of what an object has under a key."""
    return (owner.pointer or "") + join(key)


def _child(owner: Value, key: str) -> Value:
    pointer = join_key(owner, key)
    held = owner.value[key] if isinstance(owner.value, dict) and key in owner.value else UNKNOWN
    return Value(held, frozenset({pointer}), pointer)


def _elements(owner: Value) -> Iterator[Value]:
    if owner.pointer is None or not isinstance(owner.value, list):
        return
    for place, element in enumerate(owner.value[:MAX_CHOICES]):
        pointer = f"{owner.pointer}/{place}"
        yield Value(element, frozenset({pointer}), pointer)


def _below(owner: Value, depth: int) -> Iterator[Value]:
    """All values below one."""
    if depth > MAX_CHOICES:
        return
    inner = [_child(owner, key) for key in owner.value] if isinstance(owner.value, dict) else list(_elements(owner))
    for each in inner:
        yield each
        yield from _below(each, depth + 1)


def _key(value: Value) -> str:
    return (value.pointer or "").rpartition("/")[2]


def _measured(name: str, owner: Value) -> Value:
    value = owner.value if owner.known else UNKNOWN
    if value is UNKNOWN or not isinstance(value, str | list | dict):
        empty = value is None and name == "empty"
        return Value(True if empty else UNKNOWN, owner.reads)
    return Value(not value if name == "empty" else len(value), owner.reads)


def _alike(value: Any, fallback: Value) -> bool:
    """Whether a value is of the type of the default that it would take the place of."""
    if not fallback.known or fallback.value is None or isinstance(fallback.value, list | dict):
        return True
    if isinstance(fallback.value, str):
        return isinstance(value, str)
    if isinstance(fallback.value, bool):
        return isinstance(value, bool)
    return isinstance(value, int | float)


def _made(node: Node) -> Value:
    """An empty value that a call without arguments makes."""
    target = node.child_by_field_name("function") or node.child_by_field_name("type")
    spoken = text_of(target)
    if last(target) == "string" or spoken.endswith("string_view"):
        return Value("")
    if spoken.endswith("json::array"):
        return Value([])
    if spoken.endswith("json::object"):
        return Value({})
    return Value(None) if spoken.rpartition("::")[2] == "json" else NOT_KNOWN


def _number(text: str) -> Value:
    found = _NUMBER.match(text)
    if found is None:
        return NOT_KNOWN
    told = found[0].replace("'", "")
    try:
        return Value(int(told, 0) if not re.search(r"[.eE]", told) or told[:2].lower() == "0x" else float(told))
    except ValueError:
        return NOT_KNOWN
