"""What a handler takes from a request: models, parameters, and keys that it reads by hand."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Literal

from llmdebug.index.build import Index
from llmdebug.index.facts import BODY, QUERY, Class, Function, Parameter, Route
from llmdebug.index.languages import PYTHON
from llmdebug.index.python.names import define
from llmdebug.index.python.syntax import FunctionNode, dotted, keyword, last_name, string, text
from llmdebug.index.python.types import ANYTHING, Anything, Either, Limited, ListOf, MapOf, Object, Type, Types

Where = Literal["body", "query", "path", "header", "form"]

REQUEST_CLASSES = frozenset({"Request", "HTTPConnection", "WebSocket", "Response", "BackgroundTasks", "HttpRequest"})
PARSERS = frozenset({"json", "get_json", "loads", "decode", "read", "body", "form", "post"})
MODEL_PARSERS = frozenset(
    {"model_validate", "parse_obj", "from_dict", "validate_python", "model_validate_json", "parse_raw", "construct"}
)
TEXT_PARSERS = frozenset({"model_validate_json", "parse_raw", "validate_json"})
RAW_TEXTS = frozenset({"body", "data", "raw", "raw_body", "payload", "post_body", "body_bytes"})
KEY_READERS = frozenset({"get", "pop", "setdefault"})
PLAIN = (ast.Name, ast.Attribute)
MAX_FOLLOWED = 4
MARKERS = frozenset({"Form", "File", "Query", "Body", "Header", "Path"})
"""What a framework's parameters are declared with."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A parameter that the framework fills."""

    name: str
    where: Where
    type: Type
    required: bool
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Read:
    """A key that code takes from the raw body by hand."""

    key: str
    path: str
    line: int
    required: bool
    """Whether its absence raises (`body["k"]` rather than `body.get("k")`)."""


@dataclass
class Inputs:
    """What a handler takes."""

    body: Type | None = None
    """The type of the whole body; None where no declaration tells."""
    embedded: dict[str, Type] = field(default_factory=dict)
    """Body parameters that each have a key of their own."""
    parameters: list[Taken] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    passes_on: bool = False
    """Whether the raw body goes to code that was not followed: nobody can say what is ignored."""
    by_hand: bool = False
    """Whether the model is made by code of the handler rather than by the framework."""
    bound_at: tuple[str, int, str] | None = None
    """File, line and function where the body is read, in other languages than Python."""


def inputs_of(index: Index, types: Types, path: str, route: Route) -> Inputs:
    """What the handler of a registration takes."""
    if not path.endswith(PYTHON.suffixes):
        return _bound_inputs(index, types, path, route)
    inputs = Inputs()
    found = find_handler(index, path, route)
    if found is None:
        return inputs
    place, function = found
    bodies: list[tuple[Parameter, Type]] = []
    for parameter in function.parameters:
        _parameter(index, types, place, parameter, route, inputs, bodies, 0)
    if len(bodies) == 1 and not _is_embedded(bodies[0][0]):
        inputs.body = bodies[0][1]
    else:
        inputs.embedded.update({parameter.name: kind for parameter, kind in bodies})
    node = index.node(place, function)
    if node is not None and inputs.body is None and not inputs.embedded:
        _Hand(index, types, inputs).follow(place, node, _request_names(node), 0, owner=function.name.rpartition(".")[0])
        inputs.by_hand = inputs.body is not None
    return inputs


def _bound_inputs(index: Index, types: Types, path: str, route: Route) -> Inputs:
    """What the first function of a route reads the body and the query into, those before the handler first."""
    inputs = Inputs()
    for name in (*route.dependencies, route.handler):
        found = define(index, path, name)
        if found is None or not isinstance(found.item, Function):
            continue
        for asked in (p for p in found.item.parameters if p.default == QUERY):
            inputs.parameters += _of_query(types, types.of(found.path, asked.annotation))
        bound = next((p for p in found.item.parameters if p.default == BODY), None)
        if bound is not None:
            inputs.body = types.of(found.path, bound.annotation)
            inputs.bound_at = (found.path, bound.line, found.item.name)
            break
    return inputs


