"""Expressions of a tree evaluated on a request, three-valued: what can't be known stays unknown.

Nothing of the tree is executed. Only operations on JSON values are carried out, by a table of what is allowed,
with bounded sizes; an operation that the value does not have is reported as the crash that it would be.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from llmdebug.index.python.syntax import dotted
from llmdebug.index.python.values import NOT_KNOWN, NOTHING, UNKNOWN, Crash, Instance, Stop, Value, join

MAX_ITEMS = 3_000
MAX_STEPS = 60_000
MAX_SIZE = 1_000_000
MAX_NUMBER = 1e18

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
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
    "str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict, "bytes": bytes, "tuple": tuple,
    "set": set, "Sequence": (list, str), "Mapping": dict, "Iterable": (list, str, dict), "List": list, "Dict": dict,
    "Number": (int, float), "NoneType": type(None), "Integral": int, "Real": (int, float),
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "len": len, "bool": bool, "int": int, "float": float, "str": str, "abs": abs, "min": min, "max": max, "sum": sum,
    "list": list, "set": set, "tuple": tuple, "sorted": sorted, "any": any, "all": all, "dict": dict, "round": round,
    "repr": repr, "frozenset": frozenset, "reversed": lambda v: list(reversed(v)), "enumerate": lambda v, *s: list(enumerate(v, *s)),
    "zip": lambda *v: list(zip(*v, strict=False)), "callable": callable, "isfinite": math.isfinite, "isnan": math.isnan, "isinf": math.isinf,
}  # fmt: skip
METHODS: dict[type, frozenset[str]] = {
    str: frozenset({"strip", "lstrip", "rstrip", "lower", "upper", "startswith", "endswith", "isdigit", "isalpha", "split",
                    "count", "find", "replace", "isspace", "partition", "rpartition", "removeprefix", "removesuffix", "casefold", "isnumeric", "isalnum", "title"}),
    dict: frozenset({"get", "keys", "values", "items", "copy", "pop", "setdefault"}),
    list: frozenset({"count", "index", "copy"}),
    int: frozenset({"bit_length"}),
    float: frozenset({"is_integer"}),
    set: frozenset({"union", "difference", "intersection", "issubset", "issuperset"}),
    tuple: frozenset({"count", "index"}),
}  # fmt: skip


class Surroundings(Protocol):
    """What an expression can see."""

    def lookup(self, name: str) -> Value: ...

    def attribute(self, owner: Value, name: str, node: ast.Attribute) -> Value: ...

    def call(self, node: ast.Call, evaluator: Evaluator) -> Value: ...

    def bind(self, name: str, value: Value) -> None: ...


class Evaluator:
    """Evaluates expressions in surroundings; counts its steps."""

    def __init__(self, surroundings: Surroundings, steps: list[int] | None = None) -> None:
        self.surroundings = surroundings
        self.steps = steps if steps is not None else [0]

    def value(self, node: ast.expr) -> Value:
        """The value of an expression.

        Raises Crash where the code would raise by itself, Stop where the study gets too long.
        """
        self.steps[0] += 1
        if self.steps[0] > MAX_STEPS:
            raise Stop
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        return method(node) if method else NOT_KNOWN

    def truth(self, node: ast.expr) -> tuple[bool | None, frozenset[str]]:
        """Whether a test holds (None: unknown), and what it read."""
        found = self.value(node)
        return truth_of(found), found.reads

    def _constant(self, node: ast.Constant) -> Value:
        return Value(node.value)

    def _name(self, node: ast.Name) -> Value:
        if node.id in ("True", "False", "None"):
            return Value({"True": True, "False": False, "None": None}[node.id])
        return self.surroundings.lookup(node.id)

    def _attribute(self, node: ast.Attribute) -> Value:
        owner = self.value(node.value)
        if isinstance(owner.value, Instance) or not owner.known:
            return self.surroundings.attribute(owner, node.attr, node)
        if _is_json(owner.value) and not hasattr(owner.value, node.attr):
            kind = type(owner.value).__name__
            error = AttributeError(f"'{kind}' object has no attribute '{node.attr}'")
            raise Crash(error, node.lineno, owner.reads)
        return Value(UNKNOWN, owner.reads)

    def _subscript(self, node: ast.Subscript) -> Value:
        owner = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            return self._sliced(owner, node.slice)
        key = self.value(node.slice)
        reads = join(owner, key)
        if isinstance(owner.value, Instance) and isinstance(key.value, str):
            return owner.value.get(key.value) or Value(UNKNOWN, reads)
        if not owner.known or not key.known or not _is_json(owner.value):
            return Value(UNKNOWN, reads)
        made = self._carry_out(operator.getitem, node.lineno, reads, owner.value, key.value)
        return self._part_of(owner, key.value, made)

    def _part_of(self, owner: Value, key: Any, made: Value) -> Value:
        if owner.pointer is None or not made.known:
            return made
        step = str(key).replace("~", "~0").replace("/", "~1")
        if isinstance(key, int) and isinstance(owner.value, list) and key < 0:
            step = str(len(owner.value) + key)
        pointer = f"{owner.pointer}/{step}"
        return Value(made.value, made.reads | {pointer}, pointer)

    def _sliced(self, owner: Value, node: ast.Slice) -> Value:
        ends = [self.value(part) if part is not None else Value(None) for part in (node.lower, node.upper, node.step)]
        reads = join(owner, *ends)
        if not owner.known or not all(e.known for e in ends) or not isinstance(owner.value, str | list | tuple):
            return Value(UNKNOWN, reads)
        return self._carry_out(
            operator.getitem,
            node.lineno if hasattr(node, "lineno") else 0,
            reads,
            owner.value,
            slice(*(e.value for e in ends)),
        )

    def _compare(self, node: ast.Compare) -> Value:
        left = self.value(node.left)
        reads = left.reads
        outcome: Any = True
        for operation, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            reads |= right.reads
            made = self._compared(operation, left, right, node.lineno)
            if made.known and not made.value:
                return Value(False, reads)
            if not made.known:
                outcome = UNKNOWN
            left = right
        return Value(outcome, reads)

    def _compared(self, operation: ast.cmpop, left: Value, right: Value, line: int) -> Value:
        if isinstance(operation, ast.Is | ast.IsNot) and isinstance(left.value, Instance) and right.value is None:
            return Value(isinstance(operation, ast.IsNot))
        if not left.known or not right.known:
            return NOT_KNOWN
        if isinstance(operation, ast.In | ast.NotIn) and isinstance(right.value, Instance):
            if not isinstance(left.value, str):
                return NOT_KNOWN
            inside = right.value.get(left.value) is not None
            return Value(inside == isinstance(operation, ast.In))
        if isinstance(left.value, Instance) or isinstance(right.value, Instance):
            return NOT_KNOWN
        if isinstance(operation, ast.Is | ast.IsNot) and not (
            isinstance(left.value, bool | type(None)) or isinstance(right.value, bool | type(None))
        ):
            return NOT_KNOWN
        return self._carry_out(COMPARE[type(operation)], line, join(left, right), left.value, right.value)

    def _boolop(self, node: ast.BoolOp) -> Value:
        is_and = isinstance(node.op, ast.And)
        reads = NOTHING
        unknown = False
        found = NOT_KNOWN
        for part in node.values:
            found = self._quietly(part) if unknown else self.value(part)
            reads |= found.reads
            holds = truth_of(found)
            if holds is None:
                unknown = True
            elif holds != is_and:
                if not unknown:
                    return Value(found.value, reads, found.pointer)
                if not is_and or found.value is False or isinstance(found.value, bool):
                    return Value(UNKNOWN if found.value is UNKNOWN else _decided(is_and), reads)
        return Value(UNKNOWN, reads) if unknown else Value(found.value, reads, found.pointer)

    def _quietly(self, node: ast.expr) -> Value:
        """The value of what may not be evaluated at all: its crash is not certain."""
        try:
            return self.value(node)
        except Crash as crash:
            return Value(UNKNOWN, crash.reads)

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        inner = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            holds = truth_of(inner)
            return Value(UNKNOWN if holds is None else not holds, inner.reads)
        if not inner.known or isinstance(inner.value, Instance):
            return Value(UNKNOWN, inner.reads)
        operation = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}[type(node.op)]  # type: ignore[index]
        return self._carry_out(operation, node.lineno, inner.reads, inner.value)

    def _binop(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        reads = join(left, right)
        operation = BINARY.get(type(node.op))
        if operation is None or not left.known or not right.known:
            return Value(UNKNOWN, reads)
        if not (_is_plain(left.value) and _is_plain(right.value)) or _grows(node.op, left.value, right.value):
            return Value(UNKNOWN, reads)
        return self._carry_out(operation, node.lineno, reads, left.value, right.value)

    def _ifexp(self, node: ast.IfExp) -> Value:
        holds, reads = self.truth(node.test)
        if holds is None:
            chosen = [self._quietly(node.body), self._quietly(node.orelse)]
            if chosen[0].known and chosen[1].known and _equal(chosen[0].value, chosen[1].value):
                return Value(chosen[0].value, reads | join(*chosen))
            return Value(UNKNOWN, reads | join(*chosen))
        found = self.value(node.body if holds else node.orelse)
        return Value(found.value, found.reads | reads, found.pointer)

    def _list(self, node: ast.List) -> Value:
        return self._collection(node.elts, list)

    def _tuple(self, node: ast.Tuple) -> Value:
        return self._collection(node.elts, tuple)

    def _set(self, node: ast.Set) -> Value:
        return self._collection(node.elts, set)

    def _collection(self, elements: list[ast.expr], kind: Callable[[list[Any]], Any]) -> Value:
        found = [self.value(e) for e in elements if not isinstance(e, ast.Starred)]
        reads = join(*found)
        if len(found) != len(elements) or not all(f.known for f in found):
            return Value(UNKNOWN, reads)
        try:
            return Value(kind([f.value for f in found]), reads)
        except TypeError:
            return Value(UNKNOWN, reads)

    def _dict(self, node: ast.Dict) -> Value:
        made: dict[Any, Any] = {}
        reads = NOTHING
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            value = self.value(value_node)
            key = self.value(key_node) if key_node is not None else NOT_KNOWN
            reads |= join(key, value)
            if not key.known or not value.known or not isinstance(key.value, str | int | float | bool | type(None)):
                return Value(UNKNOWN, reads)
            made[key.value] = value.value
        return Value(made, reads)

    def _namedexpr(self, node: ast.NamedExpr) -> Value:
        found = self.value(node.value)
        self.surroundings.bind(node.target.id, found)
        return found

    def _await(self, node: ast.Await) -> Value:
        return self.value(node.value)

    def _joinedstr(self, node: ast.JoinedStr) -> Value:
        parts = [self.value(v.value) if isinstance(v, ast.FormattedValue) else self.value(v) for v in node.values]
        plain = all(isinstance(v, ast.Constant) or (v.format_spec is None and v.conversion == -1) for v in node.values)  # type: ignore[attr-defined]
        if plain and all(p.known and isinstance(p.value, str | int | bool | type(None)) for p in parts):
            return Value("".join(str(p.value) for p in parts), join(*parts))
        return Value(UNKNOWN, join(*parts))

    def _generatorexp(self, node: ast.GeneratorExp) -> Value:
        return self._comprehension(node.elt, node.generators)

    def _listcomp(self, node: ast.ListComp) -> Value:
        return self._comprehension(node.elt, node.generators)

    def _setcomp(self, node: ast.SetComp) -> Value:
        found = self._comprehension(node.elt, node.generators)
        try:
            return Value(set(found.value), found.reads) if found.known else found
        except TypeError:
            return Value(UNKNOWN, found.reads)

    def _comprehension(self, element: ast.expr, generators: list[ast.comprehension]) -> Value:
        if len(generators) != 1:
            return NOT_KNOWN
        generator = generators[0]
        over = self.value(generator.iter)
        items = items_of(over)
        if items is None:
            return Value(UNKNOWN, over.reads)
        made: list[Any] = []
        reads = over.reads
        unknown = False
        for item in items[:MAX_ITEMS]:
            if not self.assign(generator.target, item):
                return Value(UNKNOWN, reads)
            tests = [self.truth(test) for test in generator.ifs]
            reads |= frozenset().union(*(r for _, r in tests))
            if any(holds is False for holds, _ in tests):
                continue
            if any(holds is None for holds, _ in tests):
                unknown = True
                continue
            found = self.value(element)
            reads |= found.reads
            made.append(found.value)
            unknown = unknown or not found.known
        return Value(UNKNOWN if unknown else made, reads)

    def assign(self, target: ast.expr, value: Value) -> bool:
        """Bind a loop or assignment target; False where the form is not followed."""
        match target:
            case ast.Name(id=name):
                self.surroundings.bind(name, value)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                items = items_of(value) if value.known else None
                if items is not None and len(items) != len(elements):
                    return False
                for place, element in enumerate(elements):
                    self.assign(element, items[place] if items else Value(UNKNOWN, value.reads))
            case _:
                return False
        return True

    def _call(self, node: ast.Call) -> Value:
        func = node.func
        if isinstance(func, ast.Name):
            if func.id in {"isinstance", "hasattr", "getattr", "type"}:
                return self._about(func.id, node)
            if func.id in {"any", "all"} and len(node.args) == 1:
                return self._any_all(func.id, node.args[0])
        if dotted(func) in {"math.isfinite", "math.isnan", "math.isinf"} or (
            isinstance(func, ast.Name) and func.id in FUNCTIONS
        ):
            name = func.attr if isinstance(func, ast.Attribute) else func.id  # type: ignore[attr-defined]
            return self._builtin(name, node)
        if isinstance(func, ast.Attribute):
            owner = self.value(func.value)
            if owner.known and not isinstance(owner.value, Instance):
                return self._method(owner, func, node)
        return self.surroundings.call(node, self)

    def _any_all(self, name: str, argument: ast.expr) -> Value:
        """`any` and `all` decide early, also when some elements are unknown."""
        if isinstance(argument, ast.GeneratorExp | ast.ListComp) and len(argument.generators) == 1:
            generator = argument.generators[0]
            over = self.value(generator.iter)
            items = items_of(over)
            if items is None:
                return Value(UNKNOWN, over.reads)
            reads, unknown = over.reads, False
            for item in items[:MAX_ITEMS]:
                if not self.assign(generator.target, item):
                    return Value(UNKNOWN, reads)
                tests = [self.truth(test)[0] for test in generator.ifs]
                if False in tests:
                    continue
                holds, read = self.truth(argument.elt)
                if holds is None or None in tests:
                    unknown = True
                elif holds == (name == "any"):
                    if not unknown:
                        return Value(holds, reads | read | item.reads)
            return Value(UNKNOWN if unknown else name == "all", reads)
        found = self.value(argument)
        if not found.known or isinstance(found.value, Instance):
            return Value(UNKNOWN, found.reads)
        return self._carry_out(FUNCTIONS[name], argument.lineno, found.reads, found.value)

    def _about(self, name: str, node: ast.Call) -> Value:
        """isinstance, hasattr, getattr and type."""
        if not node.args or any(isinstance(a, ast.Starred) for a in node.args):
            return NOT_KNOWN
        subject = self.value(node.args[0])
        if name == "isinstance" and len(node.args) == 2:
            return Value(_is_instance(subject.value, node.args[1]), subject.reads)
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
                found = self.surroundings.attribute(subject, wanted, access)
                return found if name == "getattr" else Value(UNKNOWN, found.reads)
        return Value(UNKNOWN, subject.reads)

    def _builtin(self, name: str, node: ast.Call) -> Value:
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            return self.surroundings.call(node, self)
        given = [self.value(a) for a in node.args]
        reads = join(*given)
        if not all(g.known and _is_plain(g.value) for g in given):
            return Value(UNKNOWN, reads)
        return self._carry_out(FUNCTIONS[name], node.lineno, reads, *(g.value for g in given))

    def _method(self, owner: Value, func: ast.Attribute, node: ast.Call) -> Value:
        allowed = next((names for kind, names in METHODS.items() if type(owner.value) is kind), frozenset())
        if func.attr not in allowed:
            if _is_json(owner.value) and not hasattr(owner.value, func.attr):
                kind = type(owner.value).__name__
                error = AttributeError(f"'{kind}' object has no attribute '{func.attr}'")
                raise Crash(error, node.lineno, owner.reads)
            for argument in node.args:
                self._quietly(argument) if not isinstance(argument, ast.Starred) else None
            return Value(UNKNOWN, owner.reads)
        given = [self.value(a) for a in node.args if not isinstance(a, ast.Starred)]
        reads = join(owner, *given)
        if len(given) != len(node.args) or node.keywords or not all(g.known for g in given):
            return Value(UNKNOWN, reads)
        if func.attr in {"get", "pop", "setdefault"} and isinstance(owner.value, dict) and given:
            key = given[0].value
            if isinstance(key, str) and key in owner.value:
                return self._part_of(owner, key, Value(owner.value[key], reads))
            at = frozenset({f"{owner.pointer}/{key}"}) if owner.pointer is not None else NOTHING
            if func.attr == "pop" and len(given) == 1:
                raise Crash(KeyError(key), node.lineno, reads | at)
            return Value(given[1].value if len(given) > 1 else None, reads | at)
        if func.attr in {"values", "items", "keys"}:
            return Value(_view(owner, func.attr), reads)
        return self._carry_out(getattr(owner.value, func.attr), node.lineno, reads, *(g.value for g in given))

    def _carry_out(self, operation: Callable[..., Any], line: int, reads: frozenset[str], *given: Any) -> Value:
        try:
            made = operation(*given)
        except (TypeError, KeyError, IndexError, AttributeError, ValueError, ZeroDivisionError) as error:
            raise Crash(error, line, reads) from None
        except (OverflowError, MemoryError, RecursionError):
            return Value(UNKNOWN, reads)
        if isinstance(made, str | list | dict) and len(made) > MAX_SIZE:
            return Value(UNKNOWN, reads)
        return Value(made, reads)


def _view(owner: Value, name: str) -> Any:
    if name == "items":
        return [(k, v) for k, v in owner.value.items()]
    return list(getattr(owner.value, name)())


def _decided(is_and: bool) -> bool:
    return not is_and


def truth_of(found: Value) -> bool | None:
    """Whether a value is true; None where that is unknown."""
    if not found.known:
        return None
    if isinstance(found.value, Instance):
        return True
    try:
        return bool(found.value)
    except (TypeError, ValueError):
        return None


def items_of(found: Value) -> list[Value] | None:
    """The elements that iterating a value gives, each with its pointer; None where that is unknown."""
    value = found.value
    if isinstance(value, list):
        at = found.pointer
        return [
            Value(v, found.reads | {f"{at}/{i}"}, f"{at}/{i}") if at is not None else Value(v, found.reads)
            for i, v in enumerate(value[:MAX_ITEMS])
        ]
    if isinstance(value, tuple | set | frozenset):
        return [Value(v, found.reads) for v in value]
    if isinstance(value, dict):
        return [Value(k, found.reads) for k in value]
    if isinstance(value, str):
        return [Value(c, found.reads) for c in value[:MAX_ITEMS]]
    return None


def _is_instance(value: Any, classes: ast.expr) -> Any:
    if value is UNKNOWN:
        return UNKNOWN
    nodes = classes.elts if isinstance(classes, ast.Tuple) else _alternatives(classes)
    names = [dotted(n).rpartition(".")[2] for n in nodes]
    if isinstance(value, Instance):
        return True if value.class_name and value.class_name in names else UNKNOWN
    if isinstance(value, bool) and "bool" not in names and "int" in names:
        return True
    kinds = [CLASSES.get(name) for name in names]
    if any(kind is not None and isinstance(value, kind) for kind in kinds):
        return True
    if all(kind is not None for kind in kinds) or (
        _is_json(value) and all(kind or name[:1].isupper() for kind, name in zip(kinds, names, strict=True))
    ):
        return False
    return UNKNOWN


def _alternatives(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _alternatives(node.left)
        yield from _alternatives(node.right)
    else:
        yield node


def _is_json(value: Any) -> bool:
    return isinstance(value, str | int | float | list | dict | type(None))


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | list | dict | tuple | set | frozenset | type(None))


def _equal(left: Any, right: Any) -> bool:
    try:
        return type(left) is type(right) and bool(left == right)
    except (TypeError, ValueError, RecursionError):
        return False


def _grows(operation: ast.operator, left: Any, right: Any) -> bool:
    """Whether an operation could make something too large."""
    if isinstance(operation, ast.Mult):
        for text, number in ((left, right), (right, left)):
            if isinstance(text, str | list | tuple) and isinstance(number, int):
                return len(text) * max(number, 0) > MAX_SIZE
        return any(isinstance(v, int | float) and abs(v) > MAX_NUMBER for v in (left, right))
    return isinstance(operation, ast.Mod) and isinstance(left, str)
