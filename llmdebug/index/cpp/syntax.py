"""The shapes of C++ that every reader of it needs: names, arguments, strings."""

from __future__ import annotations

import re

from tree_sitter import Node

from llmdebug.index.grammar import text_of

STRINGS = ("string_literal", "raw_string_literal", "concatenated_string")
NAMES = ("identifier", "field_expression", "qualified_identifier")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{1,2}|.)", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
MAX_DEPTH = 40
"""How deep an expression is read."""


def string_of(node: Node | None) -> str | None:
    """The value of a string literal, adjacent ones joined; None for another node."""
    if node is None or node.type not in STRINGS:
        return None
    if node.type == "concatenated_string":
        return "".join(string_of(part) or "" for part in node.named_children)
    if node.type == "raw_string_literal":
        held = next((c for c in node.named_children if c.type == "raw_string_content"), None)
        return text_of(held)
    return _ESCAPE.sub(_escaped, text_of(node).partition('"')[2].removesuffix('"'))


def _escaped(match: re.Match[str]) -> str:
    told = match[1]
    if told[0] in "ux" and len(told) > 1:
        return chr(int(told[1:], 16))
    return _CONTROL.get(told, told)


def arguments(call: Node) -> list[Node]:
    """What a call, or the making of an object, is handed."""
    held = call.child_by_field_name("arguments") or call.child_by_field_name("value")
    if held is None or held.type not in {"argument_list", "initializer_list"}:
        return []
    return [each for each in held.named_children if each.type != "comment"]


def last(node: Node | None) -> str:
    """The last part of a name, without template arguments: `f` of `ns::f`, `a.f`, `a->f<int>`."""
    while node is not None:
        match node.type:
            case "field_expression":
                node = node.child_by_field_name("field")
            case "qualified_identifier" | "template_function" | "template_method" | "template_type" | "dependent_name":
                node = node.child_by_field_name("name") or next(iter(node.named_children), None)
            case "parenthesized_expression" | "reference_declarator" | "pointer_declarator":
                node = next(iter(node.named_children), None)
            case "identifier" | "field_identifier" | "type_identifier" | "destructor_name" | "operator_name":
                return text_of(node)
            case _:
                return ""
    return ""


def called(call: Node) -> str:
    """The last part of the name of what is called, or of the type of what is made."""
    target = call.child_by_field_name("function") or call.child_by_field_name("type")
    return last(target)


def owner_of(call: Node) -> Node | None:
    """What a method is called on; None for a call of a function."""
    target = call.child_by_field_name("function")
    return target.child_by_field_name("argument") if target is not None and target.type == "field_expression" else None


def declared_name(node: Node | None) -> str:
    """The name that a declarator declares, whatever pointers, references and parameters are around it."""
    while node is not None:
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in {"reference_declarator", "pointer_declarator", "parenthesized_declarator"}:
            inner = next(iter(node.named_children), None)
        if inner is None:
            return last(node)
        node = inner
    return ""
