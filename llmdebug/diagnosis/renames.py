"""Fields that code hands on under another name: `max_new_tokens=request.max_tokens`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.takers import Taker, taking
from llmdebug.index.facts import Function
from llmdebug.index.python.models import Model


def renames(ground: Ground, functions: Iterable[tuple[str, Function]], model: Model) -> dict[str, tuple[str, ...]]:
    """New names to the fields that stand behind them, the one that is taken first before the others."""
    found: dict[str, tuple[str, ...]] = {}
    for taker in taking(ground, functions, model, set()):
        for name, fields in _handed_on(taker, model):
            if name not in model.fields:
                found.setdefault(name, fields)
    return found


def _handed_on(taker: Taker, model: Model) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The keys of mappings and the keywords of calls that are given fields of the request as they are."""
    arguments = taker.node.args
    parameters = {a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]} & model.fields.keys()
    for part in ast.walk(taker.node):
        pairs: list[tuple[str, ast.expr]] = []
        match part:
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        pairs.append((key.value, value))
            case ast.Call(keywords=keywords):
                pairs = [(word.arg, word.value) for word in keywords if word.arg]
        for name, value in pairs:
            fields = _fields(value, taker, parameters)
            if fields and name not in fields:
                yield name, fields


def _fields(node: ast.expr, taker: Taker, parameters: set[str]) -> tuple[str, ...]:
    """The fields that an expression is: one, or the first of several that is given; empty for another expression."""
    match node:
        case ast.Attribute(value=ast.Name(id=holder), attr=name) if holder in taker.holders:
            return (name,)
        case ast.Name(id=name) if name in parameters:
            return (name,)
        case ast.BoolOp(op=ast.Or(), values=values):
            each = [_fields(value, taker, parameters) for value in values]
            return tuple(name for fields in each for name in fields) if all(each) else ()
    return ()
