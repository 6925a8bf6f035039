"""Declared types in plain words."""

from __future__ import annotations

import json

from llmdebug.index.python.types import Either, Limited, ListOf, MapOf, Object, OneOf, Scalar, TupleOf, Type

MAX_OPTIONS = 4
MAX_VALUES = 5
MAX_DEPTH = 6

SCALARS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "none": "null",
    "file": "a file",
}
PLURALS = {"str": "texts", "int": "whole numbers", "float": "numbers", "bool": "truth values", "file": "files"}
BOUND_WORDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
LENGTH_WORDS = {"min_length": "at least", "max_length": "at most", "min_items": "at least", "max_items": "at most"}


def described(kind: Type) -> str:
    """What a type admits; empty where it admits anything, or the tree does not tell."""
    return _words(kind, 0)


def _words(kind: Type, depth: int) -> str:
    if depth > MAX_DEPTH:
        return ""
    match kind:
        case Scalar(name):
            return SCALARS.get(name, "")
        case OneOf(values):
            shown = [json.dumps(value) for value in values[:MAX_VALUES] if isinstance(value, str | int | float | bool)]
            return _joined(shown) + (" (and others)" if len(values) > MAX_VALUES else "")
        case ListOf(item):
            inner = _plural(item, depth + 1)
            return f"a list of {inner}" if inner else "a list"
        case TupleOf(items):
            return f"a list of {len(items)}"
        case MapOf() | Object():
            return "an object"
        case Limited(inner, bounds):
            return _limited(_words(inner, depth + 1), bounds)
        case Either(options, _):
            found = [_words(option, depth + 1) for option in options]
            if not all(found):
                return ""
            unique = list(dict.fromkeys(found))
            return _joined(unique[:MAX_OPTIONS]) + (" (and others)" if len(unique) > MAX_OPTIONS else "")
    return ""


def _joined(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1] if words else ""


def _plural(kind: Type, depth: int) -> str:
    match kind:
        case Scalar(name):
            return PLURALS.get(name, "")
        case Limited(inner, _):
            return _plural(inner, depth)
        case ListOf(item):
            inner_words = _plural(item, depth + 1) if depth < MAX_DEPTH else ""
            return f"lists of {inner_words}" if inner_words else "lists"
        case MapOf() | Object():
            return "objects"
        case Either(options, _) if depth < MAX_DEPTH:
            found = list(dict.fromkeys(_plural(option, depth + 1) for option in options))
            return " or ".join(found) if all(found) and len(found) <= 3 else ""
    return ""


def _limited(words: str, bounds: tuple[tuple[str, object], ...]) -> str:
    told = [f"{BOUND_WORDS[name]} {value}" for name, value in bounds if name in BOUND_WORDS]
    told += [f"{LENGTH_WORDS[name]} {value} long" for name, value in bounds if name in LENGTH_WORDS]
    return f"{words} ({', '.join(told)})" if words and told else words
