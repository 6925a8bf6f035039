"""The code of a tree walked through on one request: what its names stand for there.

Names are bound as a reader would bind them: a request model's attributes and parameters of the same name are the
request's fields, defaults included. What cannot be told stays unknown.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from typing import Any

from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.locate import walk as walk_values
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.reach import COMMON
from llmdebug.diagnosis.route import Registered, path_values
from llmdebug.diagnosis.schema import escape
from llmdebug.index.build import ASIDE
from llmdebug.index.facts import Class, Function
from llmdebug.index.python.evaluate import MAX_STEPS, Evaluator
from llmdebug.index.python.execute import Callee, Enter, Frame, Outcome, Walk
from llmdebug.index.python.inputs import find_handler
from llmdebug.index.python.models import Model
from llmdebug.index.python.names import constant, define, literal
from llmdebug.index.python.syntax import FunctionNode, dotted, last_name
from llmdebug.index.python.types import Either, Limited, ListOf, Object, Type
from llmdebug.index.python.values import NOT_KNOWN, Crash, Instance, Value

MAX_BODY = 400_000
DUMPERS = frozenset({"model_dump", "dict", "to_dict", "_asdict"})
MAX_ITEMS = 500
THREADERS = {"to_thread": 0, "run_in_threadpool": 0, "run_sync": 0, "run_in_executor": 1, "partial": 0}
"""Calls that make another call, and which of their arguments is the function."""
LOCAL_CALLS = 4
LOCAL_STEPS = 12_000
"""How deep and how long a function is walked through to see whether one line of it is reached."""
RAW_NAMES = frozenset({"data", "values", "body", "payload", "json_data", "raw", "obj", "v", "value", "input_value"})
REQUEST_NAMES = frozenset({"request", "req", "body", "params", "payload", "obj", "data", "request_data", "raw_request"})
OTHER_OWNERS = frozenset(
    {"config", "model_config", "args", "server_args", "settings", "tokenizer", "engine", "state", "app", "shared",
     "cfg", "options", "env", "envs", "logger", "metrics", "hf_config", "vllm_config", "cache_config", "raw_request"}
)  # fmt: skip


class Study:
    """Walks through functions of one tree on one question."""

    def __init__(self, ground: Ground, registered: Registered | None, question: Question) -> None:
        self.ground = ground
        self.registered = registered
        self.question = question
        small = len(question.request.body) <= MAX_BODY
        self.body: Any = copy.deepcopy(question.body) if small else None
        self.models = ground.models(registered) if registered else {}
        self.path_values = path_values(registered.path, question.path) if registered else {}
        self.fields = self._fields()
        self._blindly: set[tuple[str, str]] = set()
        """Functions that this walk has followed without knowing an argument; once is enough."""

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

    # walks

    def walk(self) -> Walk:
        self._blindly.clear()
        return Walk(self._resolve, self._lookup, self._attribute)

    def local(self, path: str, symbol: str, line: int) -> tuple[list[Outcome], bool]:
        """The outcomes of one function walked by itself towards a line, and whether the walk came to its end."""
        node = self.ground.index.named_node(path, symbol)
        if node is None:
            return [], False
        walk = self.walk()
        walk.max_calls = LOCAL_CALLS
        walk.steps = [MAX_STEPS - LOCAL_STEPS]
        walk.target = (path, symbol, line)
        walk.run(Callee(path, symbol, node, self._bound_by_name(path, symbol, node)))
        return walk.outcomes, not walk.stopped

    def forward(self) -> list[Outcome]:
        """What the request meets on its way: validators of its models, then the handler."""
        outcomes: list[Outcome] = []
        if self.registered is None:
            return outcomes
        inputs = self.ground.inputs(self.registered)
        if isinstance(inputs.body, Object):
            outcomes += self._validators(inputs.body.model, self.body, "")
            if any(o.certain and o.kind != "return" for o in outcomes):
                return outcomes
        return outcomes + self._handler()

    def _validators(self, model: Model, value: Any, pointer: str) -> list[Outcome]:
        walk = self.walk()
        ordered: list[tuple[int, str, Class, Any]] = []
        for path, known in model.lineage:
            for validator in known.validators:
                early = validator.mode in {"before", "wrap", "plain"}
                rank = 0 if early and not validator.fields else 1 if validator.fields else 2
                ordered.append((rank, path, known, validator))
        for _, path, known, validator in sorted(ordered, key=lambda item: item[0]):
            symbol = f"{known.name}.{validator.method}"
            node = self.ground.index.named_node(path, symbol)
            if node is None:
                continue
            early = validator.mode in {"before", "wrap", "plain"}
            for subject in self._subjects(model, validator.fields, early, value, pointer):
                walk.run(Callee(path, symbol, node, _validator_names(node, subject, early, bool(validator.fields))))
        return walk.outcomes

    def _subjects(self, model: Model, names: tuple[str, ...], early: bool, value: Any, pointer: str) -> list[Value]:
        """What a validator is handed: the raw value, the object, or the values of its fields."""
        if not names:
            return [Value(value, frozenset({pointer}), pointer) if early else self.instance(model, value, pointer)]
        if not isinstance(value, dict):
            return []
        wanted = model.fields.keys() if "*" in names else names
        found = []
        for name in wanted:
            declared = model.fields.get(name)
            key = next((n for n in declared.names if n in value), None) if declared else None
            if key is not None:
                at = f"{pointer}/{escape(key)}"
                found.append(Value(value[key], frozenset({at}), at))
        return found

    def _handler(self) -> list[Outcome]:
        if self.registered is None:
            return []
        found = find_handler(self.ground.index, self.registered.file, self.registered.route)
        if found is None:
            return []
        path, function = found
        node = self.ground.index.node(path, function)
        if node is None:
            return []
        walk = self.walk()
        return walk.run(Callee(path, function.name, node, self._handler_names(function)))

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
            elif isinstance(inputs.body, Object) and not inputs.by_hand and parameter.annotation:
                kind = self.ground.types.of(self.registered.file if self.registered else "", parameter.annotation)
                if kind == inputs.body:
                    names[parameter.name] = self.instance(inputs.body.model, self.body, "")
        return names

    def _bound_by_name(self, path: str, symbol: str, node: FunctionNode) -> dict[str, Value]:
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

    # what names stand for

    def _lookup(self, frame: Frame, name: str) -> Value:
        try:
            value = constant(self.ground.index, frame.path, name)
        except LookupError:
            return NOT_KNOWN
        settled = value is not None and value not in ([], {})  # others are filled in later
        return Value(value) if settled else NOT_KNOWN

    def _attribute(self, frame: Frame, owner: Value, node: ast.Attribute) -> Value:
        if isinstance(owner.value, Instance):
            if node.attr == "__dict__":
                return as_mapping(owner)
            member = self._member(owner.value, node.attr)
            if member is not None:
                return member
            if owner.value.closed:
                return NOT_KNOWN
        chain = dotted(node.value).split(".")
        if chain and (chain[-1] in OTHER_OWNERS or chain[0] in OTHER_OWNERS):
            return NOT_KNOWN
        whole = dotted(node)
        if whole.endswith(".url.path"):
            return Value(self.question.path)
        if whole and whole[:1].isupper():
            try:
                return Value(constant(self.ground.index, frame.path, whole))
            except LookupError:
                return NOT_KNOWN
        if chain == ["self"]:
            return NOT_KNOWN
        return self.fields.get(node.attr, NOT_KNOWN)

    def _member(self, instance: Instance, name: str) -> Value | None:
        """A constant of the instance's class."""
        facts = self.ground.index.facts(instance.file) if instance.file else None
        known = next((c for c in facts.classes if c.name == instance.class_name), None) if facts else None
        source = dict(known.members).get(name) if known else None
        if source is None and known is not None:
            source = next((f.default for f in known.fields if f.name == name), None)
        return _constant_of(source) if source is not None else None

    # calls

    def _resolve(self, frame: Frame, node: ast.Call, evaluator: Evaluator, enter: Enter) -> Value | None:
        handed = _handed_on(node)
        if handed is not None:
            return self._resolve(frame, handed, evaluator, enter)
        target = self._target(frame, node, evaluator)
        if target is None:
            return _dumped(node, evaluator)
        path, item, owner = target
        if isinstance(item, Class):
            return self._construct(path, item, frame, node, evaluator, enter)
        definition = self.ground.index.node(path, item)
        if definition is None:
            return None
        bound = _arguments(definition, node, evaluator)
        if item.name.rpartition(".")[0] == frame.symbol:
            bound = {**frame.names, **bound}  # a closure
        first = next(iter([*definition.args.posonlyargs, *definition.args.args]), None)
        if first is not None and first.arg in {"self", "cls"}:
            bound[first.arg] = owner if owner is not None else self._self(path, item.name.rpartition(".")[0], None)
        if not any(value.known for value in bound.values()):
            if (path, item.name) in self._blindly:
                return None
            self._blindly.add((path, item.name))
        return enter(Callee(path, item.name, definition, bound))

    def _target(
        self, frame: Frame, node: ast.Call, evaluator: Evaluator
    ) -> tuple[str, Function | Class, Value | None] | None:
        """The function or class that a call names, and the object that it is called on."""
        func = node.func
        index = self.ground.index
        if isinstance(func, ast.Name):
            nested = index.facts(frame.path)
            inner = (
                next((f for f in nested.functions if f.name == f"{frame.symbol}.{func.id}"), None) if nested else None
            )
            if inner:
                return frame.path, inner, None
            found = define(index, frame.path, func.id)
            return (found.path, found.item, None) if found and not isinstance(found.item, str) else None
        if not isinstance(func, ast.Attribute):
            return None
        owner = evaluator.value(func.value)
        if isinstance(owner.value, Instance) and owner.value.class_name:
            method = self._method(owner.value.file, owner.value.class_name, func.attr)
            if method:
                return method[0], method[1], owner
        if isinstance(func.value, ast.Name) and func.value.id in {"self", "cls"}:
            method = self._method(frame.path, frame.symbol.rpartition(".")[0], func.attr)
            return (method[0], method[1], owner) if method else None
        found = define(index, frame.path, dotted(func))
        if found and not isinstance(found.item, str):
            return found.path, found.item, None
        if owner.known or func.attr in COMMON:
            return None
        known = [(p, f) for p, f in index.functions(func.attr) if not ASIDE.search(p)]
        return (known[0][0], known[0][1], None) if len(known) == 1 else None

    def _method(self, path: str, owner: str, name: str) -> tuple[str, Function] | None:
        """A method of a class or of its bases."""
        found = define(self.ground.index, path, owner) if owner else None
        if found is None or not isinstance(found.item, Class):
            return None
        for place, known in self.ground.types.model(found.path, found.item).lineage:
            facts = self.ground.index.facts(place)
            method = next((f for f in facts.functions if f.name == f"{known.name}.{name}"), None) if facts else None
            if method:
                return place, method
        return None

    def _construct(
        self, path: str, known: Class, frame: Frame, node: ast.Call, evaluator: Evaluator, enter: Enter
    ) -> Value | None:
        """An instance made from the arguments; its own checks are walked through."""
        init = self._method(path, known.name, "__init__")
        given = _keywords(node, evaluator)
        if given is None or any(isinstance(a, ast.Starred) for a in node.args):
            return None
        if init is not None and init[0] == path:
            made = Value(Instance({}, known.name, path, closed=True))
            self._run_method(init, node, evaluator, enter, made)
            return made
        model = self.ground.types.model(path, known)
        if not model.fields:
            return None
        for name, value in given.items():
            if name not in model.fields and model.kind in {"dataclass", "msgspec"} and not model.foreign_bases:
                error = TypeError(f"{known.name}.__init__() got an unexpected keyword argument '{name}'")
                raise Crash(error, node.lineno, value.reads)
        fields = {
            name: Value(self._default(d.path, d.field.default, "").value)
            for name, d in model.fields.items()
            if d.field.default is not None
        }
        fields.update(zip(model.fields, (evaluator.value(a) for a in node.args), strict=False))
        fields.update(given)
        made = Value(Instance(fields, known.name, path, closed=True))
        post = self._method(path, known.name, "__post_init__")
        if post is not None:
            definition = self.ground.index.node(*post)
            if definition is not None:
                enter(Callee(post[0], post[1].name, definition, {"self": made}))
        return made

    def _run_method(
        self, method: tuple[str, Function], node: ast.Call, evaluator: Evaluator, enter: Enter, owner: Value
    ) -> None:
        definition = self.ground.index.node(*method)
        if definition is not None:
            bound = {**_arguments(definition, node, evaluator), "self": owner}
            enter(Callee(method[0], method[1].name, definition, bound))


