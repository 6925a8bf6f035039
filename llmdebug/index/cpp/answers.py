"""What a refusal in C++ is answered with: kinds of errors, statuses beside it, code that all handlers run in."""

from __future__ import annotations

import re

from tree_sitter import Node

from llmdebug.index.cpp.syntax import arguments, called, string_of
from llmdebug.index.grammar import around, line_of, text_of, within

CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
STATUS = re.compile(r"(?:^|_)([45]\d\d)$")
STATUS_NAME = re.compile(r"(?i)(?:status|code)(?:_code)?$")
BLOCKS = ("compound_statement", "case_statement", "function_definition", "lambda_expression")


def answered(call: Node) -> tuple[str, int | None]:
    """The kind of error, and the status, that a refusing call names."""
    kind, status = "", None
    for argument in arguments(call):
        for node in within(argument, "identifier", "number_literal", "qualified_identifier"):
            spoken = text_of(node).rpartition("::")[2]
            if found := STATUS.search(spoken):
                status = int(found[1])
            elif CONSTANT.fullmatch(spoken):
                kind = spoken
    return kind, status


def status_in(node: Node) -> int | None:
    """The status that a JSON error itself names."""
    for pair in within(node, "initializer_list"):
        parts = pair.named_children
        if len(parts) == 2 and string_of(parts[0]) in {"code", "status"} and STATUS.search(text_of(parts[1])):
            return int(text_of(parts[1]))
    return status_before(node)


def status_before(node: Node) -> int | None:
    """The status that a statement beside this one in the same block sets."""
    block = around(node, *BLOCKS)
    if block is None:
        return None
    found: int | None = None
    for statement in block.named_children:
        for each in within(statement, "assignment_expression", but=frozenset(BLOCKS)):
            status = STATUS.search(text_of(each.child_by_field_name("right")))
            if status and STATUS_NAME.search(text_of(each.child_by_field_name("left"))):
                found = int(status[1]) if line_of(each) <= line_of(node) or found is None else found
    return found


def runs_handler(tried: Node) -> bool:
    """Whether a block runs a handler that it was given, or throws on what one threw."""
    for call in within(tried, "call_expression"):
        if called(call) == "rethrow_exception":
            return True
        if any(re.fullmatch(r"(?:\w*_)?req(?:uest)?", text_of(argument)) for argument in arguments(call)):
            return True
    return False
