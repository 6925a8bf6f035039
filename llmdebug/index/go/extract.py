"""One file of Go source: routes, structs with their JSON names, functions with what they call, and refusals.

Types are told in Python's terms, as request models of Python are: `[]string` is `list[str]`, a pointer may be null.
A handler's parameters are what it binds the body to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import msgspec
from tree_sitter import Node

from llmdebug.index.facts import (
    Class,
    Field,
    FileFacts,
    Function,
    Rejection,
    Route,
    Template,
    Validator,
)
from llmdebug.index.go.handlers import bound_to, drops_unknown, handlers_of, parameters_of
from llmdebug.index.go.messages import error_values, is_format, status_of, template_of
from llmdebug.index.go.syntax import (
    FUNCTIONS,
    STRINGS,
    annotation_of,
    arguments_of,
    assigned_to,
    is_name,
    last_name,
    receiver_of,
    statement_of,
    string_of,
)
from llmdebug.index.grammar import around, end_line_of, is_message, line_of, root_of, text_of, within

VERBS = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"})
ANY_METHOD = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD")
REGISTRARS = VERBS | {"Any", "Handle", "HandleFunc"}
MAKERS = re.compile(
    r"(?i)^(new|errorf?|wrapf?|sprintf?|json|string|panic|http.*error|\w*err(or)?f?|abort\w*|\w*fail\w*)$"
)
"""Functions that are handed the words of a refusal."""
_PARAMETER = re.compile(r"[:*](\w+)")
_TAG = re.compile(r'(\w+):"([^"]*)"')


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
    decoders: dict[str, int] = field(default_factory=dict)
    """Types that read their JSON by themselves, or a map of it, to the line that drops an unknown key (0: none)."""

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
        """A class with what its own methods make of JSON: nothing is sure of its values."""
        fields = tuple(
            msgspec.structs.replace(f, annotation=f"Optional[{f.name}]")
            if f.name in self.decoders and f.annotation.startswith("Optional[dict[")
            else f
            for f in known.fields
        )
        if known.name not in self.decoders:
            return msgspec.structs.replace(known, fields=fields)
        line = self.decoders[known.name]
        return msgspec.structs.replace(
            known,
            fields=fields,
            validators=(Validator("UnmarshalJSON", "plain"),),
            extra="ignore" if line else None,
            extra_line=line,
        )

    def declaration(self, node: Node) -> None:
        """What stands at the top of a file, functions aside."""
        for spec in within(node, "import_spec"):
            origin = string_of(spec.child_by_field_name("path")) or ""
            alias = text_of(spec.child_by_field_name("name"))
            self.imports[alias or origin.rpartition("/")[2]] = origin
        if node.type in {"const_declaration", "var_declaration"}:
            for spec in within(node, "const_spec", "var_spec"):
                self._value(spec)
        if node.type == "type_declaration":
            for spec in within(node, "type_spec", "type_alias"):
                self._type(text_of(spec.child_by_field_name("name")), spec, spec.child_by_field_name("type"))
        if node.type == "method_declaration" and (text_of(node.child_by_field_name("name")) == "UnmarshalJSON"):
            self.decoders.setdefault(receiver_of(node)[1], 0)
        elif node.type == "method_declaration" and (line := drops_unknown(node)):
            self.decoders[receiver_of(node)[1]] = line

    def _value(self, spec: Node) -> None:
        """A constant, or an error that is declared once."""
        names = [text_of(n) for n in spec.children_by_field_name("name")]
        held = spec.child_by_field_name("value")
        for name, value in zip(names, held.named_children if held is not None else (), strict=False):
            if value.type in STRINGS:
                self.constants[name] = repr(string_of(value))
            elif value.type == "call_expression" and last_name(value.child_by_field_name("function")) in {
                "New",
                "Errorf",
            }:
                told = [template_of(value)] if is_format(value) else [template_of(a) for a in arguments_of(value)]
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
        tags = dict(_TAG.findall(string_of(node.child_by_field_name("tag")) or ""))
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
        receiver, owner = receiver_of(node)
        name = text_of(node.child_by_field_name("name"))
        symbol = f"{owner}.{name}" if owner else name
        body = node.child_by_field_name("body")
        if body is None:
            return
        known = {receiver: "self"} if receiver else {}
        calls = dict.fromkeys(self._called(call, known) for call in within(body, "call_expression"))
        handed = {
            text_of(a): None for call in within(body, "call_expression") for a in arguments_of(call) if is_name(a)
        }
        calls |= dict.fromkeys(self._spoken(argument, known) for argument in handed)
        self.functions.append(
            Function(
                name=symbol,
                line=line_of(node),
                end_line=end_line_of(node),
                parameters=tuple(bound_to(body)) or tuple(parameters_of(node)),
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
            arguments = arguments_of(call)
            first = string_of(arguments[0]) if arguments else None
            if target is None or target.type != "selector_expression" or first is None:
                continue
            owner, verb = text_of(target.child_by_field_name("operand")), last_name(target)
            if verb == "Group":
                prefixes |= {name: prefixes.get(owner, "") + first for name in assigned_to(call)}
            elif verb in REGISTRARS and len(arguments) > 1:
                self._route(call, verb, prefixes.get(owner, "") + first, arguments[1:], symbol)

    def _route(self, call: Node, verb: str, path: str, handlers: list[Node], symbol: str) -> None:
        method, space, rest = path.partition(" ")
        path = rest if space else path
        methods = (verb,) if verb in VERBS else (method,) if space and method in VERBS else ANY_METHOD
        names = [name for handler in handlers for name in handlers_of(handler)]
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
            name = last_name(node.child_by_field_name("function"))
            if not MAKERS.match(name) or (around(node, "call_expression") and self._is_inner(node)):
                continue
            told = [template_of(node)] if is_format(node) else [template_of(a) for a in arguments_of(node)]
            told += [template_of(value) for value in error_values(node)]
            templates = [t for t in told if t is not None and is_message(t)]
            if templates:
                role = "raises" if around(node, "return_statement") or name == "panic" else "returns"
                self._reject(statement_of(node), symbol, role, templates, name, status_of(node), node)
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
            and bool(MAKERS.match(last_name(outer.child_by_field_name("function"))))
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
