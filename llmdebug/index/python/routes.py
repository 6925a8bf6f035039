"""Registrations of paths: decorators, calls, mounts and hand-written comparisons of the path."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from llmdebug.index.facts import Mount, Route
from llmdebug.index.python.syntax import dotted, keyword, last_name, string, text

VERBS = frozenset({"get", "post", "put", "delete", "patch", "head", "options"})
REGISTRARS = VERBS | {"route", "api_route", "websocket", "websocket_route", "any", "view"}
ADDERS = frozenset({"add_api_route", "add_route", "add_url_rule", "add_websocket_route", "add_api_websocket_route"})
ADDERS_WITH_VERB = re.compile(r"add_(get|post|put|delete|patch|head)$")
OWN_ADDERS = re.compile(r"_?(?:add|register)_\w*(?:endpoint|route|handler|view|url)s?$")
"""A server's own way to register: called with a path, a function and a list of methods."""
MOUNTERS = frozenset({"include_router", "mount", "Mount", "register_blueprint", "add_subapp", "include"})
ROUTE_CLASSES = frozenset({"Route", "APIRoute", "WebSocketRoute", "PathHandler"})
ROUTER_CLASSES = frozenset(
    {"APIRouter", "FastAPI", "Starlette", "Router", "Blueprint", "Flask", "RouteTableDef", "Quart"}
)
ENVIRONMENT = frozenset({"os.environ.get", "os.getenv", "environ.get", "getenv"})
MAX_PATHS = 24

Bindings = Mapping[str, Sequence[ast.expr]]
"""A name to the expressions it may stand for: module constants, and what a loop runs over."""


def paths_of(node: ast.expr | None, bindings: Bindings, depth: int = 0) -> list[str]:
    """The paths that an expression may give; an unknown part becomes `{…}`."""
    if node is None or depth > 6:
        return []
    match node:
        case ast.Constant(value=str(value)):
            return [value]
        case ast.Name(id=name):
            values = bindings.get(name, ())
            return [p for value in values for p in paths_of(value, bindings, depth + 1)][:MAX_PATHS] or [f"{{{name}}}"]
        case ast.Attribute():
            values = bindings.get(dotted(node), ())
            return [p for value in values for p in paths_of(value, bindings, depth + 1)] or [f"{{{dotted(node)}}}"]
        case ast.Call(args=[_, default]) if dotted(node.func) in ENVIRONMENT:
            return paths_of(default, bindings, depth + 1)
        case ast.BoolOp(op=ast.Or(), values=values):
            return [p for value in values for p in paths_of(value, bindings, depth + 1) if "{" not in p] or ["{path}"]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            befores, afters = paths_of(left, bindings, depth + 1), paths_of(right, bindings, depth + 1)
            return [_rooted(before + after) for before in befores for after in afters][:MAX_PATHS]
        case ast.JoinedStr(values=values):
            made = [""]
            for part in values:
                inner = part.value if isinstance(part, ast.FormattedValue) else part
                pieces = paths_of(inner, bindings, depth + 1) or ["{path}"]
                made = [before + after for before in made for after in pieces][:MAX_PATHS]
            return [_rooted(path) for path in made]
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [p for element in elements for p in paths_of(element, bindings, depth + 1)][:MAX_PATHS]
        case ast.Call(args=[first, *_]):
            return paths_of(first, bindings, depth + 1)
    return ["{path}"]


def _rooted(path: str) -> str:
    """A path without the prefix that nobody knows."""
    return re.sub(r"^\{[^{}/]*\}(?=/)", "", path)


def methods_of(call: ast.Call, default: tuple[str, ...]) -> tuple[str, ...]:
    """The methods that a registration takes, upper case; `*` for any."""
    given = keyword(call, "methods")
    if isinstance(given, ast.List | ast.Tuple | ast.Set):
        return tuple(sorted(m.upper() for m in (string(e) for e in given.elts) if m)) or default
    verb = string(keyword(call, "method"))
    return (verb.upper(),) if verb else default


def decorator_routes(decorator: ast.expr, bindings: Bindings) -> list[tuple[str, tuple[str, ...], str]]:
    """(path, methods, router) for each path that a decorator registers."""
    if not isinstance(decorator, ast.Call) or not isinstance(decorator.func, ast.Attribute):
        return []
    verb = decorator.func.attr
    if verb not in REGISTRARS:
        return []
    where = decorator.args[0] if decorator.args else keyword(decorator, "path", "rule")
    paths = [p for p in paths_of(where, bindings) if p.startswith(("/", "{")) or p == ""]
    if verb in VERBS:
        methods = methods_of(decorator, (verb.upper(),))
    else:
        methods = methods_of(decorator, ("WEBSOCKET",) if verb.startswith("websocket") else ("GET",))
    return [(path, methods, dotted(decorator.func.value)) for path in paths]


