"""One file of Rust source: routes, structs as serde reads them, functions with what they call, and refusals.

A handler's parameters are what its extractors read the body and the query into: `Json<T>` is the body as a `T`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from llmdebug.index.facts import BODY, QUERY, FileFacts, Function, Handler, Parameter, Rejection, Template
from llmdebug.index.grammar import end_line_of, is_message, line_of, root_of, text_of, within
from llmdebug.index.rust.attributes import derives, is_test, meta_of, named, with_attributes
from llmdebug.index.rust.kinds import annotation_of, arguments_of, name_of
from llmdebug.index.rust.refusals import Refusals, Role, status_in
from llmdebug.index.rust.routes import NAMES, Routes, called, spoken
from llmdebug.index.rust.structs import RULES, Structs
from llmdebug.index.rust.words import STRINGS, Texts, filled, macro_name, of_format, string_of, template_of, tree_of

OF_THE_SERVER = frozenset(
    {
        "State",
        "Extension",
        "HeaderMap",
        "Data",
        "HttpRequest",
        "Request",
        "Next",
        "Path",
        "Method",
        "Uri",
        "ConnectInfo",
    }
)
"""Types of parameters that hold nothing of the body."""
RAW = frozenset({"Bytes", "String", "Request", "Value", "BytesMut", "Payload"})
READERS = frozenset({"from_slice", "from_str", "from_value", "from_reader"})
EXTRACTORS = frozenset({"Option", "Result", "Either", "WithRejection", "Valid", "Garde", "Validated", "Extract"})
UNREAD = frozenset({"token_tree", "match_pattern", "tuple_struct_pattern", "struct_pattern", "or_pattern", *STRINGS})
"""Nodes of functions whose insides are no expressions."""
_CALLED = re.compile(r"(?:(\w+)::)?(\.)?\b([a-z_]\w*)\s*\(")
MAX_DEPTH = 12


def extract(path: str, data: bytes) -> FileFacts:
    """The facts of a file, whatever can't be parsed in it left out."""
    root = root_of("rust", data)
    if root is None:
        return FileFacts(path, problem="too large")
    reading = _File()
    reading.declarations(root, 0)
    reading.code(root, "", 0)
    return reading.facts(path)


