"""One file of Go source: routes, structs with their JSON names, functions with what they call, and refusals.

Types are told in Python's terms, as request models of Python are: `[]string` is `list[str]`, a pointer may be null.
A handler's parameters are what it binds the body to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus

import msgspec
from tree_sitter import Node

from llmdebug.index.facts import (
    BODY,
    HOLE,
    Class,
    Field,
    FileFacts,
    Function,
    Parameter,
    Rejection,
    Route,
    Template,
    Validator,
)
from llmdebug.index.grammar import around, end_line_of, line_of, root_of, text_of, within

VERBS = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"})
ANY_METHOD = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD")
REGISTRARS = VERBS | {"Any", "Handle", "HandleFunc"}
BINDERS = frozenset(
    {"ShouldBindJSON", "BindJSON", "ShouldBindBodyWithJSON", "Decode", "Unmarshal", "ShouldBind", "Bind"}
)
MAKERS = re.compile(
    r"(?i)^(new|errorf?|wrapf?|sprintf?|json|string|panic|http.*error|\w*err(or)?f?|abort\w*|\w*fail\w*)$"
)
"""Functions that are handed the words of a refusal."""
ERROR_KEYS = frozenset({"error", "message", "msg", "detail", "reason"})
SCALARS = {"string": "str", "bool": "bool", "byte": "int", "rune": "int", "any": "Any", "error": "Any"}
OF_THE_SERVER = frozenset({"gin.Context", "http.Request", "http.ResponseWriter", "context.Context", "echo.Context"})
_VERB = re.compile(r"%%|%[-+# 0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?[a-zA-Z]")
_PARAMETER = re.compile(r"[:*](\w+)")
_TAG = re.compile(r'(\w+):"([^"]*)"')
FUNCTIONS = ("function_declaration", "method_declaration")
NESTED = frozenset({"func_literal"})
STRINGS = ("interpreted_string_literal", "raw_string_literal")


def extract(path: str, data: bytes) -> FileFacts:
    """The facts of a file, whatever can't be parsed in it left out."""
    root = root_of("go", data)
    if root is None:
        return FileFacts(path, problem="too large")
    reading = _File()
    for node in root.named_children:
        reading.declaration(node)
    for node in root.named_children:
        if node.type in FUNCTIONS:
            reading.function(node)
    return reading.facts(path)


