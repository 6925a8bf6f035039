"""Calls of Python's own functions and methods on known values; all others are the surroundings' to follow."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llmdebug.index.python import comprehensions, library
from llmdebug.index.python.operations import (
    FUNCTIONS,
    MAX_ITEMS,
    METHODS,
    MUTATORS,
    STREAMS,
    attribute_lacking,
    carry_out,
    is_instance,
    is_json,
    is_plain,
    items_of,
    iterated,
)
from llmdebug.index.python.syntax import dotted
from llmdebug.index.python.values import (
    NOT_KNOWN,
    NOTHING,
    UNKNOWN,
    Doubtful,
    Instance,
    Stream,
    Value,
    join,
    row,
)

if TYPE_CHECKING:
    from llmdebug.index.python.evaluate import Evaluator

MATHEMATICAL = frozenset({"math.isfinite", "math.isnan", "math.isinf"})
TAKES_ELEMENTS = frozenset(
    {"list", "set", "tuple", "frozenset", "sorted", "sum", "min", "max", "dict", "enumerate", "zip"}
)
"""Functions that take the elements of their argument at once."""


def call(evaluator: Evaluator, node: ast.Call) -> Value:
    """What a call gives."""
    func = node.func
    if isinstance(func, ast.Name):
        if func.id in {"isinstance", "hasattr", "getattr", "type"}:
            return _about(evaluator, func.id, node)
        if func.id in {"any", "all"} and len(node.args) == 1:
            argument = node.args[0]
            if isinstance(argument, ast.GeneratorExp):
                return comprehensions.any_all(evaluator, func.id == "any", argument.elt, argument.generators)
        if func.id in FUNCTIONS:
            return _builtin(evaluator, func.id, node)
        if func.id in STREAMS:
            return _stream(evaluator, func.id, node)
    if dotted(func) in MATHEMATICAL:
        return _builtin(evaluator, dotted(func).rpartition(".")[2], node)
    if isinstance(func, ast.Attribute) and dotted(func) in library.FUNCTIONS:
        return _library(evaluator, library.FUNCTIONS[dotted(func)], node)
    if isinstance(func, ast.Attribute):
        owner = evaluator.value(func.value)
        if owner.known and not isinstance(owner.value, Instance):
            return _method(evaluator, owner, func.attr, node)
        return evaluator.followed(node, owner)
    return evaluator.followed(node, None)


def _about(evaluator: Evaluator, name: str, node: ast.Call) -> Value:
    """isinstance, hasattr, getattr and type."""
    if not node.args or any(isinstance(a, ast.Starred) for a in node.args):
        return NOT_KNOWN
    subject = evaluator.value(node.args[0])
    if name == "isinstance" and len(node.args) == 2:
        return Value(is_instance(subject.value, node.args[1]), subject.reads)
    if name in {"getattr", "hasattr"} and len(node.args) >= 2 and isinstance(node.args[1], ast.Constant):
        wanted = str(node.args[1].value)
        if isinstance(subject.value, Instance):
            known = subject.value.get(wanted)
            if name == "hasattr":
                return Value(True if known else UNKNOWN)
            if known:
                return known
        if not subject.known or isinstance(subject.value, Instance):
            access = ast.copy_location(ast.Attribute(node.args[0], wanted, ast.Load()), node)
            found = evaluator.surroundings.attribute(subject, wanted, access)
            return found if name == "getattr" else Value(UNKNOWN, found.reads)
        if is_json(subject.value) and not hasattr(subject.value, wanted):
            if name == "hasattr":
                return Value(False, subject.reads)
            if len(node.args) == 3:
                return evaluator.value(node.args[2])
    return Value(UNKNOWN, subject.reads)


def _builtin(evaluator: Evaluator, name: str, node: ast.Call) -> Value:
    if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        return evaluator.followed(node, None)
    if name == "bool" and len(node.args) == 1:
        holds, reads = evaluator.truth(node.args[0])
        return Value(UNKNOWN if holds is None else holds, reads)
    given = [_argument(evaluator, name, argument) for argument in node.args]
    reads = join(*given)
    taken = [_elements(g) if isinstance(g.value, Stream) else g for g in given]
    if not all(g.known and is_plain(g.value) for g in taken):
        return Value(UNKNOWN, reads)
    return carry_out(FUNCTIONS[name], node.lineno, reads, *(g.value for g in taken))


def _library(evaluator: Evaluator, function: Callable[..., Any], node: ast.Call) -> Value:
    """A function of the standard library; its options are not looked at where they cannot make it refuse."""
    given = [evaluator.value(argument) for argument in node.args if not isinstance(argument, ast.Starred)]
    reads = join(*given)
    if len(given) != len(node.args):
        return Value(UNKNOWN, reads)
    return carry_out(function, node.lineno, reads, *(g.value if is_plain(g.value) else UNKNOWN for g in given))


def _argument(evaluator: Evaluator, name: str, node: ast.expr) -> Value:
    if isinstance(node, ast.GeneratorExp) and name in TAKES_ELEMENTS:
        return comprehensions.elements(evaluator, node.elt, node.generators)
    return evaluator.value(node)


def _elements(found: Value) -> Value:
    """The elements of a stream as a list."""
    items = items_of(found)
    return Value([item.value for item in items] if items is not None else UNKNOWN, found.reads)


def _stream(evaluator: Evaluator, name: str, node: ast.Call) -> Value:
    """enumerate, range, reversed and zip."""
    given = [_argument(evaluator, name, a) for a in node.args if not isinstance(a, ast.Starred)]
    reads = join(*given)
    if node.keywords or len(given) != len(node.args) or not given:
        return Value(UNKNOWN, reads)
    if name == "zip":
        columns = [iterated(g, node.lineno) for g in given]
        known = [c for c in columns if c is not None]
        if len(known) != len(columns):
            return Value(UNKNOWN, reads)
        rows = [row(parts) for parts in zip(*known, strict=False)]
        return Value(Stream([Value(r, join(*r.parts)) for r in rows]), reads)
    if name == "range":
        return _range(given, node.lineno, reads)
    if name == "reversed":
        if len(given) != 1 or not is_plain(given[0].value):
            return Value(UNKNOWN, reads)
        carry_out(reversed, node.lineno, reads, given[0].value)
        items = items_of(given[0])
        return Value(Stream(items[::-1]) if items is not None else UNKNOWN, reads)
    start = given[1].value if len(given) > 1 else 0
    items = iterated(given[0], node.lineno)
    if items is None or not isinstance(start, int) or len(given) > 2:
        return Value(UNKNOWN, reads)
    rows = [row((Value(number), item)) for number, item in enumerate(items, start)]
    return Value(Stream([Value(r, join(*r.parts)) for r in rows]), reads)


def _range(given: list[Value], line: int, reads: frozenset[str]) -> Value:
    if not all(g.known and is_plain(g.value) for g in given):
        return Value(UNKNOWN, reads)
    numbers = carry_out(range, line, reads, *(g.value for g in given)).value
    try:
        few = len(numbers) <= MAX_ITEMS
    except OverflowError:
        few = False
    return Value(Stream([Value(n, reads) for n in numbers], once=False) if few else UNKNOWN, reads)


def _method(evaluator: Evaluator, owner: Value, name: str, node: ast.Call) -> Value:
    kind = type(owner.value)
    if name in MUTATORS.get(kind, ()):
        return _mutate(evaluator, owner, name, node)
    if name not in METHODS.get(kind, ()):
        attribute_lacking(owner, name, node.lineno)
        for argument in node.args:
            if not isinstance(argument, ast.Starred):
                evaluator.quietly(argument)
        return Value(UNKNOWN, owner.reads)
    given = [evaluator.value(a) for a in node.args if not isinstance(a, ast.Starred)]
    reads = join(owner, *given)
    if len(given) != len(node.args) or node.keywords:
        return Value(UNKNOWN, reads)
    if name == "get" and kind is dict:
        return _get(owner, given, node.lineno)
    if not all(g.known and is_plain(g.value) for g in given):
        return Value(UNKNOWN, reads)
    if kind is str and any(_holds_doubt(g.value) for g in given):
        return Value(UNKNOWN, reads)
    if name in {"values", "items"} and not given:
        return Value(_view(owner, name), reads, owner.pointer)
    return carry_out(getattr(owner.value, name), node.lineno, reads, *(g.value for g in given))


def _holds_doubt(value: Any) -> bool:
    """Whether an element is unknown: methods of str look at its class alone."""
    return isinstance(value, list | tuple) and any(isinstance(element, Doubtful) for element in value)


def _view(owner: Value, name: str) -> Stream:
    pairs = []
    for key, value in owner.value.items():
        at = None if owner.pointer is None or not isinstance(key, str) else f"{owner.pointer}/{_step(key)}"
        pairs.append((Value(key, owner.reads), Value(value, owner.reads | ({at} if at else NOTHING), at)))
    if name == "values":
        return Stream([value for _, value in pairs], once=False)
    rows = [row(pair) for pair in pairs]
    return Stream([Value(r, join(*r.parts)) for r in rows], once=False)


def _step(key: Any) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def _get(owner: Value, given: list[Value], line: int) -> Value:
    """`d.get(key, default)`: the pointer to the key is read also where it is absent."""
    reads = join(owner, *given)
    if not given or len(given) > 2 or not given[0].known:
        if given and not given[0].known:
            return Value(UNKNOWN, reads)
        return carry_out(owner.value.get, line, reads, *(g.value for g in given))
    key = given[0].value
    at = f"{owner.pointer}/{_step(key)}" if owner.pointer is not None and isinstance(key, str) else None
    inside = carry_out(lambda: key in owner.value, line, reads)
    reads |= {at} if at is not None else NOTHING
    if not inside.known:
        return Value(UNKNOWN, reads)
    if inside.value:
        return Value(owner.value[key], reads, at)
    return Value(given[1].value if len(given) > 1 else None, reads)


def _mutate(evaluator: Evaluator, owner: Value, name: str, node: ast.Call) -> Value:
    """A method that changes its object: carried out on a copy, which then stands in the object's place."""
    given = [_argument(evaluator, "list", a) for a in node.args if not isinstance(a, ast.Starred)]
    reads = join(owner, *given, *(evaluator.value(word.value) for word in node.keywords))
    given = [_elements(g) if isinstance(g.value, Stream) else g for g in given]
    stored = {"append": 0, "insert": 1, "setdefault": 1}.get(name)
    told = len(given) == len(node.args) and not node.keywords and not (name == "pop" and isinstance(owner.value, set))
    if not told or not all(is_plain(g.value) or place == stored for place, g in enumerate(given)):
        evaluator.surroundings.replace(owner.value, UNKNOWN, reads)
        return Value(UNKNOWN, reads)
    changed = owner.value.copy()
    arguments = [g.value for g in given]
    at = None
    if owner.pointer is not None and isinstance(owner.value, dict) and arguments and isinstance(arguments[0], str):
        at = f"{owner.pointer}/{_step(arguments[0])}"
    reads |= {at} if at is not None else NOTHING
    made = carry_out(getattr(changed, name), node.lineno, reads, *arguments)
    evaluator.surroundings.replace(owner.value, changed, reads)
    return Value(made.value, made.reads, at if at is not None and arguments[0] in owner.value else None)
