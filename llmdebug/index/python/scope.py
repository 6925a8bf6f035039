"""What the expressions of a function see while it is walked through, and what assignments make of it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llmdebug.index.python.evaluate import Evaluator
from llmdebug.index.python.frames import Callee, Frame, Left, Loop, Replacement
from llmdebug.index.python.operations import MUTATORS, carry_out, is_plain, iterated, unpacked
from llmdebug.index.python.syntax import dotted
from llmdebug.index.python.values import NOT_KNOWN, NOTHING, UNKNOWN, Crash, Instance, Value, join

if TYPE_CHECKING:
    from llmdebug.index.python.execute import Walk

ALL_MUTATORS = frozenset().union(*MUTATORS.values())


class Scope:
    """The names of one function."""

    def __init__(self, walk: Walk, frame: Frame, certain: bool, reads: frozenset[str], held: bool) -> None:
        self.walk = walk
        self.frame = frame
        self.certain = certain
        self.held = held
        self.reads = reads
        self.near: frozenset[str] = NOTHING
        self.returns: list[Value] = []
        """What the branches that may have been taken return."""
        self.left = Left()
        self.loops: list[Loop] = []
        self.handling: list[tuple[str, range]] = []
        """Errors being handled: class, and which outcomes they are."""
        self.evaluator = Evaluator(self, walk.steps)

    def lookup(self, name: str) -> Value:
        if name in self.frame.names:
            return self.frame.names[name]
        return self.walk.lookup_free(self.frame, name)

    def bind(self, name: str, value: Value) -> None:
        self.frame.names[name] = value
        prefix = f"{name}."
        for known in [n for n in self.frame.names if n.startswith(prefix)]:
            del self.frame.names[known]

    def attribute(self, owner: Value, name: str, node: ast.Attribute) -> Value:
        if isinstance(owner.value, Instance):
            found = owner.value.get(name)
            if found is not None:
                return found
        stored = self.frame.names.get(dotted(node)) if "." in dotted(node) else None
        return stored or self.walk.attribute_of(self.frame, owner, node)

    def call(self, node: ast.Call, evaluator: Evaluator) -> Value:
        def enter(callee: Callee) -> Value:
            given, sure = self.walk.enter_call(callee, self.certain, self.reads, self.unconditional)
            if not sure:
                self.certain = False
                self.left = self.left.counting("raise")
                evaluator.doubts += 1
            return given

        found = self.walk.resolve(self.frame, node, evaluator, enter)
        if found is not None:
            return found
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            if not isinstance(argument, ast.Constant | ast.Name | ast.Lambda | ast.GeneratorExp):
                evaluator.value(argument)
        return NOT_KNOWN

    @property
    def unconditional(self) -> bool:
        """Whether whatever comes after, in the functions that called too, comes after this."""
        caught = bool(self.left.raises) and self.walk.guarded > 0
        return self.held and not self.left.returns and not self.left.jumps and not caught

    def replace(self, old: Any, new: Any, reads: frozenset[str]) -> None:
        self.walk.replace(Replacement(old, new, reads | self.near), self.unconditional)

    def store(self, target: ast.expr, value: Value) -> None:
        """Assign to a target of any form."""
        match target:
            case ast.Name(id=name):
                self.bind(name, value if value.reads else Value(value.value, self.near, value.pointer))
            case ast.Attribute(value=owner_node, attr=name):
                owner = self.evaluator.value(owner_node)
                if isinstance(owner.value, Instance):
                    owner.value.changed[name] = value if self.unconditional else Value(UNKNOWN, value.reads)
                elif "." in dotted(target):
                    self.bind(dotted(target), value)
            case ast.Subscript(value=owner_node, slice=key_node):
                owner, key = self.evaluator.value(owner_node), self.evaluator.value(key_node)
                self._store_item(owner, key, value, target.lineno)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                self._unpack(elements, value, target.lineno)
            case ast.Starred(value=inner):
                self.store(inner, value)

    def _unpack(self, elements: list[ast.expr], value: Value, line: int) -> None:
        starred = next((i for i, e in enumerate(elements) if isinstance(e, ast.Starred)), None)
        if starred is None:
            items = unpacked(value, len(elements), line)
        else:
            items = iterated(value, line)
            behind = len(elements) - starred - 1
            if items is not None and len(items) >= len(elements) - 1:
                middle = [item.value for item in items[starred : len(items) - behind]]
                items = [*items[:starred], Value(middle, value.reads), *items[len(items) - behind :]]
            else:
                items = None
        for element, item in zip(elements, items or [Value(UNKNOWN, value.reads)] * len(elements), strict=True):
            self.store(element, item)

    def _store_item(self, owner: Value, key: Value, value: Value, line: int) -> None:
        """`d[k] = v`: on a copy, which then stands in the object's place."""
        reads = join(owner, key, value)
        if isinstance(owner.value, str | int | float | None):
            kind = type(owner.value).__name__
            raise Crash(TypeError(f"'{kind}' object does not support item assignment"), line, owner.reads)
        if isinstance(owner.value, list | dict) and key.known and is_plain(key.value):
            changed = owner.value.copy()
            carry_out(type(changed).__setitem__, line, reads, changed, key.value, value.value)
            self.replace(owner.value, changed, reads)
        elif isinstance(owner.value, list | dict):
            self.replace(owner.value, UNKNOWN, reads)

    def delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.bind(target.id, NOT_KNOWN)
            elif isinstance(target, ast.Subscript):
                owner, key = self.evaluator.value(target.value), self.evaluator.value(target.slice)
                if isinstance(owner.value, str | int | float | None):
                    kind = type(owner.value).__name__
                    error = TypeError(f"'{kind}' object doesn't support item deletion")
                    raise Crash(error, target.lineno, owner.reads)
                if not isinstance(owner.value, list | dict):
                    continue
                changed: Any = UNKNOWN
                if key.known and is_plain(key.value):
                    changed = owner.value.copy()
                    carry_out(type(changed).__delitem__, target.lineno, join(owner, key), changed, key.value)
                self.replace(owner.value, changed, join(owner, key))

    def unbind(self, node: ast.stmt) -> None:
        """A definition or an import inside a function: its name stands for nothing that is known."""
        names = [a.asname or a.name.partition(".")[0] for a in getattr(node, "names", ())]
        for name in names or [str(getattr(node, "name", ""))]:
            if name in self.frame.names:
                self.bind(name, NOT_KNOWN)

    def forget(self, body: Sequence[ast.stmt]) -> None:
        """Make all that a block may change unknown."""
        for statement in body:
            for node in ast.walk(statement):
                match node:
                    case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                        self.bind(name, NOT_KNOWN)
                    case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                        self._forget_owner(node)
                    case ast.Call(func=ast.Attribute(attr=attr) as func) if attr in ALL_MUTATORS:
                        self._forget_owner(func)
                    case ast.AugAssign(target=ast.Name(id=name)):
                        known = self.frame.names.get(name, NOT_KNOWN)
                        if isinstance(known.value, list | dict | set):
                            self.replace(known.value, UNKNOWN, NOTHING)

    def _forget_owner(self, node: ast.Attribute | ast.Subscript) -> None:
        """Make the object unknown whose attribute, element or content is changed."""
        owner: ast.expr = node.value
        while isinstance(owner, ast.Attribute | ast.Subscript | ast.Call):
            owner = owner.func if isinstance(owner, ast.Call) else owner.value
        known = self.frame.names.get(owner.id, NOT_KNOWN) if isinstance(owner, ast.Name) else NOT_KNOWN
        if isinstance(known.value, Instance) and isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            known.value.changed[node.attr] = NOT_KNOWN
        elif isinstance(known.value, Instance):
            for name, value in {**known.value.fields, **known.value.changed}.items():
                if isinstance(value.value, list | dict | set):
                    known.value.changed[name] = Value(UNKNOWN, value.reads)
        elif isinstance(known.value, list | dict | set):
            self.replace(known.value, UNKNOWN, NOTHING)
        elif "." in dotted(node):
            self.bind(dotted(node), NOT_KNOWN)