def _keywords(node: ast.Call, evaluator: Evaluator) -> dict[str, Value] | None:
    """The keyword arguments of a call, known mappings spread out; None where a mapping is not known."""
    found: dict[str, Value] = {}
    for word in node.keywords:
        value = evaluator.value(word.value)
        if word.arg:
            found[word.arg] = value
        elif isinstance(value.value, dict):
            for key, item in value.value.items():
                at = f"{value.pointer}/{escape(key)}" if value.pointer is not None else None
                found[str(key)] = Value(item, value.reads | ({at} if at else set()), at)
        else:
            return None
    return found


def _constant_of(source: str) -> Value | None:
    """A constant of a class; of a table that holds names, its keys."""
    try:
        return Value(literal(source))
    except LookupError:
        pass
    try:
        node = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(node, ast.Dict) or not all(isinstance(k, ast.Constant) for k in node.keys):
        return None
    return Value({k.value: Instance({}) for k in node.keys if isinstance(k, ast.Constant)})


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


def as_mapping(owner: Value) -> Value:
    """An object as the mapping of its attributes."""
    if not isinstance(owner.value, Instance):
        return NOT_KNOWN
    held = {**owner.value.fields, **owner.value.changed}
    return Value({name: value.value for name, value in held.items()}, owner.reads, owner.value.pointer)


