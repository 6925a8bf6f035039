"""Registrations of paths in Rust: chains of `.route(…)`, scopes and nests around them, attributes on handlers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from tree_sitter import Node

from llmdebug.index.facts import NAMED_PATH, Mount, Route
from llmdebug.index.grammar import line_of, text_of, within
from llmdebug.index.rust.attributes import meta_of
from llmdebug.index.rust.words import macro_arguments, macro_name, string_of, tree_of

VERBS = frozenset({"get", "post", "put", "delete", "patch", "head", "options"})
ANY_METHOD = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD")
NESTS = frozenset({"nest", "nest_service", "merge", "service", "configure"})
NAMES = ("identifier", "scoped_identifier", "generic_function")
SPOKEN = frozenset({"identifier", "scoped_identifier", "scoped_type_identifier", "field_identifier"})
HOLDERS = frozenset({"let_declaration", "assignment_expression", "function_item", "closure_expression"})
ENDS = frozenset({"function_item", "let_declaration"})
"""Nodes around which nothing adds to a path."""
MAX_PREFIX = 2_000
"""Characters; longer prefixes are cut, they belong to no real path."""
_PARAMETER = re.compile(r"(?<=/):(\w+)|(?<=/)\*(\w+)|\{\*(\w+)\}|\{(\w+):[^{}]*\}|<(\w+)\.\.>")


def spoken(node: Node | None) -> str:
    """A name as facts tell it: `module.name`, `Type.name`; empty for what is no name."""
    if node is not None and node.type == "generic_function":
        node = node.child_by_field_name("function")
    if node is None or node.type not in SPOKEN:
        return ""
    steps = [step.partition("<")[0] for step in text_of(node).split("::") if step not in {"crate", "super", "self"}]
    return ".".join(step for step in steps[-2:] if step.isidentifier())


def arguments_of(call: Node) -> list[Node]:
    """What a call is handed."""
    held = call.child_by_field_name("arguments")
    return [a for a in held.named_children if not a.type.endswith("comment")] if held is not None else []


def called(call: Node) -> str:
    """The last part of the name of what is called."""
    target = call.child_by_field_name("function")
    if target is not None and target.type == "generic_function":
        target = target.child_by_field_name("function")
    if target is not None and target.type == "field_expression":
        return text_of(target.child_by_field_name("field"))
    return text_of(target).rpartition("::")[2] if target is not None and target.type in NAMES else ""


def receiver_of(call: Node) -> Node | None:
    """What a method is called on; None for a function."""
    target = call.child_by_field_name("function")
    if target is not None and target.type == "generic_function":
        target = target.child_by_field_name("function")
    return target.child_by_field_name("value") if target is not None and target.type == "field_expression" else None


def chain_of(call: Node) -> Iterator[Node]:
    """The calls that a method call is chained to, the nearest first, then what they begin with."""
    node = receiver_of(call)
    while node is not None:
        yield node
        if node.type in {"await_expression", "try_expression", "parenthesized_expression"} and node.named_children:
            node = node.named_children[0]
        else:
            node = receiver_of(node) if node.type == "call_expression" else None


@dataclass(frozen=True, slots=True)
class _Place:
    """What stands around a node."""

    prefix: str = ""
    holder: Node | None = None
    """The nearest node of HOLDERS."""


@dataclass(frozen=True, slots=True)
class _Chain:
    """What a call of a chain is called on."""

    base: Node | None = None
    """What the chain begins with."""
    scope: str = ""
    """The paths of the scopes in it."""
    resource: str | None = None
    """The path of the nearest resource in it."""


@dataclass
class Routes:
    """The registrations of one file.

    Chains may be thousands of calls long: what is around a node and what it is chained to is kept, each is read once.
    """

    constants: dict[str, str]
    routes: list[Route] = field(default_factory=list)
    mounts: list[Mount] = field(default_factory=list)
    routers: dict[str, str] = field(default_factory=dict)
    middlewares: list[str] = field(default_factory=list)
    _parents: dict[int, Node] = field(default_factory=dict)
    _places: dict[int, _Place] = field(default_factory=dict)
    _chains: dict[int, _Chain] = field(default_factory=dict)

    def enter(self, nodes: list[Node]) -> None:
        """The nodes of the function that is read next; a node's own way to its parent begins at the root."""
        self._parents = {child.id: node for node in nodes for child in node.named_children}
        self._places, self._chains = {}, {}

    def of_function(self, symbol: str, calls: list[Node], gives_router: bool) -> None:
        """The registrations among the calls of a function; `gives_router` where others put its routes somewhere."""
        if gives_router and any(called(call) in {"route", "nest", "merge", "service"} for call in calls):
            self.routers[symbol] = ""
        placed = {
            f"{symbol}.{text_of(argument)}"
            for call in calls
            if called(call) in NESTS
            for argument in arguments_of(call)
            if argument.type == "identifier"
        }
        for call in calls:
            name, arguments = called(call), arguments_of(call)
            if name == "route" and receiver_of(call) is not None:
                self._route(call, arguments, symbol, placed)
            elif name in NESTS and arguments and receiver_of(call) is not None:
                self._mount(call, arguments[-1], symbol, placed)
            elif name.startswith("from_fn") and arguments:
                self.middlewares.append(spoken(arguments[-1]).rpartition(".")[2])

    def _text(self, node: Node) -> str | None:
        """A path, as a literal or by the name of a constant."""
        if node.type == "reference_expression" and node.named_children:
            node = node.named_children[-1]
        if node.type == "field_expression":
            node = node.child_by_field_name("value") or node
        name = text_of(node).rpartition("::")[2] if node.type in NAMES else ""
        if not name.isupper():
            return string_of(node)
        named = self.constants.get(name, "")
        return named[1:-1] if named.startswith("'") else f"{NAMED_PATH}{name}"

    def _route(self, call: Node, arguments: list[Node], symbol: str, placed: set[str]) -> None:
        path, last = self._text(arguments[0]) if len(arguments) == 2 else None, arguments[-1] if arguments else None
        if path is None and len(arguments) == 1:
            path = self._chain(call).resource
        if path is None or last is None:
            return
        prefix = self._prefix(call)
        for methods, handler in handlers_of(last):
            self._add(call, prefix + path, methods, handler, self._router(call, symbol, placed), symbol)

    def _add(self, at: Node, path: str, methods: tuple[str, ...], handler: str, router: str, symbol: str) -> None:
        path = _PARAMETER.sub(_plain, path)
        path = path if path.startswith(("/", NAMED_PATH)) or not path else f"/{path}"
        self.routes.append(Route(path, methods, handler, line_of_call(at), line_of_call(at), router, symbol=symbol))

    def _prefix(self, call: Node) -> str:
        """The paths of the scopes that a registration stands in, in the order of the path."""
        return (self._place(call).prefix + self._chain(call).scope)[:MAX_PREFIX]

    def _place(self, node: Node) -> _Place:
        """What stands around a node."""
        way = [node]
        while way[-1].id not in self._places and (parent := self._parents.get(way[-1].id)) is not None:
            way.append(parent)
        place = self._places.get(way[-1].id, _Place())
        for outer, inner in pairwise(reversed(way)):
            prefix = "" if outer.type in ENDS else place.prefix + self._handed(outer)
            holder = outer if outer.type in HOLDERS else place.holder
            place = self._places[inner.id] = _Place(prefix[:MAX_PREFIX], holder)
        return place

    def _handed(self, node: Node) -> str:
        """What a path is put under where these are the arguments that a registration stands in."""
        holder = self._parents.get(node.id) if node.type == "arguments" else None
        if holder is None or holder.type != "call_expression":
            return ""
        name, arguments = called(holder), arguments_of(holder)
        if name in {"nest", "nest_service"} and len(arguments) == 2:
            return (self._text(arguments[0]) or "").rstrip("/")
        return self._chain(holder).scope if name in NESTS else ""

    def _chain(self, call: Node) -> _Chain:
        """What a call is chained to."""
        way = [call]
        for node in chain_of(call):
            if way[-1].id in self._chains:
                break
            way.append(node)
        chain = self._chains.setdefault(way[-1].id, _Chain())
        for inner, outer in pairwise(reversed(way)):
            scope, resource, name = chain.scope, chain.resource, called(inner)
            for path in arguments_of(inner)[:1] if name in {"scope", "resource"} else ():
                scope += (self._text(path) or "").rstrip("/") if name == "scope" else ""
                resource = self._text(path) if name == "resource" else resource
            chain = self._chains[outer.id] = _Chain(chain.base or inner, scope[:MAX_PREFIX], resource)
        return chain

    def _router(self, call: Node, symbol: str, placed: set[str]) -> str:
        """The name under which others put the routes of this chain somewhere: a variable's, or the function's."""
        holder, base = self._place(call).holder, self._chain(call).base
        names = [text_of(base)] if base is not None and base.type == "identifier" else []
        if holder is not None and holder.type in {"let_declaration", "assignment_expression"}:
            pattern = holder.child_by_field_name("pattern") or holder.child_by_field_name("left")
            names.insert(0, text_of(pattern))
        for name in names:
            if f"{symbol}.{name}" in placed:
                self.routers[f"{symbol}.{name}"] = ""
                return f"{symbol}.{name}"
        return symbol if symbol in self.routers else ""

    def _mount(self, call: Node, child: Node, symbol: str, placed: set[str]) -> None:
        """A router that another function or variable makes, put under a prefix."""
        name = called(call)
        arguments = arguments_of(call)
        prefix = self._prefix(call)
        if name in {"nest", "nest_service"}:
            own = self._text(arguments[0]) if len(arguments) == 2 else None
            if own is None:
                return
            prefix += own
        while child.type == "call_expression" and receiver_of(child) is not None:
            child = receiver_of(child) or child
        target = child.child_by_field_name("function") if child.type == "call_expression" else child
        local = f"{symbol}.{text_of(child)}" if child.type == "identifier" else ""
        named = local if local in placed and name not in {"service", "configure"} else spoken(target)
        if named and not named.startswith("Router."):
            parent = self._router(call, symbol, placed)
            self.mounts.append(Mount(parent if parent != named else "", named, prefix, line_of(call), symbol=symbol))

    def of_attributes(self, symbol: str, node: Node, attributes: list[Node]) -> None:
        """The registrations that attributes of a handler make."""
        for attribute in attributes:
            if not attribute.named_children:
                continue
            name = text_of(attribute.named_children[0]).rpartition("::")[2]
            tree = attribute.child_by_field_name("arguments")
            if tree is None or name not in VERBS | {"route"}:
                continue
            path = next((string_of(token) for token in tree.named_children if token.type == "string_literal"), None)
            said = meta_of([attribute], name).get("method", []) if name == "route" else [name]
            methods = tuple(method.upper() for method in said) or ANY_METHOD
            if path is not None and (path.startswith("/") or not path):
                self.routers.setdefault(symbol, "")
                plain = _PARAMETER.sub(_plain, path)
                line = line_of(attribute)
                self.routes.append(Route(plain, methods, symbol, line, line_of(node), symbol))

    def of_macros(self, symbol: str, macros: list[Node]) -> None:
        """Handlers that `routes![…]` puts under the paths that they name themselves, mounted under a prefix."""
        for macro in macros:
            holder: Node | None = macro
            while holder is not None and (holder is macro or holder.type != "call_expression"):
                holder = self._parents.get(holder.id)
            tree = tree_of(macro) if macro_name(macro) == "routes" else None
            if holder is None or tree is None:
                continue
            prefix = (self._text(arguments_of(holder)[0]) or "").rstrip("/") if called(holder) == "mount" else ""
            for argument in macro_arguments(tree):
                name = text_of(argument[-1])
                self.mounts.append(Mount("", name, self._prefix(holder) + prefix, line_of(macro), symbol=symbol))


