"""Nodes of Go's syntax: names, strings, arguments, receivers, types in Python's terms."""

from __future__ import annotations

import re

from tree_sitter import Node

from llmdebug.index.grammar import around, text_of

FUNCTIONS = ("function_declaration", "method_declaration")
STRINGS = ("interpreted_string_literal", "raw_string_literal")
SCALARS = {"string": "str", "bool": "bool", "byte": "int", "rune": "int", "any": "Any", "error": "Any"}


def annotation_of(kind: Node | None) -> str:
    """A type of Go in Python's terms."""
    match kind.type if kind is not None else "":
        case "pointer_type" if kind is not None:
            return f"Optional[{annotation_of(kind.named_children[0])}]"
        case "slice_type" | "array_type" if kind is not None:
            element = annotation_of(kind.child_by_field_name("element"))
            return "str" if text_of(kind) == "[]byte" else f"list[{element}]"
        case "map_type" if kind is not None:
            return f"dict[str, {annotation_of(kind.child_by_field_name('value'))}]"
        case "struct_type":
            return "struct"
        case "type_identifier":
            name = text_of(kind)
            if name in SCALARS:
                return SCALARS[name]
            return "int" if re.fullmatch(r"u?int\d*", name) else "float" if name.startswith("float") else name
        case "qualified_type" | "generic_type":
            return text_of(kind).partition("[")[0]
    return "Any"


def string_of(node: Node | None) -> str | None:
    """The value of a string literal; None for another node."""
    if node is None or node.type not in STRINGS:
        return None
    inner = text_of(node)[1:-1]
    if node.type == "raw_string_literal":
        return inner
    return re.sub(r'\\(["\\nt])', lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), inner)


def arguments_of(call: Node) -> list[Node]:
    held = call.child_by_field_name("arguments")
    return [a for a in held.named_children if a.type != "comment"] if held is not None else []


def last_name(node: Node | None) -> str:
    return text_of(node).rpartition(".")[2]


def is_name(node: Node) -> bool:
    return node.type in {"identifier", "selector_expression"}


def receiver_of(node: Node) -> tuple[str, str]:
    """The name and the type of what a method is called on; empty for a function."""
    held = node.child_by_field_name("receiver")
    if held is None or not held.named_children:
        return "", ""
    declared = held.named_children[0]
    kind = text_of(declared.child_by_field_name("type")).lstrip("*").partition("[")[0]
    return text_of(declared.child_by_field_name("name")), kind


def assigned_to(call: Node) -> list[str]:
    holder = around(call, "short_var_declaration", "assignment_statement", *FUNCTIONS)
    left = holder.child_by_field_name("left") if holder is not None else None
    return [text_of(name) for name in left.named_children] if left is not None else []


def statement_of(node: Node) -> Node:
    return around(node, "return_statement", "expression_statement", "assignment_statement") or node