def call_routes(call: ast.Call, bindings: Bindings) -> list[tuple[str, tuple[str, ...], str, str]]:
    """(path, methods, router, handler) for each path that a call registers."""
    name = last_name(call)
    router = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    arguments = list(call.args)
    default: tuple[str, ...]
    if with_verb := ADDERS_WITH_VERB.match(name):
        default = (with_verb[1].upper(),)
    elif name == "add_route" and len(arguments) >= 3 and string(arguments[0]) in {"GET", "POST", "PUT", "DELETE", "*"}:
        default = (str(string(arguments.pop(0))),)
    elif name in ADDERS or name in ROUTE_CLASSES:
        default = ("GET",)
    elif name in VERBS and router in {"web", "aiohttp.web"}:
        default = (name.upper(),)
    elif OWN_ADDERS.match(name) and len(arguments) >= 3 and isinstance(arguments[1], ast.Name | ast.Attribute):
        default = tuple(sorted(verb.upper() for verb in map(string, getattr(arguments[2], "elts", ())) if verb))
        return [
            (p, default, router, handler_name(arguments[1]))
            for p in paths_of(arguments[0], bindings)
            if default and p[:1] == "/"
        ]
    else:
        return []
    where = arguments[0] if arguments else keyword(call, "path", "rule")
    target = keyword(call, "endpoint", "handler", "view_func", "route")
    if target is None and len(arguments) > 1:
        target = arguments[1]
    if isinstance(target, ast.Call) and last_name(target) in {"partial", "wraps"} and target.args:
        target = target.args[0]
    paths = [p for p in paths_of(where, bindings) if p.startswith(("/", "{"))]
    return [(path, methods_of(call, default), router, handler_name(target)) for path in paths]


def handler_name(target: ast.expr | None) -> str:
    """How a registration names its handler: with what it is an attribute of, unless that is the object itself."""
    whole = dotted(target).removeprefix("self.") if isinstance(target, ast.Attribute) else ""
    return whole or last_name(target)


def mounts_of(call: ast.Call, bindings: Bindings, imports: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """(parent, child, prefix) for each router that a call includes; the child by its origin where imported."""
    name = last_name(call)
    if name not in MOUNTERS or not (call.args or call.keywords):
        return []
    parent = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    arguments = list(call.args)
    prefix_node = keyword(call, "prefix", "url_prefix", "path")
    if name in {"Mount", "mount", "add_subapp"} and prefix_node is None and arguments:
        prefix_node = arguments.pop(0)
    child_node = arguments[0] if arguments else keyword(call, "router", "app", "blueprint")
    if child_node is None:
        return []
    prefixes = paths_of(prefix_node, bindings) if prefix_node is not None else [""]
    children = [child_node]
    if isinstance(child_node, ast.Name) and child_node.id in bindings:
        values = [value for value in bindings[child_node.id] if router_prefix(value, bindings) is None]
        elements = [e for value in values for e in (value.elts if isinstance(value, ast.List | ast.Tuple) else [value])]
        children = elements or children
    return [(parent, origin(child, imports), prefix) for child in children for prefix in prefixes]


def mounted_inside(call: ast.Call, bindings: Bindings) -> tuple[list[str], list[ast.Call]]:
    """The paths of a `Mount("/prefix", routes=[…])`, and the registrations right inside it."""
    inner = keyword(call, "routes")
    elements = inner.elts if isinstance(inner, ast.List | ast.Tuple) else []
    where = call.args[0] if call.args else keyword(call, "path")
    return paths_of(where, bindings), [element for element in elements if isinstance(element, ast.Call)]


def origin(node: ast.expr, imports: Mapping[str, str]) -> str:
    """The dotted origin of what a name stands for: `module.router` with the import looked through."""
    name = dotted(node)
    head, dot, rest = name.partition(".")
    return imports.get(head, head) + dot + rest


def router_prefix(value: ast.expr, bindings: Bindings) -> str | None:
    """The own prefix of a router that is made here; None where no router is made."""
    if not isinstance(value, ast.Call) or last_name(value) not in ROUTER_CLASSES:
        return None
    prefix = keyword(value, "prefix", "url_prefix")
    return (paths_of(prefix, bindings) or [""])[0] if prefix is not None else ""


def compared_paths(test: ast.expr) -> list[str]:
    """Paths that a hand-written dispatcher compares the request's path with."""
    found = []
    for node in ast.walk(test):
        match node:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.In()], comparators=[right]) if "path" in last_name(left):
                found += [p for p in paths_of(right, {}) if p.startswith("/")]
            case ast.Compare(left=left, ops=[ast.In()], comparators=[right]) if "path" in last_name(right):
                found += [p for p in paths_of(left, {}) if p.startswith("/")]
            case ast.Call(func=ast.Attribute(attr="startswith" | "endswith", value=value), args=[argument]) if (
                "path" in last_name(value)
            ):
                found += [p for p in paths_of(argument, {}) if p.startswith("/")]
    return found


def dependencies_of(call: ast.Call) -> tuple[str, ...]:
    """Names of the functions that `dependencies=[Depends(f)]` runs before the handler."""
    given = keyword(call, "dependencies")
    elements = given.elts if isinstance(given, ast.List | ast.Tuple) else []
    return tuple(last_name(e.args[0]) for e in elements if isinstance(e, ast.Call) and e.args)


def route(
    found: tuple[str, tuple[str, ...], str, str], node: ast.AST, end_line: int, condition: tuple[str, int], symbol: str
) -> Route:
    path, methods, router, handler = found
    return Route(
        path=path,
        methods=methods,
        handler=handler,
        line=getattr(node, "lineno", 0),
        end_line=end_line,
        router=router,
        condition=condition[0],
        condition_line=condition[1],
        dependencies=dependencies_of(node) if isinstance(node, ast.Call) else (),
        symbol=symbol,
    )


def mount(found: tuple[str, str, str], line: int, condition: tuple[str, int], symbol: str) -> Mount:
    parent, child, prefix = found
    return Mount(parent, child, prefix, line, condition[0], condition[1], symbol)


def negated(test: ast.expr) -> str:
    """Source text of the opposite of a test."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return text(test.operand)
    return f"not ({text(test)})"
