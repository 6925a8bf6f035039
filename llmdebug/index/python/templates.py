"""Messages in source: an expression that makes a text, as templates with holes."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from llmdebug.index.facts import HOLE, Template
from llmdebug.index.python.syntax import dotted, last_name, string

MAX_ALTERNATIVES = 6
MAX_DEPTH = 12
FORMAT_HOLE = re.compile(r"\{\{|\}\}|\{[^{}]*\}")
PERCENT_HOLE = re.compile(r"%%|%(?:\([^)]*\))?[-+ #0]*[\d*]*(?:\.[\d*]+)?[sdrifgexXac]")
PASSED_THROUGH = frozenset({"strip", "lstrip", "rstrip", "lower", "upper", "dedent", "cleandoc", "encode", "replace"})
TRANSLATORS = frozenset({"_", "gettext", "Markup", "repr", "str"})
_WORD = re.compile(r"[^\W\d_]{3}")

Names = Mapping[str, Sequence[ast.expr]]
"""A name to the expressions that are assigned to it."""
NO_NAMES: Names = {}
Part = tuple[str | None, str]
"""A literal and an empty string, or HOLE and the source text of what fills it."""


def templates_of(expression: ast.expr, names: Names) -> tuple[Template, ...]:
    """The texts that an expression can make; those without a word in them are left out."""
    found = []
    for parts in _alternatives(expression, names, 0):
        template = _merged(parts)
        if any(part and _WORD.search(part) for part in template.parts):
            found.append(template)
    return tuple(found)


def makes_text(expression: ast.expr, names: Names = NO_NAMES) -> bool:
    """Whether an expression is itself a text, rather than something that holds texts."""
    match expression:
        case ast.Name(id=name) if name in names:
            return any(makes_text(value) for value in names[name])
        case ast.JoinedStr() | ast.Constant(value=str()):
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod(), right=right):
            return makes_text(left, names) or (isinstance(expression.op, ast.Add) and makes_text(right, names))
        case ast.Call(func=ast.Attribute(value=value, attr=attr)):
            return attr in {"format", "join"} | PASSED_THROUGH and makes_text(value, names)
        case ast.Call(func=func, args=[first, *_]):
            return last_name(func) in TRANSLATORS | PASSED_THROUGH and makes_text(first, names)
        case ast.IfExp(body=body, orelse=orelse):
            return makes_text(body, names) or makes_text(orelse, names)
        case ast.BoolOp(values=values):
            return any(makes_text(value, names) for value in values)
    return False


def _merged(parts: Sequence[Part]) -> Template:
    """Neighbouring literals joined, neighbouring holes made one."""
    merged: list[str | None] = []
    holes: list[str] = []
    for literal, hole in parts:
        if literal is None:
            if merged and merged[-1] is HOLE:
                holes[-1] = ""
            else:
                merged.append(HOLE)
                holes.append(hole)
        elif literal:
            if merged and merged[-1] is not None:
                merged[-1] += literal
            else:
                merged.append(literal)
    return Template(tuple(merged), tuple(holes))


def _alternatives(node: ast.expr, names: Names, depth: int) -> list[list[Part]]:
    if depth > MAX_DEPTH:
        return [[(HOLE, "")]]
    match node:
        case ast.Constant(value=str(value)):
            return [[(value, "")]]
        case ast.Constant(value=value):
            return [[(str(value), "")]]
        case ast.JoinedStr(values=values):
            return _sequence([_formatted(value, names, depth) for value in values])
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _sequence([_alternatives(left, names, depth + 1), _alternatives(right, names, depth + 1)])
        case ast.BinOp(left=left, op=ast.Mod()):
            return [_split(parts, PERCENT_HOLE, "%%", "%") for parts in _alternatives(left, names, depth + 1)]
        case ast.IfExp(body=body, orelse=orelse):
            return (_alternatives(body, names, depth + 1) + _alternatives(orelse, names, depth + 1))[:MAX_ALTERNATIVES]
        case ast.BoolOp(values=values):
            return [a for value in values for a in _alternatives(value, names, depth + 1)][:MAX_ALTERNATIVES]
        case ast.Name(id=name) if name in names:
            found = [a for value in names[name] for a in _alternatives(value, names, depth + 3)]
            return found[:MAX_ALTERNATIVES] or [[(HOLE, name)]]
        case ast.Call():
            return _call(node, names, depth)
    return [[(HOLE, dotted(node))]]


def _formatted(node: ast.expr, names: Names, depth: int) -> list[list[Part]]:
    if not isinstance(node, ast.FormattedValue):
        return _alternatives(node, names, depth + 1)
    inner = node.value
    if (isinstance(inner, ast.Name) and inner.id in names) or string(inner) is not None:
        return _alternatives(inner, names, depth + 1)
    if isinstance(inner, ast.IfExp) and makes_text(inner):
        return _alternatives(inner, names, depth + 1)
    return [[(HOLE, dotted(inner))]]


def _call(node: ast.Call, names: Names, depth: int) -> list[list[Part]]:
    func = node.func
    if isinstance(func, ast.Attribute):
        if func.attr == "format":
            inner = _alternatives(func.value, names, depth + 1)
            return [_split(parts, FORMAT_HOLE, "{{", "{") for parts in inner]
        if func.attr == "join" and node.args and isinstance(node.args[0], ast.List | ast.Tuple):
            glue = string(func.value) or ""
            pieces: list[list[list[Part]]] = []
            for element in node.args[0].elts:
                if pieces:
                    pieces.append([[(glue, "")]])
                pieces.append(_alternatives(element, names, depth + 1))
            return _sequence(pieces)
        if func.attr in PASSED_THROUGH and makes_text(func.value):
            return _alternatives(func.value, names, depth + 1)
    if last_name(func) in TRANSLATORS | PASSED_THROUGH and node.args and makes_text(node.args[0]):
        return _alternatives(node.args[0], names, depth + 1)
    return [[(HOLE, dotted(node.args[0]) if node.args else dotted(node))]]


def _sequence(pieces: Sequence[list[list[Part]]]) -> list[list[Part]]:
    """One alternative for each choice of alternatives of the pieces, bounded."""
    made: list[list[Part]] = [[]]
    for piece in pieces:
        made = [before + after for before in made for after in piece][:MAX_ALTERNATIVES]
    return made


def _split(parts: list[Part], hole: re.Pattern[str], escaped: str, plain: str) -> list[Part]:
    """The literals cut at the holes of a format string."""
    out: list[Part] = []
    for literal, filling in parts:
        if literal is None:
            out.append((literal, filling))
            continue
        position = 0
        for match in hole.finditer(literal):
            out.append((literal[position : match.start()], ""))
            if match[0] in (escaped, "}}"):
                out.append((plain if match[0] == escaped else "}", ""))
            else:
                out.append((HOLE, match[0].strip("{}%()sdrf").split("!")[0].split(":")[0]))
            position = match.end()
        out.append((literal[position:], ""))
    return out
