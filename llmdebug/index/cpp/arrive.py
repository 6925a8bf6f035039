"""Whether a request leads to a line of a function in C++, and what the tests on the way read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tree_sitter import Node

from llmdebug.index.cpp.bindings import Scoped, Surroundings, function_at, surroundings
from llmdebug.index.cpp.evaluate import Choice, Evaluator
from llmdebug.index.cpp.syntax import arguments, owner_of, string_of
from llmdebug.index.grammar import within
from llmdebug.index.python.values import NOT_KNOWN, NOTHING, Value

MAX_TRIED = 240
"""Ways to fill the names that may stand for several values."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One way to a line."""

    certain: bool
    """Whether all tests around it hold for the request."""
    near: frozenset[str] = NOTHING
    """What the innermost test that reads something reads."""
    reads: frozenset[str] = NOTHING
    holder: Value = NOT_KNOWN
    """What the line reads a key from, where it was asked for one."""


def arrivals(root: Node, function_line: int, line: int, body: Any, key: str = "") -> tuple[list[Arrival], bool]:
    """The ways that a request may take to a line, those that are certain first; and whether it surely takes none.

    `key`: what the line reads, and whose holder is asked for.
    """
    function = function_at(root, function_line)
    around = surroundings(function, line) if function is not None else None
    if around is None:
        return [], False
    found: list[Arrival] = []
    pending: list[dict[str, Value]] = [{}]
    tried, guessed = 0, False
    while pending and tried < MAX_TRIED:
        tried += 1
        chosen = pending.pop()
        evaluator = Evaluator(body, Scoped(around.settings), chosen)
        try:
            arrival = _along(around, evaluator, key)
        except Choice as choice:
            pending += [{**chosen, choice.name: value} for value in reversed(choice.values)]
            continue
        finally:
            guessed = guessed or evaluator.guessed
        if arrival is not None:
            found.append(arrival)
    found.sort(key=lambda each: not each.certain)
    return found, not found and not guessed and not pending


def _along(around: Surroundings, evaluator: Evaluator, key: str) -> Arrival | None:
    """The way to a line with names filled in; None where a test does not hold."""
    certain, reads = True, NOTHING
    near = NOTHING
    for test in around.tests:
        said = evaluator.value(test.condition)
        if said.known and bool(said.value) is not test.holds:
            return None
        if test.is_exit:
            continue
        certain = certain and said.known
        reads |= said.reads
        near = said.reads or near
    return Arrival(certain and bool(reads), near, reads, _holder(around.target, evaluator, key))


def _holder(statement: Node, evaluator: Evaluator, key: str) -> Value:
    """What a statement reads a key from."""
    for node in within(statement, "call_expression", "subscript_expression") if key else ():
        held = node.child_by_field_name("indices") if node.type == "subscript_expression" else None
        given = held.named_children if held is not None else arguments(node)
        if given and string_of(given[0]) == key:
            return evaluator.value(node.child_by_field_name("argument") or owner_of(node))
    return NOT_KNOWN
