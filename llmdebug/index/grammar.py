"""Source in languages other than Python, read by tree-sitter: one grammar a language, loaded when it is needed."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache

from tree_sitter import Language, Node, Parser

from llmdebug.index.facts import Template

MODULES = {"go": "tree_sitter_go", "rust": "tree_sitter_rust", "cpp": "tree_sitter_cpp"}
MAX_PARSED = 4_000_000
"""Bytes; larger files are tables of data."""


@cache
def _parser(language: str) -> Parser:
    return Parser(Language(importlib.import_module(MODULES[language]).language()))


def root_of(language: str, data: bytes) -> Node | None:
    """The syntax tree of a file, whatever is wrong in it; None where it is too large."""
    return _parser(language).parse(data).root_node if len(data) <= MAX_PARSED else None


def text_of(node: Node | None) -> str:
    """The source text of a node; empty for None."""
    return node.text.decode("utf-8", "replace") if node is not None and node.text is not None else ""


def line_of(node: Node) -> int:
    """The 1-based line that a node begins on."""
    return node.start_point[0] + 1


def end_line_of(node: Node) -> int:
    """The 1-based line that a node ends on."""
    return node.end_point[0] + 1


def within(node: Node, *types: str, but: frozenset[str] = frozenset()) -> Iterator[Node]:
    """The nodes of these types in a node, itself included, in the order of the source; `but` are not entered."""
    pending = [node]
    while pending:
        each = pending.pop()
        if each.type in types:
            yield each
        pending += [child for child in reversed(each.named_children) if child.type not in but]


def around(node: Node, *types: str) -> Node | None:
    """The nearest node of these types around a node."""
    parent = node.parent
    while parent is not None and parent.type not in types:
        parent = parent.parent
    return parent


def is_message(template: Template) -> bool:
    """Whether a text is long enough to be told from a name or a key."""
    words = "".join(part for part in template.parts if part)
    return len(words) >= 8 or " " in words.strip()