def _of_query(types: Types, kind: Type) -> list[Taken]:
    """The parameters of a query that is read into an object."""
    declared = kind.model.fields.values() if isinstance(kind, Object) else ()
    return [
        Taken(name, "query", types.field(d.path, d.field.annotation, ()), d.required, d.path, d.field.line)
        for d in declared
        for name in d.names[:1]
    ]


def find_handler(index: Index, path: str, route: Route) -> tuple[str, Function] | None:
    """The function that a registration names, and its file."""
    facts = index.facts(path)
    if facts is None or not route.handler:
        return None
    at_line = [f for f in facts.functions if f.name == route.handler and f.line == route.end_line]
    named = at_line or [f for f in facts.functions if f.name == route.handler]
    if named:
        return path, named[-1]
    owner, _, last = route.handler.rpartition(".")
    elsewhere = _handler_of(index, path, route, owner, last) if owner else None
    if elsewhere is not None:
        return elsewhere
    named = [f for f in facts.functions if f.name.rpartition(".")[2] == last]
    if named:
        return path, named[-1]
    found = define(index, path, route.handler)
    if found and isinstance(found.item, Function):
        return found.path, found.item
    return None


def _handler_of(index: Index, path: str, route: Route, owner: str, name: str) -> tuple[str, Function] | None:
    """The handler that is an attribute: a function of a module, or a method of an object whose class is told."""
    found = define(index, path, f"{owner}.{name}")
    if found and isinstance(found.item, Function):
        return found.path, found.item
    for class_name in _classes_of(index, path, route, owner):
        holder = define(index, path, class_name)
        if holder and isinstance(holder.item, Class):
            method = index.local(holder.path).get(f"{holder.item.name}.{name}")
            if isinstance(method, Function):
                return holder.path, method
    return None


def _classes_of(index: Index, path: str, route: Route, owner: str) -> list[str]:
    """Names of the classes that an object may be of: as the registering function's parameter says, or what made it."""
    spoken = owner
    around = index.local(path).get(route.symbol)
    if isinstance(around, Function):
        spoken += " ".join(["", *(p.annotation for p in around.parameters if p.name == owner)])
    made = index.local(path).get(owner)
    if isinstance(made, str):
        spoken += f" {made.partition('(')[0]}"
    return re.findall(r"\b[A-Z]\w*", spoken)


def _is_embedded(parameter: Parameter) -> bool:
    return "embed=True" in (parameter.default or "") + parameter.annotation


def _parameter(
    index: Index,
    types: Types,
    path: str,
    parameter: Parameter,
    route: Route,
    inputs: Inputs,
    bodies: list[tuple[Parameter, Type]],
    depth: int,
) -> None:
    """Sort a parameter of a handler into what fills it."""
    spoken = parameter.annotation + " " + (parameter.default or "")
    last = parameter.annotation.partition("[")[0].rpartition(".")[2]
    if parameter.name in {"self", "cls"} or last in REQUEST_CLASSES:
        return
    if "Depends(" in spoken or "Security(" in spoken:
        name = spoken.partition("Depends(")[2] or spoken.partition("Security(")[2]
        target = define(index, path, name.partition(")")[0].partition(",")[0].strip())
        if target and isinstance(target.item, Function) and depth < MAX_FOLLOWED:
            for inner in target.item.parameters:
                _parameter(index, types, target.path, inner, route, inputs, bodies, depth + 1)
        return
    kind = types.field(path, parameter.annotation, _bounds(parameter.default or ""))
    required = parameter.default is None or "(...)" in parameter.default or _declares_required(parameter.default)
    where = _where(parameter, spoken, kind, route)
    if where == "body":
        bodies.append((parameter, kind))
    else:
        inputs.parameters.append(Taken(parameter.name, where, kind, required, path, parameter.line))


