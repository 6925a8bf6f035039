"""What stands around a line of Rust: the names its condition reads, the variants of enums it is for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from tree_sitter import Node

from llmdebug.index.build import Index
from llmdebug.index.grammar import root_of, text_of, within
from llmdebug.index.languages import RUST

CONDITIONALS = frozenset({"if_expression", "while_expression"})
NAMES = ("identifier", "field_identifier")
SCOPED = ("scoped_identifier", "scoped_type_identifier")
MAX_LOOKED = 400
"""Declarations of a function that are looked through."""


@dataclass
class Surroundings:
    """Looks around lines of one tree; each file is parsed once."""

    index: Index
    _roots: dict[str, Node | None] = field(default_factory=dict)

    def _around(self, path: str, line: int) -> Iterator[Node]:
        """The nodes around the beginning of a line, innermost first, up to the function."""
        if path not in self._roots:
            data = self.index.tree.read(path)
            self._roots[path] = root_of(RUST.name, data) if data is not None else None
        root, lines = self._roots[path], self.index.lines(path)
        if root is None or not 0 < line <= len(lines):
            return
        column = len(lines[line - 1]) - len(lines[line - 1].lstrip())
        node = root.descendant_for_point_range((line - 1, column), (line - 1, column + 1))
        while node is not None:
            yield node
            if node.type == "function_item":
                return
            node = node.parent

    def names_before(self, path: str, line: int) -> list[str]:
        """The names that the nearest condition around a line reads, and those that they were made of, in order."""
        way = list(self._around(path, line))
        for inner, node in pairwise(way):
            condition = node.child_by_field_name("condition") if node.type in CONDITIONALS else None
            if condition is not None and condition != inner:
                names = [text_of(each) for each in within(condition, *NAMES)]
                return list(dict.fromkeys([*names, *_made_of(way[-1], node, names)]))
        return []

    def variants_around(self, path: str, line: int) -> list[str]:
        """The variants of enums that the branches around a line are for: `Enum.Variant`, innermost first."""
        found: list[str] = []
        for node in self._around(path, line):
            pattern = node.child_by_field_name("pattern") if node.type == "match_arm" else None
            if pattern is not None:
                found += [".".join(text_of(each).split("::")[-2:]) for each in within(pattern, *SCOPED)]
        return found


def _made_of(function: Node, before: Node, names: list[str]) -> Iterator[str]:
    """The names in what variables of a function are set to before a node."""
    for place, declared in enumerate(within(function, "let_declaration")):
        if place >= MAX_LOOKED or declared.start_byte >= before.start_byte:
            return
        target, value = declared.child_by_field_name("pattern"), declared.child_by_field_name("value")
        if target is not None and value is not None and text_of(target) in names:
            yield from (text_of(each) for each in within(value, *NAMES))
