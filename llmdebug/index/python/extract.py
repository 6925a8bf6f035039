"""One file of Python source: its facts, in one walk over the syntax tree."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from llmdebug.index.facts import Class, FileFacts, Function, Handler, Mount, Parameter, Rejection, Route
from llmdebug.index.python import routes
from llmdebug.index.python.classes import class_of
from llmdebug.index.python.rejections import note_name, rejection_of
from llmdebug.index.python.syntax import (
    FunctionNode,
    dotted,
    first_line,
    keyword,
    last_name,
    parse,
    status_of,
    string,
    text,
)

MAX_CONSTANT = 4_000
NO_CONDITION = ("", 0)
SIMPLE = (ast.Raise, ast.Assert, ast.Return, ast.Expr, ast.Assign, ast.AnnAssign)


def extract(path: str, data: bytes, module: ast.Module | None = None) -> FileFacts:
    """The facts of a file; where it can't be parsed, its problem alone."""
    parsed = module or parse(data)
    if isinstance(parsed, str):
        return FileFacts(path, problem=parsed)
    walk = _Walk(path)
    try:
        walk.constants = _bindings(parsed)
        walk.own_paths = _own_paths(parsed)
        walk.block(parsed.body, _Scope("", {}, NO_CONDITION))
    except RecursionError:
        return FileFacts(path, problem="nested too deeply")
    return walk.facts()


def _bindings(module: ast.Module) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for statement in module.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                found.setdefault(name, []).append(value)
    return found