def line_of_call(call: Node) -> int:
    """The line on which a method of a chain is named; that of the call elsewhere."""
    target = call.child_by_field_name("function")
    named = target.child_by_field_name("field") if target is not None and target.type == "field_expression" else None
    return line_of(named if named is not None else call)


def handlers_of(node: Node) -> Iterator[tuple[tuple[str, ...], str]]:
    """Methods and the handler for them: `post(a).get(b)`, `web::post().to(a)`, `on(MethodFilter::POST, a)`."""
    methods: tuple[str, ...] = ()
    chained = [node, *chain_of(node)] if node.type == "call_expression" else []
    for call in reversed([each for each in chained if each.type == "call_expression"]):
        verb, arguments = called(call).removesuffix("_service"), arguments_of(call)
        own = (verb.upper(),) if verb in VERBS else ANY_METHOD if verb in {"any", "fallback", "route"} else ()
        if verb == "on" and arguments:
            own = tuple(m for m in re.findall(r"[A-Z]{3,}", text_of(arguments[0])))
            arguments = arguments[1:]
        if own and arguments:
            yield own, _handler(arguments[0])
        elif own:
            methods = own
        elif verb == "to" and arguments:
            yield methods or ANY_METHOD, _handler(arguments[0])
            methods = ()
    if not chained and node.type in NAMES:
        yield ANY_METHOD, spoken(node)


def _handler(node: Node) -> str:
    """The function that handles; of a closure the one that it calls, if it calls but one."""
    if node.type != "closure_expression":
        return spoken(node)
    names = {spoken(call.child_by_field_name("function")) for call in within(node, "call_expression")}
    plain = [name for name in names if name and name[:1].islower()]
    return plain[0] if len(plain) == 1 else ""


def _plain(match: re.Match[str]) -> str:
    if match[1]:
        return f"{{{match[1]}}}"
    return (
        f"{{{match[2] or match[3] or match[4] or match[5]}:path}}"
        if not match[4] or ".*" in match[0]
        else (f"{{{match[4]}}}")
    )
