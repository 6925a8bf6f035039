"""What the names of a tree's code stand for on one request.

Names are bound as a reader would bind them: a request model's attributes and parameters of the same name are the
request's fields, defaults included. What cannot be told stays unknown.
"""

from __future__ import annotations

import copy
from typing import Any

from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.locate import walk as walk_values
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered, path_values
from llmdebug.diagnosis.schema import escape
from llmdebug.index.facts import Function
from llmdebug.index.python.constants import constant, literal
from llmdebug.index.python.models import Model
from llmdebug.index.python.syntax import FunctionNode
from llmdebug.index.python.types import Either, Limited, ListOf, Object, Type
from llmdebug.index.python.values import NOT_KNOWN, Instance, Value

MAX_BODY = 400_000
MAX_ITEMS = 500
REQUEST_NAMES = frozenset({"request", "req", "body", "params", "payload", "obj", "data", "request_data", "raw_request"})


class Bindings:
    """The names of one tree on one question."""

    def __init__(self, ground: Ground, registered: Registered | None, question: Question) -> None:
        self.ground = ground
        self.registered = registered
        self.question = question
        small = len(question.request.body) <= MAX_BODY
        self.body: Any = copy.deepcopy(question.body) if small else None
        self.models = ground.models(registered) if registered else {}
        self.path_values = path_values(registered.path, question.path) if registered else {}
        self.fields = self._fields()
        self._blindly: dict[tuple[str, str], int] = {}
        """Functions that this walk has followed without knowing an argument, once each, and how many in a row."""

    def _fields(self) -> dict[str, Value]:
        """Names to the request's values: fields of the body, one level of nesting below, and declared defaults."""
        found: dict[str, Value] = {}
        if isinstance(self.body, dict):
            for pointer, value in walk_values(self.body):
                steps = pointer.split("/")[1:]
                if 1 <= len(steps) <= 2 and not any(step.isdigit() for step in steps):
                    found.setdefault(steps[-1], Value(value, frozenset({pointer}), pointer))
        inputs = self.ground.inputs(self.registered) if self.registered else None
        if inputs is not None and isinstance(inputs.body, Object):
            for name, declared in inputs.body.model.fields.items():
                if name not in found:
                    key = next((n for n in declared.names if n in found), None)
                    found[name] = (
                        found[key] if key else self._default(declared.path, declared.field.default, f"/{escape(name)}")
                    )
        return found

    def _default(self, path: str, source: str | None, pointer: str) -> Value:
        reads = frozenset({pointer})
        if source is None:
            return Value(reads=reads)
        try:
            return Value(
                {"list()": [], "dict()": {}}[source] if source in {"list()", "dict()"} else literal(source), reads
            )
        except LookupError:
            try:
                return Value(constant(self.ground.index, path, source), reads)
            except LookupError:
                return Value(reads=reads)

    def instance(self, model: Model | None, value: Any, pointer: str) -> Value:
        """An object read from a JSON object; a value of another kind stays what it is."""
        if not isinstance(value, dict):
            return Value(value, frozenset({pointer}), pointer)
        fields: dict[str, Value] = {}
        if model is not None:
            for name, declared in model.fields.items():
                key = next((n for n in declared.names if n in value), None)
                at = f"{pointer}/{escape(key or name)}"
                if key is None:
                    fields[name] = self._default(declared.path, declared.field.default, at)
                else:
                    fields[name] = self._nested(self.ground.checker.field_type(declared), value[key], at)
        for key, item in value.items():
            if model is None or model.takes_unknown:
                at = f"{pointer}/{escape(key)}"
                fields.setdefault(key, Value(item, frozenset({at}), at))
        name = model.name if model else ""
        return Value(
            Instance(fields, name, model.path if model else "", pointer, closed=model is not None),
            frozenset({pointer}),
            pointer,
        )

    def _nested(self, kind: Type, value: Any, pointer: str) -> Value:
        """A field's value: objects of their classes where the type tells them, JSON as it is elsewhere."""
        reads = frozenset({pointer})
        match kind:
            case Limited(inner, _):
                return self._nested(inner, value, pointer)
            case Either(options, _):
                shaped = [o for o in options if _has_shape(o, value)]
                fitting = [o for o in shaped if not self.ground.checker.check(o, value)] or shaped
                return self._nested(fitting[0], value, pointer) if fitting else Value(value, reads, pointer)
            case ListOf(item) if isinstance(value, list) and any(isinstance(v, dict) for v in value):
                made = [self._nested(item, v, f"{pointer}/{i}").value for i, v in enumerate(value[:MAX_ITEMS])]
                return Value(made, reads, pointer)
            case Object(model) if isinstance(value, dict) and model.kind != "typeddict":
                return self.instance(model, value, pointer)
        return Value(value, reads, pointer)

    def _handler_names(self, function: Function) -> dict[str, Value]:
        inputs = self.ground.inputs(self.registered) if self.registered else None
        names: dict[str, Value] = {}
        for parameter in function.parameters:
            if inputs is None:
                continue
            if parameter.name in inputs.embedded:
                names[parameter.name] = self.fields.get(parameter.name, NOT_KNOWN)
            elif any(p.name == parameter.name for p in inputs.parameters):
                given = {**dict(self.question.query), **self.path_values}
                names[parameter.name] = Value(given[parameter.name]) if parameter.name in given else NOT_KNOWN
            elif inputs.body is not None and not inputs.by_hand and parameter.annotation:
                kind = self.ground.types.of(self.registered.file if self.registered else "", parameter.annotation)
                if kind == inputs.body and isinstance(kind, Object):
                    names[parameter.name] = self.instance(kind.model, self.body, "")
                elif kind == inputs.body:
                    names[parameter.name] = Value(self.body, frozenset({""}), "")
        return names

    def bound(self, path: str, symbol: str, node: FunctionNode) -> dict[str, Value]:
        """What a reader would take the parameters of a function for."""
        owner = symbol.rpartition(".")[0]
        model = self.models.get((path, owner))
        names: dict[str, Value] = {}
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        modes = (
            {v.mode for _, c in model.lineage for v in c.validators if v.method == node.name and not v.fields}
            if model
            else set()
        )
        for argument in arguments:
            if argument.arg in self.path_values:
                names[argument.arg] = Value(self.path_values[argument.arg])
            elif argument.arg == "self":
                names["self"] = self._self(path, owner, model)
            elif argument.arg == "cls":
                continue
            elif modes and model is not None:
                raw = self._value_of(model)
                names[argument.arg] = raw if modes != {"after"} else self.instance(model, raw.value, raw.pointer or "")
            elif argument.arg in self.fields:
                names[argument.arg] = self.fields[argument.arg]
            elif argument.arg in REQUEST_NAMES and isinstance(self.body, dict):
                names[argument.arg] = self._request()
        return names

    def _value_of(self, model: Model) -> Value:
        """The first value of the body that is read into a model."""
        inputs = self.ground.inputs(self.registered) if self.registered else None
        if (
            inputs
            and isinstance(inputs.body, Object)
            and (inputs.body.model.path, inputs.body.model.name) == (model.path, model.name)
        ):
            return Value(self.body, frozenset({""}), "")
        for pointer, value in walk_values(self.body):
            if pointer and isinstance(value, dict) and not self.ground.checker.check(Object(model), value):
                return Value(value, frozenset({pointer}), pointer)
        return Value(self.body, frozenset({""}), "")

    def _request(self) -> Value:
        inputs = self.ground.inputs(self.registered) if self.registered else None
        model = inputs.body.model if inputs and isinstance(inputs.body, Object) else None
        found = self.instance(model, self.body, "")
        if isinstance(found.value, Instance):
            found.value.closed = False
        return found

    def _self(self, path: str, owner: str, model: Model | None) -> Value:
        if model is not None:
            raw = self._value_of(model)
            return self.instance(model, raw.value, raw.pointer or "")
        facts = self.ground.index.facts(path)
        known = next((c for c in facts.classes if c.name == owner), None) if facts else None
        if known is None:
            return NOT_KNOWN
        declared = {f.name for f in known.fields} | self._init_names(path, owner)
        shared = declared & self.fields.keys()
        if len(shared) >= 2:
            return Value(Instance({name: self.fields[name] for name in shared}, owner, path))
        return Value(Instance({}, owner, path))

    def _init_names(self, path: str, owner: str) -> set[str]:
        facts = self.ground.index.facts(path)
        init = next((f for f in facts.functions if f.name == f"{owner}.__init__"), None) if facts else None
        return {p.name for p in init.parameters} if init else set()


def _has_shape(kind: Type, value: Any) -> bool:
    """Whether a type may hold values of this JSON type at all."""
    match kind:
        case Limited(inner, _):
            return _has_shape(inner, value)
        case Object():
            return isinstance(value, dict)
        case ListOf():
            return isinstance(value, list)
    return not isinstance(value, dict | list)