@dataclass
class _File:
    imports: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    sentinels: dict[str, list[Template]] = field(default_factory=dict)
    """Errors that are declared once and returned elsewhere."""
    routes: list[Route] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    decoders: set[str] = field(default_factory=set)
    """Types that read their JSON by themselves."""

    def facts(self, path: str) -> FileFacts:
        return FileFacts(
            path=path,
            imports=tuple(self.imports.items()),
            constants=tuple(self.constants.items()),
            routes=tuple(self.routes),
            classes=tuple(self._reading_itself(known) for known in self.classes),
            functions=tuple(self.functions),
            rejections=tuple(self.rejections),
        )

    def _reading_itself(self, known: Class) -> Class:
        if known.name not in self.decoders:
            return known
        return msgspec.structs.replace(known, validators=(Validator("UnmarshalJSON", "plain"),))

    def declaration(self, node: Node) -> None:
        """What stands at the top of a file, functions aside."""
        for spec in within(node, "import_spec"):
            origin = _string(spec.child_by_field_name("path")) or ""
            alias = text_of(spec.child_by_field_name("name"))
            self.imports[alias or origin.rpartition("/")[2]] = origin
        if node.type in {"const_declaration", "var_declaration"}:
            for spec in within(node, "const_spec", "var_spec"):
                self._value(spec)
        if node.type == "type_declaration":
            for spec in within(node, "type_spec", "type_alias"):
                self._type(text_of(spec.child_by_field_name("name")), spec, spec.child_by_field_name("type"))
        if node.type == "method_declaration" and text_of(node.child_by_field_name("name")) == "UnmarshalJSON":
            self.decoders.add(_receiver(node)[1])

    def _value(self, spec: Node) -> None:
        """A constant, or an error that is declared once."""
        names = [text_of(n) for n in spec.children_by_field_name("name")]
        held = spec.child_by_field_name("value")
        for name, value in zip(names, held.named_children if held is not None else (), strict=False):
            if value.type in STRINGS:
                self.constants[name] = repr(_string(value))
            elif value.type == "call_expression" and _last(value.child_by_field_name("function")) in {"New", "Errorf"}:
                told = [template_of(value)] if _is_format(value) else [template_of(a) for a in _arguments(value)]
                self.sentinels[name] = [t for t in told if t is not None]
                self._reject(spec, "", "raises", self.sentinels[name], name)

    def _type(self, name: str, spec: Node, kind: Node | None) -> None:
        if kind is None:
            return
        if kind.type != "struct_type":
            self.constants[name] = annotation_of(kind)
            return
        bases: list[str] = ["Struct"]
        fields: list[Field] = []
        for declared in (each for held in kind.named_children for each in held.named_children):
            if declared.type == "field_declaration":
                self._field(name, declared, bases, fields)
        self.classes.append(
            Class(name=name, line=line_of(spec), end_line=end_line_of(spec), bases=tuple(bases), fields=tuple(fields))
        )

    def _field(self, owner: str, node: Node, bases: list[str], fields: list[Field]) -> None:
        names = [text_of(n) for n in node.children_by_field_name("name")]
        kind = node.child_by_field_name("type")
        tags = dict(_TAG.findall(_string(node.child_by_field_name("tag")) or ""))
        told = tags.get("json", "").partition(",")[0]
        if told == "-" or kind is None:
            return
        if not names and not told:
            bases.insert(0, text_of(kind).lstrip("*"))
            return
        annotation = annotation_of(kind)
        for inner in within(kind, "struct_type") if kind.type != "struct_type" else (kind,):
            name = f"{owner}.{names[0] if names else told}"
            self._type(name, node, inner)
            annotation = annotation.replace("struct", name, 1)
        needed = "required" in tags.get("binding", "") + tags.get("validate", "")
        for name in names or [told]:
            if not name[:1].isupper() and not told:
                continue
            aliases = (told,) if told else (name.lower(), name)
            default = None if needed else "None"
            fields.append(
                Field(name, line_of(node), end_line_of(node), f"Optional[{annotation}]", default, aliases=aliases)
            )

    def function(self, node: Node) -> None:
        receiver, owner = _receiver(node)
        name = text_of(node.child_by_field_name("name"))
        symbol = f"{owner}.{name}" if owner else name
        body = node.child_by_field_name("body")
        if body is None:
            return
        known = {receiver: "self"} if receiver else {}
        calls = dict.fromkeys(self._called(call, known) for call in within(body, "call_expression"))
        handed = {text_of(a): None for call in within(body, "call_expression") for a in _arguments(call) if _is_name(a)}
        calls |= dict.fromkeys(self._spoken(argument, known) for argument in handed)
        self.functions.append(
            Function(
                name=symbol,
                line=line_of(node),
                end_line=end_line_of(node),
                parameters=tuple(_bound(body)) or tuple(_parameters(node)),
                calls=tuple(call for call in calls if call),
                returns=annotation_of(node.child_by_field_name("result")),
            )
        )
        self._registrations(body, symbol)
        self._refusals(body, symbol)

    def _called(self, call: Node, known: dict[str, str]) -> str:
        return self._spoken(text_of(call.child_by_field_name("function")), known)

    def _spoken(self, name: str, known: dict[str, str]) -> str:
        """A call as facts tell it: `name`, `package.name`, `self.name`, `~local.name`, `.name` on an expression."""
        owner, dot, last = name.rpartition(".")
        if not last.isidentifier():
            return ""
        if not dot:
            return last
        if owner in known:
            return f"{known[owner]}.{last}"
        if owner in self.imports:
            return f"{owner}.{last}"
        return f"~{owner}.{last}" if owner.isidentifier() else f".{last}"

    def _registrations(self, body: Node, symbol: str) -> None:
        prefixes: dict[str, str] = {}
        for call in within(body, "call_expression"):
            target = call.child_by_field_name("function")
            arguments = _arguments(call)
            first = _string(arguments[0]) if arguments else None
            if target is None or target.type != "selector_expression" or first is None:
                continue
            owner, verb = text_of(target.child_by_field_name("operand")), _last(target)
            if verb == "Group":
                prefixes |= {name: prefixes.get(owner, "") + first for name in _assigned(call)}
            elif verb in REGISTRARS and len(arguments) > 1:
                self._route(call, verb, prefixes.get(owner, "") + first, arguments[1:], symbol)

    def _route(self, call: Node, verb: str, path: str, handlers: list[Node], symbol: str) -> None:
        method, space, rest = path.partition(" ")
        path = rest if space else path
        methods = (verb,) if verb in VERBS else (method,) if space and method in VERBS else ANY_METHOD
        names = [name for handler in handlers for name in _handlers(handler)]
        if not path.startswith("/"):
            return
        path = _PARAMETER.sub(lambda m: f"{{{m[1]}}}" if m[0][0] == ":" else f"{{{m[1]}:path}}", path)
        handler = names[-1].rpartition(".")[2] if names else ""
        before = tuple(dict.fromkeys(name.rpartition(".")[2] for name in names[:-1]))
        self.routes.append(
            Route(path, methods, handler, line_of(call), line_of(call), dependencies=before, symbol=symbol)
        )

    def _refusals(self, body: Node, symbol: str) -> None:
        for node in within(body, "call_expression"):
            name = _last(node.child_by_field_name("function"))
            if not MAKERS.match(name) or (around(node, "call_expression") and self._is_inner(node)):
                continue
            told = [template_of(node)] if _is_format(node) else [template_of(a) for a in _arguments(node)]
            told += [template_of(value) for value in _keyed(node)]
            templates = [t for t in told if t is not None and _is_message(t)]
            if templates:
                role = "raises" if around(node, "return_statement") or name == "panic" else "returns"
                self._reject(_statement(node), symbol, role, templates, name, _status(node), node)
        for node in within(body, "return_statement"):
            for used in within(node, "identifier"):
                if text_of(used) in self.sentinels:
                    self._reject(node, symbol, "raises", self.sentinels[text_of(used)], text_of(used))

    def _is_inner(self, node: Node) -> bool:
        """Whether the call around one is a refusal that tells its words already."""
        outer = around(node, "call_expression", *FUNCTIONS)
        return (
            outer is not None
            and outer.type == "call_expression"
            and bool(MAKERS.match(_last(outer.child_by_field_name("function"))))
        )

    def _reject(
        self,
        node: Node,
        symbol: str,
        role: str,
        templates: list[Template],
        raised: str,
        status: int | None = None,
        told: Node | None = None,
    ) -> None:
        first = told or node
        self.rejections.append(
            Rejection(line_of(first), end_line_of(first), symbol, role, tuple(templates), raised, status)  # type: ignore[arg-type]
        )