@dataclass
class _File:
    imports: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    structs: Structs = field(default_factory=Structs)
    functions: list[Function] = field(default_factory=list)
    refusals: Refusals = field(default_factory=Refusals)
    handlers: dict[str, Handler] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.routes = Routes(self.constants)

    def facts(self, path: str) -> FileFacts:
        return FileFacts(
            path=path,
            imports=tuple(self.imports.items()),
            constants=tuple({**self.constants, **self.structs.names()}.items()),
            routers=tuple(self.routes.routers.items()),
            routes=tuple(self.routes.routes),
            mounts=tuple(self.routes.mounts),
            handlers=tuple(self.handlers.values()),
            middlewares=tuple(dict.fromkeys(name for name in self.routes.middlewares if name)),
            classes=self.structs.known(),
            functions=tuple(self.functions),
            rejections=tuple(self.refusals.found),
        )

    def declarations(self, holder: Node, depth: int) -> None:
        """Types, constants and imports, those of modules in the file too."""
        for node, attributes in with_attributes(holder):
            match node.type:
                case "struct_item" | "enum_item" if "Deserialize" in derives(attributes) or node.type == "struct_item":
                    read = self.structs.struct if node.type == "struct_item" else self.structs.enum
                    read(node, attributes)
                case "type_item":
                    self.structs.constants[_name(node)] = annotation_of(node.child_by_field_name("type"))
                case "const_item" | "static_item":
                    self._constant(node)
                case "use_declaration":
                    self._use(node.child_by_field_name("argument"), [], 0)
                case "impl_item" if name_of(node.child_by_field_name("trait")) == "Deserialize":
                    self.structs.decoders.add(name_of(node.child_by_field_name("type")))
                case "mod_item" if not is_test(attributes) and depth < MAX_DEPTH:
                    body = node.child_by_field_name("body")
                    if body is not None:
                        self.declarations(body, depth + 1)
            if node.type == "enum_item":
                self._spoken_variants(node)
            elif node.type == "struct_item":
                self._spoken_struct(node, attributes)

    def _constant(self, node: Node) -> None:
        value = node.child_by_field_name("value")
        told = template_of(value, {})
        if told is not None and value is not None and value.type in STRINGS:
            self.constants[_name(node)] = repr(string_of(value))
            self.refusals.constants[_name(node)] = [(0, told)]
        elif value is not None and (path := _path_in(value)):
            self.constants[_name(node)] = repr(path)
        elif value is not None and re.fullmatch(r"-?[\d_.]+", text_of(value)):
            self.constants[_name(node)] = text_of(value).replace("_", "")

    def _use(self, node: Node | None, before: list[str], depth: int) -> None:
        """The names that an import brings, with where they come from."""
        if node is None or depth > MAX_DEPTH:
            return
        match node.type:
            case "scoped_use_list":
                path = [*before, *text_of(node.child_by_field_name("path")).split("::")]
                self._use(node.child_by_field_name("list"), path, depth + 1)
            case "use_list":
                for child in node.named_children:
                    self._use(child, before, depth + 1)
            case "use_as_clause":
                path = text_of(node.child_by_field_name("path")).split("::")
                self._import(text_of(node.child_by_field_name("alias")), [*before, *path])
            case "identifier" | "scoped_identifier" | "self":
                path = [*before, *text_of(node).split("::")]
                path = path[:-1] if path[-1] == "self" else path
                self._import(path[-1] if path else "", path)

    def _import(self, name: str, path: list[str]) -> None:
        plain = [step for step in path if step not in {"crate", "self", "super", ""}]
        if name and len(plain) > 1:
            self.imports[name] = ".".join(plain)

    def _spoken_variants(self, node: Node) -> None:
        """The texts of an enum of errors: `#[error("…")]` on its variants."""
        body = node.child_by_field_name("body")
        for variant, attributes in with_attributes(body) if body is not None else ():
            for tree in named(attributes, "error"):
                told = filled(tree)
                role: Role = "returns" if "#[from]" in text_of(variant) else "internal"
                holds = re.search(r"Error\b|#\[(?:from|source)\]", text_of(variant.child_by_field_name("body")))
                if told is not None and holds and len(told.holes) == 1:
                    told = Template(told.parts, ("error",))
                self._declares(told, f"{_name(node)}.{_name(variant)}", tree, variant, role)

    def _spoken_struct(self, node: Node, attributes: list[Node]) -> None:
        """The text of a struct that is an error, and those that bounds of its fields are refused with."""
        for tree in named(attributes, "error"):
            self._declares(filled(tree), _name(node), tree, node)
        body = node.child_by_field_name("body")
        rules = meta_of(attributes, "validate")
        checks = [value for name, values in rules.items() if name.endswith("function") for value in values]
        for declared, held in with_attributes(body) if body is not None else ():
            told = meta_of(held, "validate")
            checks += [value for name, values in told.items() if name.endswith("function") for value in values]
            for message in (value for name, values in told.items() if name.endswith("message") for value in values):
                symbol = f"{_name(node)}.{_name(declared)}"
                made = Rejection(line_of(held[0]), end_line_of(declared), symbol, "checks", (Template((message,)),))
                self.refusals.found.append(made)
        if checks:
            calls = tuple(dict.fromkeys(".".join(check.split("::")[-2:]) for check in checks))
            self.functions.append(Function(f"{_name(node)}.{RULES}", line_of(node), end_line_of(node), calls=calls))
            self.structs.ruled.add(_name(node))

    def _declares(self, told: Template | None, name: str, start: Node, end: Node, role: Role = "internal") -> None:
        if told is not None and is_message(told):
            made = Rejection(line_of(start), end_line_of(end), name, role, (told,), name)
            self.refusals.found.append(made)

    def code(self, holder: Node, owner: str, depth: int) -> None:
        """Functions and methods, those of modules in the file too."""
        for node, attributes in with_attributes(holder):
            if is_test(attributes) or depth > MAX_DEPTH:
                continue
            body = node.child_by_field_name("body")
            if node.type == "function_item":
                symbol = f"{owner}.{_name(node)}" if owner else _name(node)
                self.routes.of_attributes(symbol, node, attributes)
                self._function(node, symbol, owner, depth)
            elif node.type in {"impl_item", "trait_item"} and body is not None:
                kind = node.child_by_field_name("type") if node.type == "impl_item" else None
                of = name_of(kind) if kind is not None else _name(node)
                self.code(body, of if of.isidentifier() else "", depth + 1)
            elif node.type == "mod_item" and body is not None:
                self.code(body, owner, depth + 1)

    def _function(self, node: Node, symbol: str, owner: str, depth: int) -> None:
        body = node.child_by_field_name("body")
        if body is None:
            return
        inner = list(_inner(body)) if depth < MAX_DEPTH else []
        nodes = list(_walk(body, {each.id for each, _ in inner}))
        calls = [each for each in nodes if each.type == "call_expression"]
        macros = [each for each in nodes if each.type == "macro_invocation"]
        returns = annotation_of(node.child_by_field_name("return_type"))
        parameters = tuple(_parameters(node, nodes))
        self.functions.append(
            Function(
                name=symbol,
                line=line_of(node),
                end_line=end_line_of(node),
                parameters=parameters,
                calls=tuple(dict.fromkeys(_calls(nodes, owner))),
                returns=returns,
                is_async="async" in text_of(node).partition("fn ")[0],
            )
        )
        spoken_kinds = text_of(node.child_by_field_name("return_type")) + text_of(
            node.child_by_field_name("parameters")
        )
        self.routes.enter(nodes)
        self.routes.of_function(symbol, calls, bool(re.search(r"Router|Scope|ServiceConfig|App\b", spoken_kinds)))
        self.routes.of_macros(symbol, macros)
        self.refusals.of_function(symbol, owner, nodes, _texts(nodes), self.imports)
        for arm in (each for each in nodes if each.type == "match_arm"):
            self._arm(arm, symbol, owner)
        for each, name in inner:
            self._function(each, f"{symbol}.{name}", owner, depth + 1)

    def _arm(self, arm: Node, symbol: str, owner: str) -> None:
        """What a `match` says of an error's variants: the status that answers them, the text that they are shown as."""
        pattern, value = arm.child_by_field_name("pattern"), arm.child_by_field_name("value")
        if pattern is None or value is None:
            return
        spellings = (spoken(each) for each in within(pattern, "scoped_identifier", "scoped_type_identifier"))
        variants = [re.sub(r"^Self\.", f"{owner}.", name) for name in spellings if re.match(r"[A-Z]\w*\.[A-Z]", name)]
        status = status_in(text_of(value)) if variants else None
        if status is not None:
            for name in variants:
                self.handlers.setdefault(name, Handler((name,), symbol, (status,), line_of(arm)))
        if symbol.rpartition(".")[2] == "fmt" and variants:
            texts = [_shown(each) for each in within(value, "macro_invocation", "call_expression")]
            for told in [text for text in texts if text is not None][:1]:
                for name in variants:
                    self._declares(told, name, arm, arm)


