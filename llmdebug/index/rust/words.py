"""Messages in Rust: literals, `format!` and its like."""

from __future__ import annotations

import re

from tree_sitter import Node

from llmdebug.index.facts import HOLE, Template
from llmdebug.index.grammar import text_of

STRINGS = ("string_literal", "raw_string_literal")
_PLACE = re.compile(r"\{\{|\}\}|\{([^{}:]*)(?::[^{}]*)?\}")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_NAME = re.compile(r"&?[A-Za-z_][\w.]*")
CONVERSIONS = frozenset(
    {"to_string", "to_owned", "into", "as_str", "into_response", "clone", "into_boxed_str", "as_ref", "to_lowercase"}
)
"""Methods that hand a text on as it is."""


def string_of(node: Node | None) -> str | None:
    """The value of a string literal; None for another node."""
    if node is None or node.type not in STRINGS:
        return None
    if node.type == "raw_string_literal":
        return "".join(text_of(child) for child in node.named_children if child.type == "string_content")
    pieces: list[str] = []
    folded = False
    for child in node.named_children:
        spoken = text_of(child)
        if child.type == "escape_sequence":
            folded = spoken[1:2] == "\n"
            pieces.append(_escaped(spoken))
        else:
            pieces.append(spoken.lstrip() if folded else spoken)
            folded = False
    return "".join(pieces)


def _escaped(spoken: str) -> str:
    """The character that an escape stands for; none for a line that goes on."""
    code = spoken[1:2]
    if code == "\n":
        return ""
    if code in {"u", "x"}:
        digits = spoken[2:].strip("{}")
        number = int(digits, 16) if re.fullmatch(r"[0-9a-fA-F]{1,6}", digits) else 0xFFFD
        return chr(number) if number < 0xD800 or 0xDFFF < number <= 0x10FFFF else "\N{REPLACEMENT CHARACTER}"
    return _ESCAPES.get(code, code)


def macro_name(node: Node) -> str:
    """The last part of the name of a macro that is used."""
    return text_of(node.child_by_field_name("macro")).rpartition("::")[2]


def tree_of(macro: Node) -> Node | None:
    """What a macro is handed."""
    return next((child for child in macro.named_children if child.type == "token_tree"), None)


def macro_arguments(tree: Node) -> list[list[Node]]:
    """The tokens between the commas of what a macro is handed."""
    arguments: list[list[Node]] = [[]]
    for child in tree.children[1:-1]:
        if child.type == ",":
            arguments.append([])
        else:
            arguments[-1].append(child)
    return [argument for argument in arguments if argument]


def filled(tree: Node) -> Template | None:
    """The message of `format!` and its like: the first argument that is a literal, filled with those after it."""
    arguments = macro_arguments(tree)
    for place, argument in enumerate(arguments):
        message = string_of(argument[0]) if len(argument) == 1 else None
        if message is not None:
            return of_format(message, arguments[place + 1 :])
    return None


def of_format(message: str, values: list[list[Node]] | None = None) -> Template | None:
    """The message of a format string; None where it holds no words."""
    spoken = ["".join(text_of(token) for token in value) for value in values or ()]
    plain = [value for value in spoken if not re.match(r"\w+=[^=]", value)]
    given = dict(value.split("=", 1) for value in spoken if value not in plain)
    parts: list[str | None] = []
    holes: list[str] = []
    position, place = 0, 0
    for hole in _PLACE.finditer(message):
        piece = message[position : hole.start()]
        position = hole.end()
        if hole[0] in {"{{", "}}"}:
            _add(parts, piece + hole[0][0])
            continue
        _add(parts, piece)
        name = hole[1].strip()
        if not name or name.isdigit():
            index = int(name[:6]) if name else place
            place += not name
            name = plain[index] if index < len(plain) else ""
        name = given.get(name, name).removesuffix(".to_string()")
        if not parts or parts[-1] is not HOLE:
            parts.append(HOLE)
            holes.append(name.lstrip("&") if _NAME.fullmatch(name) else "")
    _add(parts, message[position:])
    return Template(tuple(parts), tuple(holes)) if any(part for part in parts) else None


def _add(parts: list[str | None], piece: str) -> None:
    if piece and parts and parts[-1] is not HOLE:
        parts[-1] = f"{parts[-1]}{piece}"
    elif piece:
        parts.append(piece)


Texts = dict[str, list[tuple[int, Template]]]
"""The texts that names stand for, with the byte from which on each does."""


def text_at(names: Texts, node: Node) -> Template | None:
    """The text that a name stands for where it is used."""
    before = [told for start, told in names.get(text_of(node), ()) if start <= node.start_byte]
    return before[-1] if before else None


def template_of(node: Node | None, names: Texts) -> Template | None:
    """The message that an expression makes, `names` being texts that names stand for; None where it is none."""
    if node is None:
        return None
    match node.type:
        case "string_literal" | "raw_string_literal":
            spoken = string_of(node)
            return Template((spoken,)) if spoken else None
        case "macro_invocation":
            tree = tree_of(node) if macro_name(node) in {"format", "concat", "anyhow", "format_args"} else None
            return filled(tree) if tree is not None else None
        case "identifier":
            return text_at(names, node)
        case "reference_expression" | "parenthesized_expression":
            return template_of(node.named_children[-1], names) if node.named_children else None
        case "call_expression":
            target = node.child_by_field_name("function")
            if target is not None and target.type == "field_expression":
                called = text_of(target.child_by_field_name("field"))
                return template_of(target.child_by_field_name("value"), names) if called in CONVERSIONS else None
            held = node.child_by_field_name("arguments")
            if text_of(target) in {"String::from", "Some"} and held is not None and held.named_children:
                return template_of(held.named_children[0], names)
    return None