def annotation_of(kind: Node | None) -> str:
    """A type of Go in Python's terms."""
    match kind.type if kind is not None else "":
        case "pointer_type" if kind is not None:
            return f"Optional[{annotation_of(kind.named_children[0])}]"
        case "slice_type" | "array_type" if kind is not None:
            element = annotation_of(kind.child_by_field_name("element"))
            return "str" if text_of(kind) == "[]byte" else f"list[{element}]"
        case "map_type" if kind is not None:
            return f"dict[str, {annotation_of(kind.child_by_field_name('value'))}]"
        case "struct_type":
            return "struct"
        case "type_identifier":
            name = text_of(kind)
            if name in SCALARS:
                return SCALARS[name]
            return "int" if re.fullmatch(r"u?int\d*", name) else "float" if name.startswith("float") else name
        case "qualified_type" | "generic_type":
            return text_of(kind).partition("[")[0]
    return "Any"


def template_of(node: Node) -> Template | None:
    """The message that an expression makes; None where it holds no words."""
    parts, holes = _parts(node)
    return Template(tuple(parts), tuple(holes)) if any(part for part in parts) else None


def _parts(node: Node) -> tuple[list[str | None], list[str]]:
    if node.type in STRINGS:
        return [_string(node) or ""], []
    if node.type == "binary_expression":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sides = [_parts(side) for side in (left, right) if side is not None]
        return [p for parts, _ in sides for p in parts], [h for _, holes in sides for h in holes]
    if _is_format(node):
        arguments = _arguments(node)
        return _formatted(_string(arguments[0]) or "", arguments[1:])
    return [HOLE], [text_of(node) if _is_name(node) else ""]


def _is_format(node: Node) -> bool:
    """Whether a call fills a message in: `fmt.Errorf` and its like."""
    if node.type != "call_expression" or not _last(node.child_by_field_name("function")).endswith("f"):
        return False
    return bool(_arguments(node)) and _arguments(node)[0].type in STRINGS


def _formatted(message: str, values: list[Node]) -> tuple[list[str | None], list[str]]:
    parts: list[str | None] = []
    holes: list[str] = []
    place = 0
    for verb in _VERB.finditer(message):
        piece = message[place : verb.start()]
        place = verb.end()
        if verb[0] == "%%":
            parts.append(piece + "%")
            continue
        quoted = '"' if verb[0].endswith("q") else ""
        parts += [piece + quoted, HOLE] + ([quoted] if quoted else [])
        value = values[len(holes)] if len(holes) < len(values) else None
        holes.append(text_of(value) if value is not None and _is_name(value) else "")
    return [part for part in [*parts, message[place:]] if (part is not None and part != "") or part is HOLE], holes