def _own_paths(module: ast.Module) -> dict[str, list[ast.expr]]:
    """Attributes that objects set to a path: `self.path = "/v1/x"`."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(module):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self")) as target],
                value=ast.Constant(value=str(path)) as value,
            ) if path.startswith("/"):
                found.setdefault(dotted(target), []).append(value)
    return found


@dataclass
class _Scope:
    """Where the walk stands."""

    symbol: str
    names: dict[str, list[ast.expr]]
    condition: tuple[str, int]
    calls: set[str] = field(default_factory=set)
    class_depth: int = 0


class _Walk:
    def __init__(self, path: str) -> None:
        self.path = path
        self.imports: dict[str, str] = {}
        self.constants: dict[str, list[ast.expr]] = {}
        self.own_paths: dict[str, list[ast.expr]] = {}
        self.loops: dict[str, list[ast.expr]] = {}
        self.routers: dict[str, str] = {}
        self.mounted: dict[ast.Call, list[str]] = {}
        """Registrations inside of mounts, with the prefixes of these."""
        self.routes: list[Route] = []
        self.mounts: list[Mount] = []
        self.handlers: list[Handler] = []
        self.middlewares: list[str] = []
        self.classes: list[Class] = []
        self.functions: list[Function] = []
        self.rejections: list[Rejection] = []

    def facts(self) -> FileFacts:
        constants = tuple((n, text(v[-1])) for n, v in self.constants.items() if _is_short(v[-1]))
        return FileFacts(
            path=self.path,
            imports=tuple(self.imports.items()),
            constants=constants,
            routers=tuple(self.routers.items()),
            routes=tuple(self.routes),
            mounts=tuple(self.mounts),
            handlers=tuple(self.handlers),
            middlewares=tuple(self.middlewares),
            classes=tuple(self.classes),
            functions=tuple(self.functions),
            rejections=tuple(self.rejections),
        )

    def block(self, body: list[ast.stmt], scope: _Scope) -> None:
        for statement in body:
            self.statement(statement, scope)
            if isinstance(statement, ast.If) and not statement.orelse and _leaves(statement.body):
                condition = (routes.negated(statement.test), statement.lineno)
                scope = _Scope(scope.symbol, scope.names, condition, scope.calls, scope.class_depth)

    def statement(self, statement: ast.stmt, scope: _Scope) -> None:
        if isinstance(statement, SIMPLE):
            self._simple(statement, scope)
            return
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(statement, scope)
            case ast.ClassDef():
                self._class(statement, scope)
            case ast.Import(names=names):
                for alias in names:
                    self.imports[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
            case ast.ImportFrom(module=module, names=names, level=level):
                for alias in names:
                    origin = "." * level + (module or "") + ("." if module else "") + alias.name
                    name = f"*{origin}" if alias.name == "*" else alias.asname or alias.name
                    self.imports[name] = origin
            case ast.If(test=test, body=body, orelse=orelse):
                self._if(statement, test, body, orelse, scope)
            case (
                ast.For(target=target, iter=over, body=body, orelse=orelse)
                | ast.AsyncFor(target=target, iter=over, body=body, orelse=orelse)
            ):
                self._expression(over, scope)
                self._loop_names(target, over)
                self.block(body, scope)
                self.block(orelse, scope)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    self._expression(item.context_expr, scope)
                self.block(body, scope)
            case ast.Try() | ast.TryStar():
                self.block(statement.body, scope)
                for handler in statement.handlers:
                    self.block(handler.body, scope)
                self.block(statement.orelse, scope)
                self.block(statement.finalbody, scope)
            case ast.While(test=test, body=body, orelse=orelse):
                self._expression(test, scope)
                self.block(body, scope)
                self.block(orelse, scope)
            case ast.Match(subject=subject, cases=cases):
                self._expression(subject, scope)
                for case in cases:
                    self.block(case.body, scope)
            case ast.AugAssign(value=value):
                self._expression(value, scope)
                note_name(statement, scope.names)

    def _if(self, node: ast.If, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], scope: _Scope) -> None:
        self._expression(test, scope)
        for path in routes.compared_paths(test) if scope.symbol else ():
            name = scope.symbol.rpartition(".")[2]
            methods = (name[3:],) if name.startswith("do_") else ("*",)
            found = (path, methods, "", name)
            self.routes.append(routes.route(found, node, node.lineno, NO_CONDITION, scope.symbol))
        opposite = (routes.negated(test), node.lineno) if orelse else NO_CONDITION
        ends = []
        for branch, condition in ((body, (text(test), node.lineno)), (orelse, opposite)):
            names = dict(scope.names)
            self.block(branch, _Scope(scope.symbol, names, condition, scope.calls, scope.class_depth))
            if not branch or not _leaves(branch):
                ends.append(names)
        _join_names(scope.names, ends)

    def _loop_names(self, target: ast.expr, over: ast.expr) -> None:
        """What the names of a loop over a literal list stand for."""
        if isinstance(over, ast.Name):
            over = self.constants.get(over.id, [over])[-1]
        if not isinstance(over, ast.List | ast.Tuple | ast.Set):
            return
        if isinstance(target, ast.Name):
            self.loops[target.id] = list(over.elts)
        elif isinstance(target, ast.Tuple):
            for place, name in enumerate(target.elts):
                rows = [row.elts for row in over.elts if isinstance(row, ast.Tuple | ast.List)]
                if isinstance(name, ast.Name):
                    self.loops[name.id] = [row[place] for row in rows if place < len(row)]

    def _simple(self, statement: ast.stmt, scope: _Scope) -> None:
        has_text = self._expression(statement, scope)
        if has_text:
            note_name(statement, scope.names)
        if has_text or isinstance(statement, ast.Raise | ast.Assert | ast.Return):
            found = rejection_of(statement, scope.symbol, scope.names)
            if found:
                self.rejections.append(found)
        match statement:
            case ast.Assign(targets=[target], value=value):
                prefix = routes.router_prefix(value, self._bindings_now())
                if prefix is not None:
                    self.routers[dotted(target)] = prefix
                    self._handler_table(value)
                elif isinstance(value, ast.Dict):
                    self._dispatch_table(value, scope)

    def _dispatch_table(self, table: ast.Dict, scope: _Scope) -> None:
        """`{"/path": function, …}`, from which a hand-written server picks what answers."""
        rows = list(zip(map(string, table.keys), table.values, strict=True))
        if not rows or not all(p and p.startswith("/") and isinstance(v, ast.Name | ast.Attribute) for p, v in rows):
            return
        name = scope.symbol.rpartition(".")[2]
        for path, value in rows:
            handler, methods = routes.handler_name(value), ("*",)
            if name.startswith("do_"):
                scope.calls.add(dotted(value))
                handler, methods = name, (name[3:],)
            found = (path or "", methods, "", handler)
            self.routes.append(routes.route(found, value, value.lineno, NO_CONDITION, scope.symbol))

    def _bindings_now(self) -> dict[str, list[ast.expr]]:
        return {**self.constants, **self.own_paths, **self.loops}

    def _handler_table(self, value: ast.expr) -> None:
        """`FastAPI(exception_handlers={X: f}, middleware=[…])`."""
        if not isinstance(value, ast.Call):
            return
        table = keyword(value, "exception_handlers")
        if isinstance(table, ast.Dict):
            for key, function in zip(table.keys, table.values, strict=True):
                self.handlers.append(Handler((last_name(key),), last_name(function), (), value.lineno))

    def _expression(self, root: ast.AST, scope: _Scope) -> bool:
        """Take the calls, handed-on names and registrations of an expression; whether a text is in it."""
        has_text = False
        pending: list[ast.AST] = [root]
        while pending:
            node = pending.pop()
            kind = type(node)
            if kind is ast.Constant:
                has_text = has_text or isinstance(node.value, str)  # type: ignore[attr-defined]
                continue
            if kind is ast.Name:
                continue
            if kind is ast.Call:
                self._call(node, scope)  # type: ignore[arg-type]
            for name in node._fields:
                child = getattr(node, name, None)
                if type(child) is list:
                    pending.extend(c for c in child if isinstance(c, ast.AST))
                elif isinstance(child, ast.AST):
                    pending.append(child)
        return has_text

    def _call(self, call: ast.Call, scope: _Scope) -> None:
        name = last_name(call)
        if name:
            scope.calls.add(self._called(call.func, name))
        for argument in call.args:
            if isinstance(argument, ast.Name | ast.Attribute):
                scope.calls.add(last_name(argument))
        for word in call.keywords:
            if isinstance(word.value, ast.Name | ast.Attribute):
                scope.calls.add(last_name(word.value))
        if name == "Mount":
            prefixes, inner = routes.mounted_inside(call, self._bindings_now())
            above = self.mounted.get(call, [""])
            below = [before + prefix for before in above for prefix in prefixes]
            self.mounted.update((mount, below) for mount in inner)
        if name in routes.MOUNTERS:
            for found in routes.mounts_of(call, self._bindings_now(), self.imports):
                self.mounts.append(routes.mount(found, call.lineno, scope.condition, scope.symbol))
        elif name in {"add_exception_handler", "add_error_handler"} and len(call.args) >= 2:
            self.handlers.append(Handler(_classes(call.args[0]), last_name(call.args[1]), (), call.lineno))
        elif name == "add_middleware" and call.args:
            self.middlewares.append(last_name(call.args[0]))
        else:
            end = call.end_lineno or call.lineno
            for path, methods, router, handler in routes.call_routes(call, self._bindings_now()):
                for prefix in self.mounted.get(call, [""]):
                    made = (prefix + path, methods, router, handler)
                    self.routes.append(routes.route(made, call, end, scope.condition, scope.symbol))

    def _called(self, func: ast.expr, name: str) -> str:
        """How a call is kept, as `Function.calls` says."""
        if isinstance(func, ast.Name):
            return name
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
            owner = func.value.id
            if owner in {"self", "cls"}:
                return f"self.{name}"
            if owner in self.imports or owner[:1].isupper():
                return f"{owner}.{name}"
            return f"~{owner}.{name}"
        return f".{name}"

    def _function(self, node: FunctionNode, scope: _Scope) -> None:
        qualified = f"{scope.symbol}.{node.name}" if scope.symbol else node.name
        self._decorators(node, qualified, scope)
        inner = _Scope(qualified, dict(scope.names), scope.condition if scope.class_depth == 0 else NO_CONDITION)
        for decorator in node.decorator_list:
            self._expression(decorator, inner)
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self._expression(default, inner)
        self.block(node.body, inner)
        self.functions.append(
            Function(
                name=qualified,
                line=node.lineno,
                end_line=node.end_lineno or node.lineno,
                parameters=_parameters(node.args),
                calls=tuple(sorted(inner.calls)),
                decorators=tuple(dotted(d) for d in node.decorator_list),
                returns=text(node.returns),
                is_async=isinstance(node, ast.AsyncFunctionDef),
            )
        )
        scope.calls.add(node.name) if scope.symbol and not scope.class_depth else None

    def _decorators(self, node: FunctionNode, qualified: str, scope: _Scope) -> None:
        for decorator in node.decorator_list:
            for path, methods, router in routes.decorator_routes(decorator, self._bindings_now()):
                found = (path, methods, router, qualified)
                self.routes.append(routes.route(found, decorator, node.lineno, scope.condition, scope.symbol))
            match decorator:
                case ast.Call(func=ast.Attribute(attr="exception_handler" | "errorhandler"), args=[first, *_]):
                    statuses = tuple(sorted({s for s in map(status_of, ast.walk(node)) if s and s >= 400}))
                    self.handlers.append(Handler(_classes(first), qualified, statuses, first_line(node)))
                case (
                    ast.Call(func=ast.Attribute(attr="middleware"))
                    | ast.Attribute(attr="before_request" | "middleware")
                ):
                    self.middlewares.append(qualified)

    def _class(self, node: ast.ClassDef, scope: _Scope) -> None:
        qualified = f"{scope.symbol}.{node.name}" if scope.symbol else node.name
        self.classes.append(class_of(node, qualified))
        inner = _Scope(qualified, dict(scope.names), NO_CONDITION, class_depth=1)
        self.block(node.body, inner)


def _classes(node: ast.expr) -> tuple[str, ...]:
    """Names of the classes that a handler is registered for; a number stands for its status."""
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(name for element in node.elts for name in _classes(element))
    status = status_of(node)
    return (str(status),) if status else (last_name(node),)


def _parameters(arguments: ast.arguments) -> tuple[Parameter, ...]:
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = len(positional) - len(arguments.defaults)
    defaults = [None] * missing + list(arguments.defaults) + list(arguments.kw_defaults)
    return tuple(
        Parameter(a.arg, text(a.annotation), text(d) if d is not None else None, a.lineno)
        for a, d in zip([*positional, *arguments.kwonlyargs], defaults, strict=True)
    )


def _join_names(names: dict[str, list[ast.expr]], ends: list[dict[str, list[ast.expr]]]) -> None:
    """After branches a name may stand for what any of them assigned."""
    for name in {name for end in ends for name in end}:
        values = [value for end in ends for value in end.get(name, ())]
        names[name] = list({id(value): value for value in values}.values())


def _is_short(value: ast.expr) -> bool:
    span = (value.end_lineno or value.lineno) - value.lineno
    return span < 60 and not isinstance(value, ast.Lambda) and len(text(value)) <= MAX_CONSTANT


def _leaves(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Return | ast.Raise | ast.Continue)