def _path_in(value: Node) -> str:
    """The path that a constant holds beside other things: `Info::new("/v1/chat", "POST")`."""
    if value.type not in {"call_expression", "struct_expression"}:
        return ""
    texts = (string_of(each) or "" for each in within(value, *STRINGS))
    return next((text for text in texts if text.startswith("/")), "")


def _shown(node: Node) -> Template | None:
    """What `write!(f, "…")` or `f.write_str("…")` writes."""
    if node.type == "macro_invocation":
        tree = tree_of(node) if macro_name(node) in {"write", "writeln"} else None
        return filled(tree) if tree is not None else None
    held = node.child_by_field_name("arguments")
    if called(node) != "write_str" or held is None or not held.named_children:
        return None
    spelled = string_of(held.named_children[0])
    return of_format(spelled) if spelled else None


def _inner(body: Node) -> Iterator[tuple[Node, str]]:
    """The functions inside a function, and the closures that have a name, each with it."""
    pending = list(body.named_children)
    while pending:
        node = pending.pop()
        if node.type == "function_item":
            yield node, _name(node)
            continue
        value = node.child_by_field_name("value") if node.type == "let_declaration" else None
        if value is not None and value.type == "closure_expression" and value.end_point[0] > value.start_point[0]:
            yield value, text_of(node.child_by_field_name("pattern"))
            continue
        pending += node.named_children


