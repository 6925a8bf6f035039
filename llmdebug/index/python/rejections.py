"""Statements that can refuse a request, with the texts that they refuse with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Literal

from llmdebug.index.facts import Rejection, Template
from llmdebug.index.python.syntax import dotted, keyword, last_name, status_of, string
from llmdebug.index.python.templates import Names, makes_text, templates_of

MAX_TEMPLATES = 12
ERROR_LIKE = re.compile(
    r"err(?:or)?s?(?:$|_|[A-Z])|Err|exception|invalid|reject|abort|fail|bad_?request|forbid|unauthor|deny", re.I
)
ANSWER_LIKE = re.compile(r"response|respond|send|write|reply|dumps|json|event", re.I)
LOGGING = re.compile(r"^(?:logger|logging|log|_logger|LOG|LOGGER|warnings|console|print|tqdm)$")
NO_MESSAGE_KEYWORDS = frozenset(
    {"type", "err_type", "error_type", "code", "param", "parameter", "media_type", "object", "name", "key", "id"}
)
MESSAGE_KEYS = frozenset({"error", "errors", "message", "msg", "detail", "details", "reason", "description"})

Role = Literal["raises", "returns", "checks", "internal"]


def note_name(statement: ast.stmt, names: dict[str, list[ast.expr]]) -> None:
    """Keep what text a statement assigns to a name, in place of what the name stood for before."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _text_like(value):
            names[name] = [value]
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if _text_like(value):
            names[name] = [value]
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value) if name in names:
            names[name] = [ast.copy_location(ast.BinOp(before, ast.Add(), value), statement) for before in names[name]]


def _text_like(value: ast.expr) -> bool:
    if isinstance(value, ast.Call) and not makes_text(value):
        return ERROR_LIKE.search(last_name(value)) is not None
    return makes_text(value)


def rejection_of(statement: ast.stmt, symbol: str, names: Names) -> Rejection | None:
    """What a simple statement refuses with; None where it refuses nothing."""
    match statement:
        case ast.Raise(exc=ast.expr() as raised):
            return _raise(statement, raised, symbol, names)
        case ast.Assert(test=test, msg=message):
            found = templates_of(message, names) if message else ()
            return _rejection(statement, symbol, "raises", found, "AssertionError", message or test)
        case ast.Return(value=ast.expr() as value):
            return _answer(statement, value, symbol, names, "returns")
        case ast.Expr(value=ast.Yield(value=ast.expr() as value)):
            return _answer(statement, value, symbol, names, "returns")
        case ast.Expr(value=ast.Await(value=value)) | ast.Expr(value=value):
            return _effect(statement, value, symbol, names)
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return _assignment(statement, value, symbol, names)
    return None


def _raise(statement: ast.Raise, raised: ast.expr, symbol: str, names: Names) -> Rejection | None:
    if isinstance(raised, ast.Name) and raised.id in names:
        alternatives = [n for n in names[raised.id] if isinstance(n, ast.Call)]
        if alternatives:
            inner = tuple(t for a in alternatives for t in texts_in(a, names))[:MAX_TEMPLATES]
            return _rejection(statement, symbol, "raises", inner, last_name(alternatives[0]), alternatives[0])
    return _rejection(
        statement, symbol, "raises", tuple(texts_in(raised, names))[:MAX_TEMPLATES], last_name(raised), raised
    )


def _answer(statement: ast.stmt, value: ast.expr, symbol: str, names: Names, role: Role) -> Rejection | None:
    """A returned or yielded value: a text, or something built with texts."""
    if isinstance(value, ast.Await):
        value = value.value
    found = tuple(texts_in(value, names))[:MAX_TEMPLATES]
    status = _status(value)
    if not found and (status is None or status < 400):
        return None
    callee = last_name(value) if isinstance(value, ast.Call) else ""
    return _rejection(statement, symbol, role, found, callee, value)