def _bounds(default: str) -> tuple[tuple[str, str], ...]:
    """The keyword arguments of `Query(…)` and its like, as source text."""
    if default.partition("(")[0].rpartition(".")[2] not in MARKERS:
        return ()
    try:
        call = ast.parse(default, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ()
    return tuple((k.arg, text(k.value)) for k in call.keywords if k.arg) if isinstance(call, ast.Call) else ()


def _declares_required(default: str) -> bool:
    head = default.partition("(")[0]
    if head.rpartition(".")[2] not in MARKERS:
        return False
    inner = default.partition("(")[2].rstrip(")").strip()
    return not inner or inner.startswith("...") or ("=" in inner.partition(",")[0] and "default" not in inner)


def _where(parameter: Parameter, spoken: str, kind: Type, route: Route) -> Where:
    for marker, where in (
        ("Form(", "form"),
        ("File(", "form"),
        ("Query(", "query"),
        ("Header(", "header"),
        ("Path(", "path"),
    ):
        if marker in spoken:
            return where  # type: ignore[return-value]
    if re.search(rf"[{{<:]{re.escape(parameter.name)}[}}:>]", route.path):
        return "path"
    if "UploadFile" in spoken:
        return "form"
    return "body" if "Body(" in spoken or is_structured(kind) else "query"


def is_structured(kind: Type) -> bool:
    """Whether a value of this type comes as a JSON body rather than in the query."""
    match kind:
        case Object():
            return True
        case Limited(inner, _):
            return is_structured(inner)
        case Either(options, _):
            return any(is_structured(option) for option in options)
        case ListOf(item):
            return is_structured(item)
        case MapOf():
            return True
        case Anything(name):
            return name[:1].isupper() or "." in name
    return False


def _request_names(node: FunctionNode) -> set[str]:
    return {a.arg for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]}


def _is_raw_text(value: ast.expr) -> bool:
    """Whether an expression reads like the body of the request before it is parsed."""
    if isinstance(value, ast.Await):
        value = value.value
    if isinstance(value, ast.Call):
        return last_name(value) in {"body", "read", "get_data"}
    return isinstance(value, ast.Name) and value.id in RAW_TEXTS


