"""Patterns of `match` statements held against values."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from llmdebug.index.python.operations import carry_out
from llmdebug.index.python.values import NOT_KNOWN, Instance, Stream, Value


def matches(pattern: ast.pattern, subject: Value) -> bool | None:
    """Whether a value matches; None where that can't be told."""
    match pattern:
        case ast.MatchAs(pattern=None):
            return True
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return matches(inner, subject)
        case ast.MatchOr(patterns=patterns):
            found = [matches(p, subject) for p in patterns]
            return True if True in found else None if None in found else False
    if not subject.known or isinstance(subject.value, Stream):
        return None
    match pattern:
        case ast.MatchValue(value=ast.Constant(value=wanted)) if not isinstance(subject.value, Instance):
            equal = carry_out(lambda: bool(subject.value == wanted), pattern.lineno, subject.reads)
            return equal.value if equal.known else None
        case ast.MatchSingleton(value=wanted):
            return subject.value is wanted
        case ast.MatchClass(
            cls=ast.Name(id="str" | "int" | "dict" | "list" | "bool" | "float" as name), patterns=[]
        ) if not pattern.kwd_patterns and not isinstance(subject.value, Instance):
            kinds = {"str": str, "int": int, "dict": dict, "list": list, "bool": bool, "float": float}
            return isinstance(subject.value, kinds[name])
    return None


def captured(pattern: ast.pattern, subject: Value) -> Iterator[tuple[str, Value]]:
    """The names that a pattern binds; the value where it binds the whole subject."""
    for node in ast.walk(pattern):
        match node:
            case ast.MatchAs(name=str(name)):
                yield name, subject if node is pattern else NOT_KNOWN
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name, NOT_KNOWN