def _effect(statement: ast.stmt, value: ast.expr, symbol: str, names: Names) -> Rejection | None:
    """A call made for its effect: sends an error, collects a complaint."""
    if not isinstance(value, ast.Call) or LOGGING.match(dotted(value.func).partition(".")[0]):
        return None
    if any(LOGGING.match(part) for part in dotted(value.func).split(".")[:-1]):
        return None
    callee = last_name(value)
    found = tuple(texts_in(value, names))[:MAX_TEMPLATES]
    if not found:
        return None
    named = ERROR_LIKE.search(callee) or ANSWER_LIKE.search(callee) or callee in {"append", "extend", "add", "put"}
    return _rejection(statement, symbol, "checks" if named else "internal", found, callee, value)


def _assignment(statement: ast.stmt, value: ast.expr, symbol: str, names: Names) -> Rejection | None:
    found = tuple(texts_in(value, names))[:MAX_TEMPLATES]
    if not found:
        return None
    callee = last_name(value) if isinstance(value, ast.Call) else ""
    errors = bool(callee and ERROR_LIKE.search(callee)) or _holds_error_keys(value)
    return _rejection(statement, symbol, "checks" if errors else "internal", found, callee, value)


def _holds_error_keys(value: ast.expr) -> bool:
    return isinstance(value, ast.Dict) and any(string(key) in MESSAGE_KEYS for key in value.keys)


def _rejection(
    statement: ast.stmt, symbol: str, role: Role, found: tuple[Template, ...], raised: str, value: ast.expr
) -> Rejection:
    return Rejection(
        line=statement.lineno,
        end_line=statement.end_lineno or statement.lineno,
        symbol=symbol,
        role=role,
        templates=found,
        raised=raised,
        status=_status(value),
        param=_param(value),
    )


def _status(value: ast.expr) -> int | None:
    """The status among the arguments of a call, however deep, or behind what is returned."""
    if isinstance(value, ast.Tuple):
        behind = next((status for status in map(status_of, value.elts[1:]) if status and status >= 400), None)
        if behind is not None:
            return behind
    for call in _calls(value):
        for argument in [keyword(call, "status_code", "status", "code", "err_code", "http_status"), *call.args]:
            status = status_of(argument)
            if status is not None and status >= 400:
                return status
    return None


def _param(value: ast.expr) -> str | None:
    for call in _calls(value):
        found = string(keyword(call, "param", "parameter", "field", "params"))
        if found:
            return found
    return None


def _calls(value: ast.expr) -> Iterator[ast.Call]:
    return (node for node in ast.walk(value) if isinstance(node, ast.Call))


def texts_in(value: ast.expr, names: Names, depth: int = 0) -> Iterator[Template]:
    """The templates of all texts that a value is built of, keys and type names left out."""
    if depth > 8:
        return
    match value:
        case ast.Name(id=name) if name in names:
            for assigned in names[name]:
                if makes_text(assigned):
                    yield from templates_of(assigned, names)
                else:
                    yield from texts_in(assigned, {}, depth + 1)
        case ast.Dict(keys=keys, values=values):
            for key, item in zip(keys, values, strict=True):
                if string(key) not in NO_MESSAGE_KEYWORDS:
                    yield from texts_in(item, names, depth + 1)
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            for item in items:
                yield from texts_in(item, names, depth + 1)
        case _ if makes_text(value, names):
            yield from templates_of(value, names)
        case ast.Call(func=ast.Attribute(attr="encode", value=ast.Call() as inner)) if not makes_text(inner, names):
            yield from texts_in(inner, names, depth + 1)
        case ast.Call(args=args, keywords=keywords):
            for item in args:
                yield from texts_in(item, names, depth + 1)
            for word in keywords:
                if word.arg not in NO_MESSAGE_KEYWORDS:
                    yield from texts_in(word.value, names, depth + 1)
        case ast.Starred(value=inner) | ast.Await(value=inner) | ast.NamedExpr(value=inner):
            yield from texts_in(inner, names, depth + 1)
        case ast.BoolOp(values=values):
            for item in values:
                yield from texts_in(item, names, depth + 1)
        case ast.IfExp(body=body, orelse=orelse):
            yield from texts_in(body, names, depth + 1)
            yield from texts_in(orelse, names, depth + 1)
