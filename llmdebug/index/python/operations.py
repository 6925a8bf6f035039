"""What may be carried out on values of a request: Python's own operations, by a table of what is allowed.

Sizes are bounded; an operation that the value does not have is reported as the crash that it would be.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

from llmdebug.index.python.syntax import dotted
from llmdebug.index.python.values import UNKNOWN, Crash, Doubt, Instance, Row, Stream, Value

MAX_ITEMS = 3_000
MAX_SIZE = 1_000_000
MAX_NUMBER = 1e18
MAX_BITS = 2_048
_WIDE = re.compile(r"%[^a-zA-Z%]*(?:\d{3}|\*)")
"""A place in a `%` format that asks for many characters."""

Keys: type[Any] = type({}.keys())

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}
IN_PLACE: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.iadd,
    ast.Sub: operator.isub,
    ast.Mult: operator.imul,
    ast.Div: operator.itruediv,
    ast.FloorDiv: operator.ifloordiv,
    ast.Mod: operator.imod,
    ast.Pow: operator.ipow,
    ast.LShift: operator.ilshift,
    ast.RShift: operator.irshift,
    ast.BitOr: operator.ior,
    ast.BitAnd: operator.iand,
}
"""For values that do not change in place: only Python's error text differs."""
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
CLASSES: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "bytes": bytes,
    "list": list,
    "dict": dict,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "complex": complex,
    "List": list,
    "Dict": dict,
    "Mapping": dict,
    "MutableMapping": dict,
    "Sequence": (list, str, tuple, bytes),
    "MutableSequence": list,
    "Iterable": (list, str, dict, tuple, set, frozenset, bytes),
    "Collection": (list, str, dict, tuple, set, frozenset, bytes),
    "Container": (list, str, dict, tuple, set, frozenset, bytes),
    "Sized": (list, str, dict, tuple, set, frozenset, bytes),
    "Number": (int, float),
    "Real": (int, float),
    "Integral": int,
    "NoneType": type(None),
}
NEVER_SURE = frozenset({"Hashable", "Callable", "Any", "Protocol", "Reversible"})
"""Classes that a JSON value may be an instance of although they are not listed above."""
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "bool": bool,
    "callable": callable,
    "dict": dict,
    "float": float,
    "frozenset": frozenset,
    "int": int,
    "isfinite": math.isfinite,
    "isinf": math.isinf,
    "isnan": math.isnan,
    "len": len,
    "id": id,
    "list": list,
    "max": max,
    "min": min,
    "repr": repr,
    "round": round,
    "set": set,
    "sorted": sorted,
    "str": str,
    "sum": sum,
    "tuple": tuple,
}
STREAMS = frozenset({"enumerate", "range", "reversed", "zip"})
"""Functions that give elements one by one."""
METHODS: dict[type, frozenset[str]] = {
    str: frozenset(
        {
            "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit",
            "isidentifier", "islower", "isnumeric", "isspace", "isupper", "join", "lower", "lstrip", "partition",
            "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split",
            "splitlines", "startswith", "strip", "title", "upper",
        }
    ),
    dict: frozenset({"copy", "get", "items", "keys", "values"}),
    list: frozenset({"copy", "count", "index"}),
    int: frozenset({"bit_length"}),
    float: frozenset({"is_integer"}),
    set: frozenset({"copy", "difference", "intersection", "isdisjoint", "issubset", "issuperset", "union"}),
    frozenset: frozenset({"difference", "intersection", "isdisjoint", "issubset", "issuperset", "union"}),
    tuple: frozenset({"count", "index"}),
}  # fmt: skip
MUTATORS: dict[type, frozenset[str]] = {
    dict: frozenset({"clear", "pop", "popitem", "setdefault", "update"}),
    list: frozenset({"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"}),
    set: frozenset({"add", "clear", "discard", "pop", "remove", "update"}),
}
"""Methods that change their object."""


def carry_out(operation: Callable[..., Any], line: int, reads: frozenset[str], *given: Any) -> Value:
    """What an operation gives; raises Crash where Python raises."""
    try:
        made = operation(*given)
    except (TypeError, KeyError, IndexError, AttributeError, ValueError, ArithmeticError) as error:
        raise Crash(error, line, reads) from None
    except (Doubt, MemoryError, RecursionError):
        return Value(UNKNOWN, reads)
    if isinstance(made, str | list | dict) and len(made) > MAX_SIZE:
        return Value(UNKNOWN, reads)
    return Value(made, reads)


def truth_of(found: Value) -> bool | None:
    """Whether a value is true; None where that is unknown."""
    if not found.known:
        return None
    if isinstance(found.value, Instance):
        return True
    if isinstance(found.value, Stream):
        return True if found.value.once else bool(found.value.items)
    try:
        return bool(found.value)
    except (TypeError, ValueError, Doubt):
        return None


