"""Expressions of a tree evaluated on values of a request; what can't be known stays unknown.

Nothing of the tree is executed. Only operations on JSON values are carried out, by a table of what is allowed
(`operations`). A definite answer holds for whatever the unknown parts may be, as long as evaluating these does not
raise; calls that were not followed are taken to leave their arguments as they are.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, Protocol

from llmdebug.index.python import calls, comprehensions
from llmdebug.index.python.operations import (
    BINARY,
    COMPARE,
    IN_PLACE,
    UNARY,
    attribute_lacking,
    carry_out,
    equal,
    grows,
    is_json,
    is_plain,
    items_of,
    truth_of,
)
from llmdebug.index.python.syntax import dotted
from llmdebug.index.python.values import (
    NOT_KNOWN,
    NOTHING,
    UNKNOWN,
    Crash,
    Instance,
    Stop,
    Stream,
    Value,
    join,
)

MAX_STEPS = 60_000
EXACT_TYPES = frozenset({"str", "int", "float", "bool", "list", "dict"})


class Surroundings(Protocol):
    """What an expression can see."""

    def lookup(self, name: str) -> Value: ...

    def attribute(self, owner: Value, name: str, node: ast.Attribute) -> Value: ...

    def call(self, node: ast.Call, evaluator: Evaluator) -> Value: ...

    def bind(self, name: str, value: Value) -> None: ...

    def replace(self, old: Any, new: Any, reads: frozenset[str]) -> None:
        """Let each name that stands for `old`, or for something that holds it, see `new` in its place.

        `new` is UNKNOWN where nobody knows how `old` was changed; `reads` says what it was changed by.
        """


class Evaluator:
    """Evaluates expressions in surroundings; counts its steps."""

    def __init__(self, surroundings: Surroundings, steps: list[int] | None = None) -> None:
        self.surroundings = surroundings
        self.steps = steps if steps is not None else [0]
        self.doubts = 0
        """How many operations could not be told to end well."""
        self.scopes: list[dict[str, Value]] = []
        """Names of the comprehensions around, innermost last."""
        self._once: dict[ast.expr, Value | None] = {}
        """Owners and arguments of the calls being followed, which several may ask for."""

    def value(self, node: ast.expr) -> Value:
        """The value of an expression.

        Raises Crash where the code would raise by itself, Stop where the study gets too long.
        """
        self.steps[0] += 1
        if self.steps[0] > MAX_STEPS:
            raise Stop
        if self._once and (known := self._once.get(node)) is not None:
            return known
        kind = type(node)
        method = _METHODS.get(kind)
        found = method(self, node) if method else NOT_KNOWN
        if kind not in _HARMLESS and not found.known:
            self.doubts += 1
        if self._once and node in self._once:
            self._once[node] = found
        return found

    def followed(self, node: ast.Call, owner: Value | None) -> Value:
        """What a call of the tree's own code gives; its arguments are evaluated once, whoever asks for them."""
        once: dict[ast.expr, Value | None] = dict.fromkeys([*node.args, *(word.value for word in node.keywords)])
        if owner is not None and isinstance(node.func, ast.Attribute):
            once[node.func.value] = owner
        self._once.update(once)
        try:
            return self.surroundings.call(node, self)
        finally:
            for key in once:
                self._once.pop(key, None)

    def truth(self, node: ast.expr) -> tuple[bool | None, frozenset[str]]:
        """Whether a test holds (None: unknown), and what it read."""
        if isinstance(node, ast.BoolOp):
            holds, reads, _ = self._decided(node)
            return holds, reads
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            holds, reads = self.truth(node.operand)
            return (None if holds is None else not holds), reads
        found = self.value(node)
        return truth_of(found), found.reads

    def quietly(self, node: ast.expr) -> Value:
        """The value of what may not be evaluated at all: neither its crash nor its bindings are certain."""
        try:
            found = self.value(node)
        except Crash as crash:
            self.doubts += 1
            found = Value(UNKNOWN, crash.reads)
        self._unbind(node)
        return found

    def truth_quietly(self, node: ast.expr) -> tuple[bool | None, frozenset[str]]:
        """Whether a test holds that may not be evaluated at all."""
        try:
            found = self.truth(node)
        except Crash as crash:
            self.doubts += 1
            found = (None, crash.reads)
        self._unbind(node)
        return found

    def _unbind(self, node: ast.expr) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                self.surroundings.bind(inner.target.id, NOT_KNOWN)

    def _constant(self, node: ast.Constant) -> Value:
        return Value(node.value)

    def _name(self, node: ast.Name) -> Value:
        for scope in reversed(self.scopes):
            if node.id in scope:
                return scope[node.id]
        return self.surroundings.lookup(node.id)

    def _attribute(self, node: ast.Attribute) -> Value:
        owner = self.value(node.value)
        if isinstance(owner.value, Instance) or not owner.known:
            return self.surroundings.attribute(owner, node.attr, node)
        attribute_lacking(owner, node.attr, node.lineno)
        return Value(UNKNOWN, owner.reads)

    def _subscript(self, node: ast.Subscript) -> Value:
        owner = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            return self._sliced(owner, node.slice, node.lineno)
        key = self.value(node.slice)
        reads = join(owner, key)
        if isinstance(owner.value, Instance) and isinstance(key.value, str):
            return owner.value.get(key.value) or Value(UNKNOWN, reads)
        if not key.known or not is_plain(owner.value):
            return Value(UNKNOWN, reads)
        return part_of(owner, key.value, carry_out(operator.getitem, node.lineno, reads, owner.value, key.value))

    def _sliced(self, owner: Value, node: ast.Slice, line: int) -> Value:
        ends = [self.value(end) if end is not None else Value(None) for end in (node.lower, node.upper, node.step)]
        reads = join(owner, *ends)
        if not all(e.known for e in ends) or not is_plain(owner.value):
            return Value(UNKNOWN, reads)
        return carry_out(operator.getitem, line, reads, owner.value, slice(*(e.value for e in ends)))

    def _compare(self, node: ast.Compare) -> Value:
        if (exact := self._exact_type(node)) is not None:
            return exact
        left = self.value(node.left)
        reads = left.reads
        sure = True
        for operation, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node) if sure else self.quietly(right_node)
            reads |= right.reads
            try:
                made = self._compared(operation, left, right, node.lineno)
            except Crash:
                if sure:
                    raise
                made = NOT_KNOWN
            if made.known and not made.value:
                return Value(False, reads)
            sure = sure and made.known
            left = right
        return Value(True if sure else UNKNOWN, reads)

    def _compared(self, operation: ast.cmpop, left: Value, right: Value, line: int) -> Value:
        identity = isinstance(operation, ast.Is | ast.IsNot)
        objects = isinstance(left.value, Instance | Stream) or isinstance(right.value, Instance | Stream)
        if identity and objects and (left.value is None or right.value is None):
            return Value(isinstance(operation, ast.IsNot))
        if not left.known or not right.known:
            return NOT_KNOWN
        if isinstance(operation, ast.In | ast.NotIn) and isinstance(right.value, Instance):
            if not isinstance(left.value, str):
                return NOT_KNOWN
            inside = right.value.get(left.value) is not None
            return Value(inside == isinstance(operation, ast.In))
        if isinstance(operation, ast.In | ast.NotIn) and isinstance(right.value, Stream) and not right.value.once:
            right = Value([item.value for item in right.value.items], right.reads)
        if isinstance(left.value, Instance | Stream) or isinstance(right.value, Instance | Stream):
            return NOT_KNOWN
        if identity and not (isinstance(left.value, bool | type(None)) or isinstance(right.value, bool | type(None))):
            return NOT_KNOWN
        return carry_out(COMPARE[type(operation)], line, join(left, right), left.value, right.value)

    def _exact_type(self, node: ast.Compare) -> Value | None:
        """`type(x) is str` and the like; None for another comparison."""
        match node:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="type"), args=[subject], keywords=[]),
                ops=[operation],
                comparators=[right],
            ):
                names = [dotted(e) for e in right.elts] if isinstance(right, ast.Tuple) else [dotted(right)]
                if not EXACT_TYPES.issuperset(names) or isinstance(right, ast.Tuple) != isinstance(
                    operation, ast.In | ast.NotIn
                ):
                    return None
                found = self.value(subject)
                if not found.known or not is_json(found.value):
                    return Value(UNKNOWN, found.reads)
                positive = isinstance(operation, ast.Is | ast.Eq | ast.In)
                return Value((type(found.value).__name__ in names) == positive, found.reads)
        return None

    def _boolop(self, node: ast.BoolOp) -> Value:
        _, reads, found = self._decided(node)
        return Value(found.value, reads, found.pointer)

    def _decided(self, node: ast.BoolOp) -> tuple[bool | None, frozenset[str], Value]:
        """Whether the whole holds, what it read, and its value; the value may be unknown where the truth is not."""
        is_and = isinstance(node.op, ast.And)
        reads = NOTHING
        unknown = False
        found = NOT_KNOWN
        for operand in node.values:
            holds, found = self._operand(operand, unknown)
            reads |= found.reads
            if holds is None:
                unknown = True
            elif holds != is_and:
                return holds, reads, NOT_KNOWN if unknown else found
        return (None, reads, NOT_KNOWN) if unknown else (is_and, reads, found)

    def _operand(self, node: ast.expr, quiet: bool) -> tuple[bool | None, Value]:
        if isinstance(node, ast.BoolOp):
            try:
                holds, reads, found = self._decided(node)
            except Crash as crash:
                if not quiet:
                    raise
                self.doubts += 1
                holds, reads, found = None, crash.reads, NOT_KNOWN
            if quiet:
                self._unbind(node)
            return holds, Value(found.value, reads, found.pointer)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            holds, reads = self.truth_quietly(node) if quiet else self.truth(node)
            return holds, Value(UNKNOWN if holds is None else holds, reads)
        found = self.quietly(node) if quiet else self.value(node)
        return truth_of(found), found

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            holds, reads = self.truth(node)
            return Value(UNKNOWN if holds is None else holds, reads)
        inner = self.value(node.operand)
        if not inner.known or not is_plain(inner.value):
            return Value(UNKNOWN, inner.reads)
        return carry_out(UNARY[type(node.op)], node.lineno, inner.reads, inner.value)

    def _binop(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        return self.combined(node.op, left, right, node.lineno)

    def combined(self, operation: ast.operator, left: Value, right: Value, line: int, in_place: bool = False) -> Value:
        """What an arithmetic operation gives."""
        reads = join(left, right)
        known = (IN_PLACE if in_place else BINARY).get(type(operation))
        if known is None or not left.known or not right.known:
            return Value(UNKNOWN, reads)
        if not (is_plain(left.value) and is_plain(right.value)) or grows(operation, left.value, right.value):
            return Value(UNKNOWN, reads)
        return carry_out(known, line, reads, left.value, right.value)

    def _ifexp(self, node: ast.IfExp) -> Value:
        holds, reads = self.truth(node.test)
        if holds is None:
            chosen = [self.quietly(node.body), self.quietly(node.orelse)]
            if chosen[0].known and chosen[1].known and equal(chosen[0].value, chosen[1].value):
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
        made: list[Any] = []
        reads = NOTHING
        whole = True
        for element in elements:
            found = self.value(element.value if isinstance(element, ast.Starred) else element)
            reads |= found.reads
            if isinstance(element, ast.Starred):
                items = items_of(found)
                whole = whole and items is not None
                made += [item.value for item in items or ()]
            else:
                made.append(found.value)
        return carry_out(kind, elements[0].lineno if elements else 0, reads, made) if whole else Value(UNKNOWN, reads)

    def _dict(self, node: ast.Dict) -> Value:
        made: dict[Any, Any] = {}
        reads = NOTHING
        whole = True
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            key = self.value(key_node) if key_node is not None else NOT_KNOWN
            value = self.value(value_node)
            reads |= join(key, value)
            if key_node is None and isinstance(value.value, dict):
                made.update(value.value)
            elif key.known and isinstance(key.value, str | int | float | bool | type(None)):
                made[key.value] = value.value
            else:
                whole = False
        return Value(made if whole else UNKNOWN, reads)

    def _namedexpr(self, node: ast.NamedExpr) -> Value:
        found = self.value(node.value)
        self.surroundings.bind(node.target.id, found)
        return found

    def _await(self, node: ast.Await) -> Value:
        return self.value(node.value)

    def _joinedstr(self, node: ast.JoinedStr) -> Value:
        pieces: list[str] = []
        reads = NOTHING
        whole = True
        for piece in node.values:
            found = self.value(piece.value if isinstance(piece, ast.FormattedValue) else piece)
            reads |= found.reads
            plain = not isinstance(piece, ast.FormattedValue) or (piece.format_spec is None and piece.conversion == -1)
            made = carry_out(str, node.lineno, reads, found.value) if plain and is_plain(found.value) else NOT_KNOWN
            whole = whole and made.known
            if whole:
                pieces.append(made.value)
        return Value("".join(pieces) if whole else UNKNOWN, reads)

    def _generatorexp(self, node: ast.GeneratorExp) -> Value:
        """A generator runs when its elements are taken; those who take them ask `comprehensions` themselves."""
        return Value(UNKNOWN, self.value(node.generators[0].iter).reads)

    def _listcomp(self, node: ast.ListComp) -> Value:
        return comprehensions.elements(self, node.elt, node.generators)

    def _setcomp(self, node: ast.SetComp) -> Value:
        found = comprehensions.elements(self, node.elt, node.generators)
        return carry_out(set, node.lineno, found.reads, found.value) if found.known else found

    def _dictcomp(self, node: ast.DictComp) -> Value:
        pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
        found = comprehensions.elements(self, pair, node.generators)
        return carry_out(dict, node.lineno, found.reads, found.value) if found.known else found

    def _call(self, node: ast.Call) -> Value:
        return calls.call(self, node)


def part_of(owner: Value, key: Any, made: Value) -> Value:
    """What was taken out of a container, with the pointer to it."""
    if owner.pointer is None or not made.known or not isinstance(owner.value, list | dict):
        return made
    step = str(key).replace("~", "~0").replace("/", "~1")
    if isinstance(key, int) and isinstance(owner.value, list):
        step = str(len(owner.value) + key if key < 0 else int(key))
    pointer = f"{owner.pointer}/{step}"
    return Value(made.value, made.reads | {pointer}, pointer)


_HARMLESS = frozenset({ast.Constant, ast.Name, ast.BoolOp, ast.IfExp, ast.List, ast.Tuple, ast.Dict, ast.Lambda})
"""Expressions that do not raise by themselves, whatever their parts are."""
_METHODS: dict[type[ast.expr], Callable[[Evaluator, Any], Value]] = {
    ast.Attribute: Evaluator._attribute,
    ast.Await: Evaluator._await,
    ast.BinOp: Evaluator._binop,
    ast.BoolOp: Evaluator._boolop,
    ast.Call: Evaluator._call,
    ast.Compare: Evaluator._compare,
    ast.Constant: Evaluator._constant,
    ast.Dict: Evaluator._dict,
    ast.DictComp: Evaluator._dictcomp,
    ast.GeneratorExp: Evaluator._generatorexp,
    ast.IfExp: Evaluator._ifexp,
    ast.JoinedStr: Evaluator._joinedstr,
    ast.List: Evaluator._list,
    ast.ListComp: Evaluator._listcomp,
    ast.Name: Evaluator._name,
    ast.NamedExpr: Evaluator._namedexpr,
    ast.Set: Evaluator._set,
    ast.SetComp: Evaluator._setcomp,
    ast.Subscript: Evaluator._subscript,
    ast.Tuple: Evaluator._tuple,
    ast.UnaryOp: Evaluator._unaryop,
}
