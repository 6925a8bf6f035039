"""What the names in a function of C++ are set to, and the tests on the way to one of its lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from tree_sitter import Node

from llmdebug.index.cpp.syntax import declared_name
from llmdebug.index.grammar import end_line_of, line_of

LEAVING = frozenset({"return_statement", "throw_statement", "continue_statement", "break_statement"})
FUNCTIONS = ("function_definition", "lambda_expression")
STATEMENTS = frozenset(
    {"expression_statement", "throw_statement", "return_statement", "declaration", "if_statement", "call_expression"}
)


@dataclass(frozen=True, slots=True)
class Setting:
    """A place where a variable is set: to a value, or by a loop to each element of one."""

    at: int
    """First byte of the statement."""
    until: int
    """Last byte of the block in which it holds."""
    value: Node
    of_each: bool = False
    varies: bool = False
    """Whether a loop counts it on."""


@dataclass(frozen=True, slots=True)
class Test:
    """A condition, and whether it holds where a line is reached."""

    condition: Node
    holds: bool
    is_exit: bool = False
    """Whether it left the function, or the turn of a loop, before the line."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What surrounds a line of a function."""

    settings: dict[str, list[Setting]]
    tests: list[Test]
    """From the outermost to the innermost."""
    target: Node


def function_at(root: Node, line: int) -> Node | None:
    """The function, or the lambda, that begins on a line and is the longest of those."""
    found: Node | None = None
    pending = [root]
    while pending:
        node = pending.pop()
        if not node.start_point[0] + 1 <= line <= end_line_of(node):
            continue
        if node.type in FUNCTIONS and line_of(node) == line and (found is None or node.end_byte > found.end_byte):
            found = node
        pending += node.named_children
    return found


def surroundings(function: Node, line: int) -> Surroundings | None:
    """What surrounds the statement that begins on a line; None where none does."""
    way = _way(function, line)
    if not way:
        return None
    return Surroundings(_settings(function), _tests(way), way[-1])


def _way(function: Node, line: int) -> list[Node]:
    """The nodes from a function down to the outermost statement that begins on a line, else the inmost around it."""
    way: list[Node] = []
    length = 0
    node: Node | None = function
    while node is not None:
        way.append(node)
        if node is not function and node.type in STATEMENTS | LEAVING:
            length = len(way)
            if line_of(node) == line and node.type != "if_statement":
                return way
        holding = [c for c in node.named_children if line_of(c) <= line <= end_line_of(c) and c.type != "comment"]
        node = holding[-1] if holding else None
    return way[:length]


def _tests(way: list[Node]) -> list[Test]:
    found: list[Test] = []
    for above, below in pairwise(way):
        condition = _condition(above)
        if above.type == "if_statement" and condition is not None:
            then = above.child_by_field_name("consequence")
            if below == then:
                found.append(Test(condition, True))
            elif below == above.child_by_field_name("alternative"):
                found.append(Test(condition, False))
        if above.type in {"compound_statement", "case_statement"}:
            found += _exits(above, below)
    return found


def _exits(block: Node, here: Node) -> list[Test]:
    """The tests before a statement of a block that leave it."""
    found: list[Test] = []
    for statement in block.named_children:
        if statement.start_byte >= here.start_byte:
            break
        condition = _condition(statement)
        if statement.type == "if_statement" and condition is not None:
            then = statement.child_by_field_name("consequence")
            inner = then.named_children[-1:] if then is not None and then.type == "compound_statement" else [then]
            if inner and inner[0] is not None and inner[0].type in LEAVING:
                found.append(Test(condition, False, is_exit=True))
    return found


def _condition(node: Node) -> Node | None:
    held = node.child_by_field_name("condition") if node.type == "if_statement" else None
    return held.child_by_field_name("value") or held if held is not None else None


def _settings(function: Node) -> dict[str, list[Setting]]:
    found: dict[str, list[Setting]] = {}
    pending: list[tuple[Node, int, bool]] = [(function, function.end_byte, False)]
    while pending:
        node, until, counts = pending.pop()
        name, value, of_each = "", None, False
        if node.type == "init_declarator":
            name, value = declared_name(node.child_by_field_name("declarator")), node.child_by_field_name("value")
        elif node.type == "assignment_expression":
            left = node.child_by_field_name("left")
            if left is not None and left.type == "identifier":
                name, value = declared_name(left), node.child_by_field_name("right")
        elif node.type == "for_range_loop":
            name, value = declared_name(node.child_by_field_name("declarator")), node.child_by_field_name("right")
            of_each, until = True, node.end_byte
        if name and value is not None:
            if value.type in {"argument_list", "initializer_list"} and len(value.named_children) == 1:
                value = value.named_children[0]
            found.setdefault(name, []).append(Setting(node.start_byte, until, value, of_each, counts))
        inner = node.end_byte if node.type in {"compound_statement", "for_statement", "lambda_expression"} else until
        body = node.child_by_field_name("body") if node.type == "for_statement" else None
        counts = counts if node.type not in {"for_statement", "compound_statement"} else body is not None
        pending += [(child, inner, counts and child != body) for child in reversed(node.named_children)]
    for settings in found.values():
        settings.sort(key=lambda each: each.at)
    return found


@dataclass(slots=True)
class Scoped:
    """The settings that hold at one place."""

    settings: dict[str, list[Setting]]
    seen: set[tuple[str, int]] = field(default_factory=set)

    def of(self, name: str, at: int) -> list[Setting]:
        """The settings of a variable that may hold at a place, the nearest first."""
        return [s for s in reversed(self.settings.get(name, ())) if s.at < at <= s.until]