def items_of(found: Value) -> list[Value] | None:
    """The elements that iterating a value gives, each with its pointer; None where that is unknown."""
    value = found.value
    if isinstance(value, Stream):
        if value.once and value.taken:
            return None
        value.taken = True
        return value.items
    if isinstance(value, Row):
        return list(value.parts)
    if isinstance(value, list | tuple | set | frozenset | dict | str | Keys):
        if len(value) > MAX_ITEMS:
            return None
        at = found.pointer if isinstance(value, list) else None
        if at is None:
            return [Value(v, found.reads) for v in value]
        return [Value(v, found.reads | {f"{at}/{i}"}, f"{at}/{i}") for i, v in enumerate(value)]
    return None


def iterated(found: Value, line: int) -> list[Value] | None:
    """The elements of a value; raises Crash where it surely has none to give."""
    if is_json(found.value) and not isinstance(found.value, str | list | dict):
        kind = type(found.value).__name__
        raise Crash(TypeError(f"'{kind}' object is not iterable"), line, found.reads)
    return items_of(found)


def attribute_lacking(found: Value, name: str, line: int) -> None:
    """Raises Crash where a value surely has no such attribute."""
    if is_plain(found.value) and not hasattr(found.value, name):
        kind = type(found.value).__name__
        raise Crash(AttributeError(f"'{kind}' object has no attribute '{name}'"), line, found.reads)


def unpacked(found: Value, count: int, line: int) -> list[Value] | None:
    """The elements for `count` targets; raises Crash where they are surely too few or too many."""
    if is_json(found.value) and not isinstance(found.value, str | list | dict):
        kind = type(found.value).__name__
        raise Crash(TypeError(f"cannot unpack non-iterable {kind} object"), line, found.reads)
    items = items_of(found)
    if items is None or len(items) == count:
        return items
    if len(items) < count:
        error = ValueError(f"not enough values to unpack (expected {count}, got {len(items)})")
    else:
        error = ValueError(f"too many values to unpack (expected {count})")
    raise Crash(error, line, found.reads)


def is_instance(value: Any, classes: ast.expr) -> Any:
    """Whether a value is an instance of the classes that an expression names; UNKNOWN where that can't be told."""
    if value is UNKNOWN or isinstance(value, Stream | Keys):
        return UNKNOWN
    names = [dotted(node).rpartition(".")[2] if node else "NoneType" for node in _alternatives(classes)]
    if isinstance(value, Instance):
        return True if value.class_name and value.class_name in names else UNKNOWN
    kinds = [CLASSES.get(name) for name in names]
    if any(kind is not None and isinstance(value, kind) for kind in kinds):
        return True
    if all(kind is not None or (is_json(value) and _names_class(n)) for kind, n in zip(kinds, names, strict=True)):
        return False
    return UNKNOWN


def _names_class(name: str) -> bool:
    """Whether a name reads like a class that no JSON value is an instance of."""
    return name[:1].isupper() and not name.isupper() and name not in NEVER_SURE


def _alternatives(node: ast.expr) -> Iterator[ast.expr | None]:
    """The single classes of a tuple or union; None for `None`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _alternatives(node.left)
        yield from _alternatives(node.right)
    elif isinstance(node, ast.Tuple):
        for element in node.elts:
            yield from _alternatives(element)
    else:
        yield None if isinstance(node, ast.Constant) and node.value is None else node


def is_json(value: Any) -> bool:
    return isinstance(value, str | int | float | list | dict | type(None))


def is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | list | dict | tuple | set | frozenset | type(None) | Keys)


def equal(left: Any, right: Any) -> bool:
    """Whether two values are surely alike, type included."""
    if left is right:
        return True
    try:
        return type(left) is type(right) and bool(left == right) and repr(left) == repr(right)
    except (TypeError, ValueError, RecursionError, Doubt):
        return False


def grows(operation: ast.operator, left: Any, right: Any) -> bool:
    """Whether an operation could make something too large."""
    if isinstance(operation, ast.Mult):
        for text, number in ((left, right), (right, left)):
            if isinstance(text, str | list | tuple) and isinstance(number, int):
                return len(text) * max(number, 0) > MAX_SIZE
        return any(isinstance(v, int | float) and abs(v) > MAX_NUMBER for v in (left, right))
    if isinstance(operation, ast.Pow | ast.LShift) and isinstance(left, int) and isinstance(right, int):
        bits = max(left.bit_length(), 1)
        return (bits * abs(right) if isinstance(operation, ast.Pow) else bits + right) > MAX_BITS
    return isinstance(operation, ast.Mod) and isinstance(left, str) and _WIDE.search(left) is not None
