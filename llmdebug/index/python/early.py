"""What the validators of a model that see the raw input may change in it, before its fields are checked.

A validator that only looks leaves the checks of the fields as certain as they are. What cannot be followed may have
changed everything.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from llmdebug.index.build import Index
from llmdebug.index.facts import Class, Function, Validator
from llmdebug.index.python.models import Model
from llmdebug.index.python.names import define
from llmdebug.index.python.syntax import FunctionNode, dotted, last_name, string

EARLY = frozenset({"before", "wrap", "plain"})
LOOKERS = frozenset(
    {"isinstance", "len", "print", "type", "bool", "str", "repr", "hasattr", "getattr", "id", "list", "set", "tuple",
     "sorted", "any", "all", "enumerate", "debug", "info", "warning", "warning_once", "error", "exception", "dumps"}
)  # fmt: skip
"""Calls that leave what they are handed as it is."""
COPIERS = frozenset({"dict", "copy", "deepcopy"})
DUMPERS = frozenset({"model_dump", "dict", "to_dict"})
READERS = frozenset({"get", "keys", "items", "values"})
KEYED = frozenset({"pop", "setdefault"})
MUTATORS = KEYED | {"append", "extend", "insert", "remove", "clear", "update", "popitem", "sort"}
MAX_FOLLOWED = 3
MAX_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Change:
    """What may be changed in a raw object."""

    keys: frozenset[str] = frozenset()
    whole: bool = False
    """Whether anything may be."""

    def and_also(self, other: Change) -> Change:
        return Change(self.keys | other.keys, self.whole or other.whole)


ALL = Change(whole=True)
NOTHING = Change()


def early_change(index: Index, model: Model) -> Change:
    """What the validators that see a model's raw input may change in it, by key or field name."""
    found = NOTHING
    for path, known in model.lineage:
        for validator in known.validators:
            if validator.mode in EARLY:
                found = found.and_also(_of_validator(index, path, known, validator))
    return found


def _of_validator(index: Index, path: str, known: Class, validator: Validator) -> Change:
    node = index.named_node(path, f"{known.name}.{validator.method}")
    subject = _subject(node) if node is not None else ""
    if node is None or not subject or validator.mode == "plain":
        return Change(frozenset(validator.fields)) if validator.fields else ALL
    change = _Reading(index, path, known.name, node, subject).change(0)
    if validator.fields:
        return NOTHING if change == NOTHING else Change(frozenset(validator.fields))
    return change


def _subject(node: FunctionNode) -> str:
    """The parameter that is handed the raw input."""
    names = [a.arg for a in [*node.args.posonlyargs, *node.args.args] if a.arg not in {"cls", "self"}]
    return names[0] if names else ""


