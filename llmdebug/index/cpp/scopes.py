"""Functions of C++ and the lambdas that count as such: their names, what they call, what they register."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from llmdebug.index.cpp.syntax import NAMES, arguments, called, declared_name, last, string_of
from llmdebug.index.facts import Function, Parameter
from llmdebug.index.grammar import end_line_of, line_of, text_of

VERBS = {name: name.upper() for name in ("get", "post", "put", "delete", "patch", "options", "head")} | {
    "del": "DELETE"
}
HOOKS = frozenset({"set_pre_routing_handler", "set_pre_request_handler"})
"""Registrations of what sees each request before the routes."""
OTHER_HOOKS = frozenset({"set_error_handler", "set_exception_handler", "set_post_routing_handler"})
REQUEST = re.compile(r"^\[[^\]]*\]\s*\([^)]*[Rr]eq")
"""The heading of a lambda that takes a request."""


@dataclass
class Scope:
    """A function, or a lambda that has a name."""

    symbol: str
    node: Node
    calls: list[Node] = field(default_factory=list)
    values: dict[str, list[tuple[int, Node, bool]]] = field(default_factory=dict)
    """What its variables are set to."""
    spoken: list[Node] = field(default_factory=list)
    """Statements and expressions that may refuse, calls aside."""


@dataclass(frozen=True, slots=True)
class Place:
    """A node on the way through a file; asking a node for its parent would walk down from the root each time."""

    node: Node
    parent: Node | None
    grand: Node | None
    scope: Scope
    owner: str = ""
    """The class around it."""
    said: bool = False
    """Whether a refusal around it tells its words already."""


def function_of(scope: Scope) -> Function:
    calls = dict.fromkeys(_spoken(call.child_by_field_name("function")) for call in scope.calls)
    handed = (argument for call in scope.calls for argument in arguments(call) if argument.type in NAMES)
    calls |= dict.fromkeys(_spoken(argument) for argument in handed)
    return Function(
        name=scope.symbol,
        line=line_of(scope.node),
        end_line=end_line_of(scope.node),
        parameters=tuple(parameters_of(scope.node)),
        calls=tuple(call for call in calls if call),
    )


def _spoken(target: Node | None) -> str:
    """A call as facts tell it: `name`, `namespace.name`, `self.name`, `~local.name`, `.name` on an expression."""
    name = last(target)
    if target is None or not name:
        return ""
    if target.type == "field_expression":
        held = target.child_by_field_name("argument")
        if held is None or text_of(held) == "this":
            return f"self.{name}"
        return f"~{text_of(held)}.{name}" if held.type == "identifier" else f".{name}"
    if target.type == "qualified_identifier":
        scope = last(target.child_by_field_name("scope")) or text_of(target.child_by_field_name("scope"))
        return "" if scope == "std" else f"{scope}.{name}" if scope.isidentifier() else name
    return name


def symbol_of(here: Place) -> str:
    """The name of a function, or of a lambda that has one; empty for others."""
    node, scope, owner, parent = here.node, here.scope, here.owner, here.parent
    if node.type == "function_definition":
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "function_declarator":
            declarator = declarator.child_by_field_name("declarator") or next(iter(declarator.named_children), None)
        target = declarator.child_by_field_name("declarator") if declarator is not None else None
        if target is None:
            return ""
        held = _scope_name(target)
        name = last(target) or text_of(target)
        return f"{held or owner}.{name}" if held or owner else name
    within_symbol = f"{scope.symbol}." if scope.symbol else ""
    if parent is None:
        return ""
    if parent.type == "init_declarator":
        return within_symbol + declared_name(parent.child_by_field_name("declarator"))
    if parent.type == "assignment_expression":
        left = parent.child_by_field_name("left")
        if left is not None and left.type == "field_expression" and text_of(left).startswith("this->"):
            return f"{scope.symbol.rpartition('.')[0]}.{last(left)}".lstrip(".")
        return within_symbol + last(left)
    call = here.grand
    if parent.type == "argument_list" and call is not None and call.type == "call_expression":
        return name_of_handed(call, within_symbol)
    return ""


def name_of_handed(call: Node, within_symbol: str) -> str:
    """The name of a lambda that a registration is handed."""
    name, given = called(call), arguments(call)
    first = string_of(given[0]) if len(given) > 1 else None
    path = path_of(given[0]) if name.lower() in VERBS and len(given) > 1 else None
    if path is None and first and not any(c.isspace() for c in first) and REQUEST.search(text_of(given[-1])[:200]):
        path = first
    if path is not None:
        return f"{within_symbol}{name} {path.replace('.', '_')}"
    return within_symbol + name if name in HOOKS | OTHER_HOOKS else ""


def _scope_name(target: Node) -> str:
    """The class, or else the namespace, that a definition `A::B::f` belongs to."""
    found = ""
    while target.type == "qualified_identifier":
        scope, name = target.child_by_field_name("scope"), target.child_by_field_name("name")
        found = last(scope) or text_of(scope)
        if name is None:
            break
        target = name
    return found if found.isidentifier() else ""


def parameters_of(node: Node) -> Iterator[Parameter]:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.child_by_field_name("parameters") is None:
        declarator = declarator.child_by_field_name("declarator") or next(iter(declarator.named_children), None)
    held = declarator.child_by_field_name("parameters") if declarator is not None else None
    for declared in held.named_children if held is not None else ():
        name = declared_name(declared.child_by_field_name("declarator"))
        if name:
            yield Parameter(name, line=line_of(declared))


def path_of(node: Node, prefix: str = "") -> str | None:
    """The path that a registration names, its parameters as `{name}`; None for what is no path."""
    text = string_of(node)
    text = prefix + text if text is not None else None
    if text is None and node.type == "binary_expression":
        right = node.child_by_field_name("right")
        text = string_of(right)
    if text is None and node.type == "call_expression" and len(arguments(node)) == 1:
        text = string_of(arguments(node)[0])
    if text is None or not text.startswith("/") or any(c.isspace() for c in text):
        return None
    text = re.sub(r"/:(\w+)", r"/{\1}", text)
    return re.sub(r"\((?!\?)[^()]*\)", "{value}", text)


def named_in(node: Node) -> Iterator[str]:
    """The functions that a registration names, also as arguments of others that wrap them."""
    if node.type in NAMES:
        yield last(node)
    elif node.type == "call_expression":
        yield called(node)
        for argument in arguments(node):
            yield from named_in(argument)
    elif node.type == "pointer_expression" and node.named_children:
        yield from named_in(node.named_children[0])