def _handed_on(node: ast.Call) -> ast.Call | None:
    """The call that is made elsewhere: `to_thread(f, x)` and its like call `f(x)`."""
    first = THREADERS.get(last_name(node))
    if first is None or len(node.args) <= first or not isinstance(node.args[first], ast.Name | ast.Attribute):
        return None
    return ast.copy_location(ast.Call(node.args[first], node.args[first + 1 :], node.keywords), node)


def _dumped(node: ast.Call, evaluator: Evaluator) -> Value | None:
    """`model.model_dump()` and its like."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in DUMPERS:
        owner = evaluator.value(node.func.value)
        return as_mapping(owner) if isinstance(owner.value, Instance) else None
    if isinstance(node.func, ast.Name) and node.func.id == "vars" and len(node.args) == 1:
        return as_mapping(evaluator.value(node.args[0]))
    return None


def _validator_names(node: FunctionNode, subject: Value, early: bool, single: bool) -> dict[str, Value]:
    arguments = [a.arg for a in [*node.args.posonlyargs, *node.args.args]]
    free = [name for name in arguments if name != "cls"]
    if not free:
        return {}
    return {free[0]: subject}


def _arguments(definition: FunctionNode, call: ast.Call, evaluator: Evaluator) -> dict[str, Value]:
    """The parameters of a function bound to a call's arguments and to literal defaults."""
    arguments = definition.args
    positional = [*arguments.posonlyargs, *arguments.args]
    names = [a.arg for a in positional if a.arg not in {"self", "cls"}]
    bound: dict[str, Value] = {}
    defaults: Mapping[str, ast.expr | None] = {
        **dict(zip([a.arg for a in reversed(positional)], reversed(arguments.defaults), strict=False)),
        **dict(zip([a.arg for a in arguments.kwonlyargs], arguments.kw_defaults, strict=True)),
    }
    for name, default in defaults.items():
        if isinstance(default, ast.Constant):
            bound[name] = Value(default.value)
    starred = any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
    if starred:
        bound = {}
    for name, argument in zip(names, call.args, strict=False):
        if isinstance(argument, ast.Starred):
            break
        bound[name] = evaluator.value(argument)
    for word in call.keywords:
        if word.arg:
            bound[word.arg] = evaluator.value(word.value)
    return bound