def _is_message(template: Template) -> bool:
    words = "".join(part for part in template.parts if part)
    return len(words) >= 8 or " " in words.strip()


def _arguments(call: Node) -> list[Node]:
    held = call.child_by_field_name("arguments")
    return [a for a in held.named_children if a.type != "comment"] if held is not None else []


def _keyed(call: Node) -> Iterator[Node]:
    """The values of `error` and its like in what a call is handed."""
    for argument in _arguments(call):
        for element in within(argument, "keyed_element", but=frozenset({"call_expression", "func_literal"})):
            key, value = element.named_children[0], element.named_children[-1]
            if text_of(key).strip('"').lower() in ERROR_KEYS:
                yield value.named_children[0] if value.type == "literal_element" and value.named_children else value


def _status(call: Node) -> int | None:
    """The status among a call's arguments: `http.StatusBadRequest`, or a number."""
    for argument in _arguments(call):
        spoken = text_of(argument)
        if spoken.startswith("http.Status"):
            name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", spoken.removeprefix("http.Status")).upper()
            found = HTTPStatus.__members__.get(name)
            return found.value if found is not None else None
        if re.fullmatch(r"[45]\d\d", spoken):
            return int(spoken)
    return None


def _handlers(node: Node) -> Iterator[str]:
    """The functions that a registration names, also as arguments of others that wrap them."""
    if _is_name(node):
        yield text_of(node)
    elif node.type == "call_expression":
        target = node.child_by_field_name("function")
        inner = [name for argument in _arguments(node) for name in _handlers(argument)]
        yield from ([text_of(target)] if target is not None and _is_name(target) else []) + inner
    elif node.type == "variadic_argument":
        for child in node.named_children:
            yield from _handlers(child)


def _bound(body: Node) -> Iterator[Parameter]:
    """What the body of a request is read into: the first variable that a binder is handed a pointer to."""
    for call in within(body, "call_expression"):
        if _last(call.child_by_field_name("function")) not in BINDERS:
            continue
        for argument in _arguments(call):
            name = text_of(argument).lstrip("&")
            kind = _variable_type(body, name) if text_of(argument).startswith("&") else ""
            if kind:
                yield Parameter(name, kind, BODY, line_of(call))
                return


def _variable_type(body: Node, name: str) -> str:
    for node in within(body, "var_spec"):
        if name in [text_of(n) for n in node.children_by_field_name("name")]:
            return annotation_of(node.child_by_field_name("type"))
    for node in within(body, "short_var_declaration"):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if text_of(left) == name and right is not None:
            for made in within(right, "composite_literal"):
                return annotation_of(made.child_by_field_name("type"))
    return ""


def _parameters(node: Node) -> Iterator[Parameter]:
    held = node.child_by_field_name("parameters")
    for declared in held.named_children if held is not None else ():
        kind = declared.child_by_field_name("type")
        if text_of(kind).lstrip("*") not in OF_THE_SERVER:
            for name in declared.children_by_field_name("name"):
                yield Parameter(text_of(name), annotation_of(kind), line=line_of(declared))


def _receiver(node: Node) -> tuple[str, str]:
    """The name and the type of what a method is called on; empty for a function."""
    held = node.child_by_field_name("receiver")
    if held is None or not held.named_children:
        return "", ""
    declared = held.named_children[0]
    kind = text_of(declared.child_by_field_name("type")).lstrip("*").partition("[")[0]
    return text_of(declared.child_by_field_name("name")), kind


def _assigned(call: Node) -> list[str]:
    holder = around(call, "short_var_declaration", "assignment_statement", *FUNCTIONS)
    left = holder.child_by_field_name("left") if holder is not None else None
    return [text_of(name) for name in left.named_children] if left is not None else []


def _statement(node: Node) -> Node:
    return around(node, "return_statement", "expression_statement", "assignment_statement") or node


def _last(node: Node | None) -> str:
    return text_of(node).rpartition(".")[2]


def _is_name(node: Node) -> bool:
    return node.type in {"identifier", "selector_expression"}


def _string(node: Node | None) -> str | None:
    """The value of a string literal; None for another node."""
    if node is None or node.type not in STRINGS:
        return None
    inner = text_of(node)[1:-1]
    if node.type == "raw_string_literal":
        return inner
    return re.sub(r'\\(["\\nt])', lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), inner)
