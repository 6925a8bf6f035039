"""Names that code does not bind itself, and calls: followed through one tree on one request."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from llmdebug.diagnosis.bindings import Bindings
from llmdebug.diagnosis.reach import COMMON
from llmdebug.diagnosis.schema import escape
from llmdebug.index.facts import Class, Function
from llmdebug.index.languages import ASIDE
from llmdebug.index.python.constants import constant, literal
from llmdebug.index.python.evaluate import Evaluator
from llmdebug.index.python.execute import Callee, Enter, Frame
from llmdebug.index.python.inputs import MODEL_PARSERS
from llmdebug.index.python.names import define, define_attribute
from llmdebug.index.python.syntax import FunctionNode, dotted, last_name
from llmdebug.index.python.values import NOT_KNOWN, Crash, Instance, Value

DUMPERS = frozenset({"model_dump", "dict", "to_dict", "_asdict"})
THREADERS = {"to_thread": 0, "run_in_threadpool": 0, "run_sync": 0, "run_in_executor": 1, "partial": 0}
"""Calls that make another call, and which of their arguments is the function."""
MAX_BLINDLY = 2
"""How many calls in a row are followed that are handed nothing known."""
OTHER_OWNERS = frozenset(
    {"args", "server_args", "settings", "tokenizer", "engine", "state", "app", "shared", "cfg", "options", "env",
     "envs", "logger", "metrics", "raw_request"}
)  # fmt: skip


class Following(Bindings):
    """Looks names up and follows calls."""

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
        if any(name in OTHER_OWNERS or name.endswith("config") for name in (chain[0], chain[-1])):
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
        declared = next((f for f in known.fields if f.name == name), None) if known else None
        if known is not None and declared is not None:
            if self.ground.types.model(instance.file, known).kind != "plain":
                return NOT_KNOWN  # the default of a field says nothing of this object
            source = declared.default
        if source == "None":  # to be filled in by a class below this one, or later
            return NOT_KNOWN
        return _constant_of(source) if source is not None else None

    def _resolve(self, frame: Frame, node: ast.Call, evaluator: Evaluator, enter: Enter) -> Value | None:
        handed = _handed_on(node)
        if handed is not None:
            return self._resolve(frame, handed, evaluator, enter)
        read = self._read_body(node, evaluator) or self._parsed(frame, node, evaluator)
        if read is not None:
            return read
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
            blindly = self._blindly.get((frame.path, frame.symbol), 0) + 1
            if (path, item.name) in self._blindly or blindly > MAX_BLINDLY:
                return None
            self._blindly[path, item.name] = blindly
        given = enter(Callee(path, item.name, definition, bound))
        return given if given.known else self._annotated(path, item) or given

    def _annotated(self, path: str, function: Function) -> Value | None:
        """What a function is annotated to give, where that is an object of one class of the tree."""
        found = define(self.ground.index, path, function.returns) if function.returns[:1].isupper() else None
        if found is None or not isinstance(found.item, Class):
            return None
        return Value(Instance({}, found.item.name, found.path))

    def _read_body(self, node: ast.Call, evaluator: Evaluator) -> Value | None:
        """The body where a call reads it from the framework's request; None for any other call."""
        func = node.func
        if not isinstance(func, ast.Attribute) or func.attr not in {"json", "get_json"} or node.args:
            return None
        if not dotted(func.value).endswith(("request", "req")) or evaluator.value(func.value).known:
            return None
        return Value(self.body, frozenset({""}), "") if self.body is not None else None

    def _parsed(self, frame: Frame, node: ast.Call, evaluator: Evaluator) -> Value | None:
        """The object that a model's own parser makes of a JSON object; None for any other call."""
        func = node.func
        if not isinstance(func, ast.Attribute) or func.attr not in MODEL_PARSERS or len(node.args) != 1:
            return None
        found = define(self.ground.index, frame.path, dotted(func.value))
        given = evaluator.value(node.args[0])
        if found is None or not isinstance(found.item, Class) or not isinstance(given.value, dict):
            return None
        model = self.ground.types.model(found.path, found.item)
        return self.instance(model, given.value, given.pointer or "") if model.fields else None

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
            called = frame.names.get(func.id)
            if called is not None and isinstance(called.value, Instance) and called.value.class_name:
                method = self._method(called.value.file, called.value.class_name, "__call__")
                return (method[0], method[1], called) if method else None
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
            if method:
                return method[0], method[1], owner
            kept = define_attribute(index, frame.path, func.attr)
            return (kept.path, kept.item, None) if kept and not isinstance(kept.item, str) else None
        found = define(index, frame.path, dotted(func))
        if found and not isinstance(found.item, str):
            return found.path, found.item, None
        if owner.known:
            return None
        declared = self._declared_class(frame, func.value)
        if declared is not None:
            path, known = declared
            method = self._method(path, known.name, func.attr)
            return (*method, Value(Instance({}, known.name, path))) if method else None
        if func.attr in COMMON:
            return None
        namesakes = [(p, f) for p, f in index.functions(func.attr) if not ASIDE.search(p)]
        return (namesakes[0][0], namesakes[0][1], None) if len(namesakes) == 1 else None

    def _declared_class(self, frame: Frame, node: ast.expr) -> tuple[str, Class] | None:
        """The class of the tree that a parameter is annotated with: of the function itself or of one around it."""
        if not isinstance(node, ast.Name):
            return None
        local = self.ground.index.local(frame.path)
        symbol = frame.symbol
        while symbol:
            function = local.get(symbol)
            for parameter in function.parameters if isinstance(function, Function) else ():
                if parameter.name == node.id:
                    found = define(self.ground.index, frame.path, parameter.annotation.strip("'\""))
                    return (found.path, found.item) if found is not None and isinstance(found.item, Class) else None
            symbol = symbol.rpartition(".")[0]
        return None

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
