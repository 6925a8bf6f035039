"""Constants of a tree: literals, names of literals, and the arithmetic and well-known limits that make them up."""

from __future__ import annotations

import ast
import math
import re
import sys

from llmdebug.index.build import Index
from llmdebug.index.facts import Class
from llmdebug.index.python.names import define
from llmdebug.index.python.operations import BINARY, UNARY, grows
from llmdebug.index.python.syntax import dotted

MAX_DEPTH = 12
MAX_SOURCE = 400
KNOWN: dict[str, object] = {"math.inf": math.inf, "math.pi": math.pi, "sys.maxsize": sys.maxsize}
_INTEGER = re.compile(r"\b(u?)int(8|16|32|64)\b|\b(long|int|short)\b")
_WORDS = {"long": "64", "int": "32", "short": "16"}
_LIMITS_OF_TYPES = "iinfo"


def constant(index: Index, path: str, source: str, depth: int = 0) -> object:
    """The value of a constant expression, its names followed through the tree; raises LookupError where it is none."""
    try:
        return literal(source)
    except LookupError:
        return _followed(index, path, source, depth)


def literal(source: str) -> object:
    """The value of a literal's source text; raises LookupError where it is no literal."""
    try:
        return ast.literal_eval(source)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise LookupError(source) from error


def _followed(index: Index, path: str, source: str, depth: int) -> object:
    if depth > MAX_DEPTH or len(source) > MAX_SOURCE:
        raise LookupError(source)
    try:
        node = ast.parse(source, mode="eval").body
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise LookupError(source) from error
    return _value(index, path, node, depth)


def _value(index: Index, path: str, node: ast.expr, depth: int) -> object:
    match node:
        case ast.Constant(value):
            return value
        case ast.Name() | ast.Attribute():
            return _named(index, path, node, depth)
        case ast.UnaryOp(op, operand) if type(op) in UNARY:
            return _carried_out(UNARY[type(op)], _number(index, path, operand, depth))
        case ast.BinOp(left, op, right) if type(op) in BINARY:
            sides = _number(index, path, left, depth), _number(index, path, right, depth)
            if grows(op, *sides):
                raise LookupError(ast.dump(node)[:80])
            return _carried_out(BINARY[type(op)], *sides)
        case ast.Call(func=ast.Name(id="float" | "int" as name), args=[inner]):
            return _carried_out({"float": float, "int": int}[name], _value(index, path, inner, depth + 1))
    raise LookupError(ast.dump(node)[:80])


def _number(index: Index, path: str, node: ast.expr, depth: int) -> int | float:
    found = _value(index, path, node, depth + 1)
    if not isinstance(found, int | float):
        raise LookupError(ast.dump(node)[:80])
    return found


def _carried_out(operation: object, *values: object) -> object:
    try:
        return operation(*values)  # type: ignore[operator]
    except (ArithmeticError, ValueError, TypeError) as error:
        raise LookupError(str(values)[:80]) from error


def _named(index: Index, path: str, node: ast.Name | ast.Attribute, depth: int) -> object:
    """What a name stands for: an assignment of the tree, a member of a class, or a limit that libraries define."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
        return _limit(node.value, node.attr)
    name = dotted(node)
    if not name:
        raise LookupError(ast.dump(node)[:80])
    found = define(index, path, name)
    if found is None and name in KNOWN:
        return KNOWN[name]
    if found is None and "." in name:
        owner, _, member = name.rpartition(".")
        holder = define(index, path, owner)
        if holder and isinstance(holder.item, Class):
            members = {**dict(holder.item.members), **{f.name: f.default for f in holder.item.fields if f.default}}
            if member in members:
                return constant(index, holder.path, str(members[member]), depth + 1)
    if found and isinstance(found.item, str):
        return constant(index, found.path, found.item, depth + 1)
    raise LookupError(name)


def _limit(call: ast.Call, side: str) -> int:
    """The bounds of an integer type, as `torch.iinfo(torch.int64).max` and NumPy's alike give them."""
    asked = dotted(call.func) or ""
    told = _INTEGER.search(dotted(call.args[0]) or "") if len(call.args) == 1 else None
    if asked.rpartition(".")[2] != _LIMITS_OF_TYPES or told is None or side not in {"min", "max"}:
        raise LookupError(asked)
    unsigned, bits = bool(told[1]), int(told[2] or _WORDS[told[3]])
    if side == "min":
        return 0 if unsigned else -(1 << (bits - 1))
    return (1 << bits) - 1 if unsigned else (1 << (bits - 1)) - 1