def _walk(body: Node, skipped: set[int]) -> Iterator[Node]:
    """The nodes of a function in the order of the source, those of functions inside it left out."""
    pending = [body]
    while pending:
        node = pending.pop()
        if node.id in skipped:
            continue
        yield node
        if node.type not in UNREAD:
            pending += reversed(node.named_children)


def _name(node: Node) -> str:
    return text_of(node.child_by_field_name("name"))


def _texts(nodes: list[Node]) -> Texts:
    """The texts that variables of a function hold."""
    found: Texts = {}
    for node in nodes:
        if node.type == "let_declaration":
            told = template_of(node.child_by_field_name("value"), found)
            if told is not None:
                found.setdefault(text_of(node.child_by_field_name("pattern")), []).append((node.end_byte, told))
    return found


def _calls(nodes: list[Node], owner: str) -> Iterator[str]:
    """What a function calls or hands on, as facts tell it."""
    for node in nodes:
        if node.type == "call_expression":
            yield _call(node.child_by_field_name("function"), owner)
            held = node.child_by_field_name("arguments")
            for argument in held.named_children if held is not None else ():
                if argument.type in NAMES:
                    yield _call(argument, owner)
        elif node.type == "macro_invocation":
            tree = tree_of(node)
            for path, dot, name in _CALLED.findall(text_of(tree)) if tree is not None else ():
                yield f".{name}" if dot else f"{path}.{name}" if path else name


def _call(target: Node | None, owner: str) -> str:
    if target is not None and target.type == "generic_function":
        target = target.child_by_field_name("function")
    if target is None:
        return ""
    if target.type == "field_expression":
        held, name = text_of(target.child_by_field_name("value")), text_of(target.child_by_field_name("field"))
        if not name.isidentifier():
            return ""
        return f"self.{name}" if held == "self" else f"~{held}.{name}" if held.isidentifier() else f".{name}"
    name = spoken(target)
    return f"self.{name[5:]}" if owner and name.startswith("Self.") else name


def _parameters(node: Node, nodes: list[Node]) -> Iterator[Parameter]:
    """What a function takes; of a handler that reads the body by hand, what it reads it into."""
    held = node.child_by_field_name("parameters")
    raw = False
    for declared in held.named_children if held is not None else ():
        kind = declared.child_by_field_name("type")
        if declared.type != "parameter" or kind is None:
            continue
        pattern = text_of(declared.child_by_field_name("pattern"))
        name = (re.findall(r"\b[a-z_]\w*", pattern) or [pattern])[-1]
        raw = raw or bool(RAW & set(re.findall(r"\w+", text_of(kind))))
        for default, inner in _extracted(kind, 0):
            yield Parameter(name, annotation_of(inner), default, line_of(declared))
            break
        else:
            if name_of(kind) not in OF_THE_SERVER:
                yield Parameter(name, annotation_of(kind), line=line_of(declared))
    if raw:
        for made in (each for each in nodes if each.type == "call_expression" and called(each) in READERS):
            kind = _made_by(made)
            if kind is not None:
                yield Parameter("body", annotation_of(kind), BODY, line_of(made))
                return


def _extracted(kind: Node, depth: int) -> Iterator[tuple[str, Node]]:
    """What an extractor reads, and into what."""
    name, inner = name_of(kind), arguments_of(kind) if kind.type == "generic_type" else []
    if depth > MAX_DEPTH or not inner:
        return
    if (name.endswith("Json") or name == "Form") and text_of(inner[0]) not in {"Value", "serde_json::Value"}:
        yield BODY, inner[0]
    elif name.endswith("Query"):
        yield QUERY, inner[0]
    elif name in EXTRACTORS:
        for each in inner:
            yield from _extracted(each, depth + 1)


def _made_by(call: Node) -> Node | None:
    """The type that a reader is told to make: `from_slice::<T>(…)`, `let x: T = from_slice(…)?`."""
    target = call.child_by_field_name("function")
    told = target.child_by_field_name("type_arguments") if target is not None else None
    if told is not None and told.named_children:
        return told.named_children[0]
    holder = call.parent
    while holder is not None and holder.type not in {"let_declaration", "block"}:
        holder = holder.parent
    kind = holder.child_by_field_name("type") if holder is not None and holder.type == "let_declaration" else None
    return kind if kind is not None and name_of(kind) not in {"Value", "Result"} else None