@dataclass
class _Reading:
    """One function that is handed the raw input, read for what it may change."""

    index: Index
    path: str
    owner: str
    """The class of a method; empty for a function."""
    node: FunctionNode
    subject: str
    raw: set[str] = field(default_factory=set)
    """Names that stand for the raw input or a copy of it."""
    parts: dict[str, frozenset[str]] = field(default_factory=dict)
    """Names that stand for something inside it, and under which keys."""
    passed: set[str] = field(default_factory=set)
    """Names of what a wrapped handler made of it."""
    found: Change = NOTHING

    def change(self, depth: int) -> Change:
        self.raw = {self.subject}
        for _ in range(MAX_ROUNDS):
            before = (len(self.raw), len(self.parts), len(self.passed))
            for part in ast.walk(self.node):
                self._name(part, depth)
            if (len(self.raw), len(self.parts), len(self.passed)) == before:
                break
        for part in ast.walk(self.node):
            self._look(part, depth)
        return self.found

    # what names stand for

    def _name(self, part: ast.AST, depth: int) -> None:
        match part:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ):
                self._bind(name, value)
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                keys = self._keys_of(value)
                if keys:
                    for inner in ast.walk(target):
                        if isinstance(inner, ast.Name):
                            self.parts[inner.id] = self.parts.get(inner.id, frozenset()) | keys

    def _bind(self, name: str, value: ast.expr) -> None:
        if self._is_raw(value):
            self.raw.add(name)
        elif self._is_passed(value):
            self.passed.add(name)
        elif keys := self._keys_of(value):
            self.parts[name] = self.parts.get(name, frozenset()) | keys

    def _is_raw(self, value: ast.expr) -> bool:
        match value:
            case ast.Name(id=name):
                return name in self.raw
            case ast.Call(func=ast.Attribute(value=inner, attr="copy"), args=[]):
                return self._is_raw(inner)
            case ast.Call(args=[inner]) if last_name(value) in COPIERS:
                return self._is_raw(inner)
            case ast.Dict(keys=[None, *_], values=[inner, *_]):
                return self._is_raw(inner)
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in DUMPERS:
                return self._is_raw(inner)
            case ast.Call(args=[inner, *_]) if dotted(value.func) == "cast":
                return self._is_raw(value.args[-1])
        return False

    def _is_passed(self, value: ast.expr) -> bool:
        """Whether the value is what the wrapped handler makes of the raw input."""
        match value:
            case ast.Name(id=name):
                return name in self.passed
            case ast.Call(func=ast.Name(id="handler" | "nxt" | "next_" | "call_next" | "inner"), args=[inner, *_]):
                return self._is_raw(inner)
        return False

    def _keys_of(self, value: ast.expr) -> frozenset[str]:
        """Under which keys of the raw input the parts stand that a value is taken from."""
        match value:
            case ast.Name(id=name):
                return self.parts.get(name, frozenset())
            case ast.Subscript(value=inner, slice=key):
                return frozenset({string(key) or "*"}) if self._is_raw(inner) else self._keys_of(inner)
            case ast.Call(func=ast.Attribute(value=inner, attr=attr), args=arguments):
                if self._is_raw(inner):
                    return frozenset({(string(arguments[0]) if arguments else None) or "*"})
                return self._keys_of(inner) if attr in READERS | KEYED else frozenset()
            case ast.Call(args=[inner, *_]) if last_name(value) in LOOKERS:
                return self._keys_of(inner)
            case ast.BoolOp(values=values):
                return frozenset().union(*(self._keys_of(v) for v in values))
            case ast.IfExp(body=body, orelse=orelse):
                return self._keys_of(body) | self._keys_of(orelse)
        return frozenset()

    # what is done to them

    def _add(self, keys: frozenset[str]) -> None:
        self.found = self.found.and_also(ALL if "*" in keys else Change(keys))

    def _look(self, part: ast.AST, depth: int) -> None:
        match part:
            case ast.Return(value=value):
                self._returned(value, depth)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._stored(target, value, depth)
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target, value=ast.expr()):
                self._stored(target, part.value or ast.Constant(None), depth)
            case ast.Delete(targets=targets):
                for target in targets:
                    self._stored(target, ast.Constant(None), depth)
            case ast.Dict(keys=[None, *keys]) if self._is_raw(part):
                self._add(frozenset((string(key) if key is not None else None) or "*" for key in keys))
            case ast.Call():
                self._called(part, depth)

    def _returned(self, value: ast.expr | None, depth: int) -> None:
        if value is None or self._is_raw(value) or self._is_passed(value):
            return
        if isinstance(value, ast.Call) and any(self._is_raw(a) for a in value.args) and self._follow(value, depth):
            return
        self.found = ALL

    def _stored(self, target: ast.expr, value: ast.expr, depth: int) -> None:
        match target:
            case ast.Subscript(value=inner, slice=key) if self._is_raw(inner):
                self._add(frozenset({string(key) or "*"}))
            case ast.Subscript(value=inner) | ast.Attribute(value=inner):
                self._add(self._keys_of(inner))
            case ast.Name(id=name) if name in self.raw and not self._is_raw(value) and not self._is_passed(value):
                handed = isinstance(value, ast.Call) and any(self._is_raw(a) for a in value.args)
                if not (handed and isinstance(value, ast.Call) and self._follow(value, depth)):
                    self.found = ALL

    def _called(self, call: ast.Call, depth: int) -> None:
        func = call.func
        if isinstance(func, ast.Attribute) and self._is_raw(func.value):
            if func.attr in KEYED:
                self._add(frozenset({(string(call.args[0]) if call.args else None) or "*"}))
            elif func.attr == "update":
                self._add(frozenset(word.arg or "*" for word in call.keywords) | _literal_keys(call.args))
            elif func.attr in MUTATORS:
                self.found = ALL
            return
        if isinstance(func, ast.Attribute) and func.attr in MUTATORS:
            self._add(self._keys_of(func.value))
        handed = [a for a in [*call.args, *(k.value for k in call.keywords)] if self._is_raw(a)]
        if not handed or last_name(call) in LOOKERS | COPIERS or self._is_passed(call):
            return
        if not self._follow(call, depth):
            self.found = ALL

    def _follow(self, call: ast.Call, depth: int) -> bool:
        """Read the function that the raw input is handed to; whether that can be told and leaves the rest as it is."""
        found = self._function(call)
        place = next((i for i, a in enumerate(call.args) if self._is_raw(a)), None)
        if found is None or place is None or depth >= MAX_FOLLOWED:
            return False
        path, function = found
        node = self.index.node(path, function)
        if node is None:
            return False
        names = [a.arg for a in [*node.args.posonlyargs, *node.args.args] if a.arg not in {"cls", "self"}]
        if place >= len(names):
            return False
        owner = function.name.rpartition(".")[0]
        inner = _Reading(self.index, path, owner, node, names[place])
        changed = inner.change(depth + 1)
        self.found = self.found.and_also(changed)
        return not changed.whole

    def _function(self, call: ast.Call) -> tuple[str, Function] | None:
        func = call.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id in {"cls", "self"}:
            method = self.index.local(self.path).get(f"{self.owner}.{func.attr}")
            return (self.path, method) if isinstance(method, Function) else None
        found = define(self.index, self.path, dotted(func))
        return (found.path, found.item) if found is not None and isinstance(found.item, Function) else None


def _literal_keys(arguments: list[ast.expr]) -> frozenset[str]:
    """The keys of dicts written out; `*` for anything else."""
    keys: set[str] = set()
    for argument in arguments:
        if isinstance(argument, ast.Dict):
            keys.update((string(key) if key is not None else None) or "*" for key in argument.keys)
        else:
            keys.add("*")
    return frozenset(keys)