class _Hand:
    """Follows a raw body through hand-written code."""

    def __init__(self, index: Index, types: Types, inputs: Inputs) -> None:
        self.index = index
        self.types = types
        self.inputs = inputs
        self.seen: set[tuple[str, str]] = set()

    def follow(
        self,
        path: str,
        node: FunctionNode,
        names: set[str],
        depth: int,
        raw: frozenset[str] = frozenset(),
        owner: str = "",
    ) -> None:
        """`raw` holds the names that already stand for the parsed body; `owner` is the class of a method."""
        bodies = set(raw)
        for statement in ast.walk(node):
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
                if isinstance(target, PLAIN) and self._is_body(statement.value, bodies, names):
                    bodies.add(dotted(target))
        for part in ast.walk(node):
            self._part(path, part, bodies, names, depth)
        kept = frozenset(name for name in bodies - raw if name.startswith("self."))
        if kept and owner:
            self._methods(path, owner, node.name, depth, kept)

    def _methods(self, path: str, owner: str, but: str, depth: int, kept: frozenset[str]) -> None:
        """Follow a body that is kept on the object into its other methods."""
        for name, function in self.index.local(path).items():
            if not isinstance(function, Function) or name.rpartition(".")[0] != owner or name == f"{owner}.{but}":
                continue
            node = self.index.node(path, function)
            if node is not None and (path, name) not in self.seen:
                self.seen.add((path, name))
                self.follow(path, node, _request_names(node), depth + 1, kept)

    def _is_body(self, value: ast.expr, bodies: set[str], names: set[str]) -> bool:
        if isinstance(value, ast.Await):
            value = value.value
        if isinstance(value, PLAIN):
            return dotted(value) in bodies
        if isinstance(value, ast.Call):
            if isinstance(value.func, ast.Name) and value.func.id == "dict" and value.args:
                return isinstance(value.args[0], PLAIN) and dotted(value.args[0]) in bodies
            if last_name(value) in {"json", "get_json"} and isinstance(value.func, ast.Attribute):
                return "request" in dotted(value.func.value) or last_name(value.func.value) in names
            if last_name(value) in {"loads", "decode"} and value.args:
                first = value.args[0]
                return (
                    isinstance(first, ast.Name)
                    and first.id in bodies | {"body", "data", "raw_body", "payload", "post_body"}
                ) or (
                    isinstance(first, ast.Await | ast.Call)
                    and last_name(first.value if isinstance(first, ast.Await) else first) in PARSERS
                )
        return False

    def _part(self, path: str, part: ast.AST, bodies: set[str], names: set[str], depth: int) -> None:
        match part:
            case ast.Call():
                self._call(path, part, bodies, names, depth)
            case ast.Subscript(
                value=ast.Name() | ast.Attribute() as of, slice=ast.Constant(value=str(key)), ctx=ast.Load()
            ) if dotted(of) in bodies:
                self.inputs.reads.append(Read(key, path, part.lineno, True))
            case ast.Compare(left=ast.Constant(value=str(key)), ops=[ast.In() | ast.NotIn()], comparators=[of]) if (
                isinstance(of, PLAIN) and dotted(of) in bodies
            ):
                self.inputs.reads.append(Read(key, path, part.lineno, False))
            case (
                ast.For(iter=ast.Call(func=ast.Attribute(value=of)))
                | ast.For(iter=of)
                | ast.comprehension(iter=ast.Call(func=ast.Attribute(value=of)))
                | ast.comprehension(iter=of)
            ) if isinstance(of, PLAIN) and dotted(of) in bodies:
                self.inputs.passes_on = True
            case ast.Dict(keys=keys, values=values):
                spread = [v for k, v in zip(keys, values, strict=True) if k is None]
                self.inputs.passes_on |= any(isinstance(v, PLAIN) and dotted(v) in bodies for v in spread)
            case ast.Return(value=ast.expr() as of) if isinstance(of, PLAIN) and dotted(of) in bodies:
                self.inputs.passes_on = True

    def _call(self, path: str, call: ast.Call, bodies: set[str], names: set[str], depth: int) -> None:
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in KEY_READERS and dotted(func.value) in bodies:
            key = string(call.args[0]) if call.args else None
            if key is not None:
                self.inputs.reads.append(Read(key, path, call.lineno, func.attr == "pop" and len(call.args) == 1))
            return
        spread = [k.value for k in call.keywords if k.arg is None]
        given = [*call.args, *(k.value for k in call.keywords if k.arg), *spread]
        taken = [g for g in given if self._is_body(g, bodies, names) or (isinstance(g, ast.Name) and g.id in bodies)]
        if isinstance(func, ast.Attribute) and func.attr in TEXT_PARSERS:
            taken += [argument for argument in call.args[:1] if _is_raw_text(argument)]
        typed = keyword(call, "type") if last_name(call) in {"decode", "convert"} else None
        if typed is not None:
            self._model(path, self.types.of(path, text(typed)))
            return
        if not taken:
            return
        target = func.value if isinstance(func, ast.Attribute) and func.attr in MODEL_PARSERS else func
        found = define(self.index, path, dotted(target))
        if found and isinstance(found.item, Class):
            self._model(path, self.types.of(path, dotted(target)))
        elif found and isinstance(found.item, Function):
            self._enter(found.path, found.item, call, bodies, depth)
        elif last_name(call) not in {
            "len",
            "isinstance",
            "dict",
            "str",
            "dumps",
            "print",
            "info",
            "debug",
            "warning",
            "get",
        }:
            self._enter_by_name(path, call, bodies, depth)

    def _model(self, path: str, kind: Type) -> None:
        if self.inputs.body is None and kind != ANYTHING:
            self.inputs.body = kind

    def _enter_by_name(self, path: str, call: ast.Call, bodies: set[str], depth: int) -> None:
        known = [f for f in self.index.functions(last_name(call)) if f[0] == path] or self.index.functions(
            last_name(call)
        )
        if len(known) == 1:
            self._enter(known[0][0], known[0][1], call, bodies, depth)
        else:
            self.inputs.passes_on = True

    def _enter(self, path: str, function: Function, call: ast.Call, bodies: set[str], depth: int) -> None:
        if depth >= MAX_FOLLOWED:
            self.inputs.passes_on = True
            return
        if (path, function.name) in self.seen:
            return
        self.seen.add((path, function.name))
        parameters = [p.name for p in function.parameters if p.name not in {"self", "cls"}]
        raw = {p for p, a in zip(parameters, call.args, strict=False) if isinstance(a, ast.Name) and a.id in bodies}
        raw |= {k.arg for k in call.keywords if k.arg and isinstance(k.value, ast.Name) and k.value.id in bodies}
        if any(k.arg is None for k in call.keywords):
            for parameter in function.parameters:
                self.inputs.reads.append(Read(parameter.name, path, parameter.line, parameter.default is None))
        node = self.index.node(path, function)
        if node is not None and raw:
            self.follow(path, node, _request_names(node), depth + 1, frozenset(raw))
