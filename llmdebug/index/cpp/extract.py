"""One file of C++ source: routes, functions with what they call, refusals, and what errors are answered with.

A lambda that a variable or a member is set to counts as a function of that name; so does one that a registration is
handed. What other lambdas do counts to the function around them.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from llmdebug.index.cpp.answers import (
    BLOCKS,
    CONSTANT,
    STATUS,
    STATUS_NAME,
    answered,
    runs_handler,
    status_before,
    status_in,
)
from llmdebug.index.cpp.messages import raised_by, told
from llmdebug.index.cpp.scopes import (
    HOOKS,
    VERBS,
    Place,
    Scope,
    function_of,
    name_of_handed,
    named_in,
    parameters_of,
    path_of,
    symbol_of,
)
from llmdebug.index.cpp.syntax import arguments, called, declared_name, last, owner_of, string_of
from llmdebug.index.facts import Class, FileFacts, Handler, Rejection, Route, Template
from llmdebug.index.grammar import end_line_of, is_message, line_of, root_of, text_of, within

MAKERS = re.compile(
    r"(?i)err(?:or)?s?(?:_|$)|(?:^|_)(?:err|error)|fail|reject|refuse|abort_request|bad_?request|set_content"
)
"""Functions that are handed the words of a refusal."""
LOGS = re.compile(r"(?i)^(?:log|print|f?printf|debug|trace|warn|info|perror|cerr)|_log$|log_|is_|has_")
ASSERTS = re.compile(r"ASSERT|ABORT|FATAL|^(?:D?CHECK)|^assert$")
GATHERED = frozenset({"push_back", "emplace_back", "append", "insert"})
ERROR_NAME = re.compile(r"(?i)(?:^|_|\.)(?:err|error|errors|reason)(?:_?(?:msg|message|str|text))?_?$")
CLASSES = ("class_specifier", "struct_specifier")
NEAR = 4
"""Lines between the words of a refusal and the call that sends them."""
MAX_TRIED = 4
"""Statements in a `try` that wraps all handlers."""


def extract(path: str, data: bytes) -> FileFacts:
    """The facts of a file, whatever can't be parsed in it left out."""
    root = root_of("cpp", data)
    if root is None:
        return FileFacts(path, problem="too large")
    reading = _File()
    reading.read(root)
    return reading.facts(path)


class _File:
    def __init__(self) -> None:
        self.top = Scope("", None)  # type: ignore[arg-type]
        self.scopes: list[Scope] = []
        self.classes: list[Class] = []
        self.routes: list[Route] = []
        self.rejections: list[Rejection] = []
        self.handlers: list[Handler] = []
        self.hooks: list[str] = []
        self.registrars: dict[str, list[tuple[str, str]]] = {}
        """By the name of a function that registers what it is handed: the methods and what it puts before the path."""
        self.standing_for: dict[str, list[str]] = {}
        """The other members that a member is set to: handlers that may stand in its place."""

    def facts(self, path: str) -> FileFacts:
        return FileFacts(
            path=path,
            routes=tuple(self.routes),
            handlers=tuple(self.handlers),
            middlewares=tuple(dict.fromkeys(self.hooks)),
            classes=tuple(self.classes),
            functions=tuple(function_of(scope) for scope in self.scopes),
            rejections=tuple(sorted(self.rejections, key=lambda r: r.line)),
        )

    def read(self, root: Node) -> None:
        """Sort all nodes into the functions that they stand in; then tell what these register and refuse."""
        pending = [Place(root, None, None, self.top)]
        while pending:
            here = pending.pop()
            node, scope, owner, said = here.node, here.scope, here.owner, here.said
            if node.type in CLASSES:
                owner = self._class(node) or owner
            elif node.type in {"function_definition", "lambda_expression"}:
                symbol = symbol_of(here)
                if symbol and node.child_by_field_name("body") is not None:
                    scope = Scope(symbol, node)
                    self.scopes.append(scope)
            else:
                self._sort(here)
            said = node.type not in BLOCKS and (said or _tells(node))
            pending += [Place(c, node, here.parent, scope, owner, said) for c in reversed(node.named_children)]
        for each in self.scopes:
            self._gather_registrars(each)
        for each in [self.top, *self.scopes]:
            self._tell(each)

    def _gather_registrars(self, scope: Scope) -> None:
        """Functions that register what they are handed: `svr.Post("/v1/" + endpoint, handler)`."""
        own = {parameter.name for parameter in parameters_of(scope.node)}
        for call in scope.calls:
            given = arguments(call)
            verb = VERBS.get(called(call).lower())
            if verb and len(given) > 1 and given[0].type == "binary_expression" and text_of(given[-1]) in own:
                prefix = string_of(given[0].child_by_field_name("left"))
                if prefix is not None and prefix.startswith("/") and last(given[0].child_by_field_name("right")) in own:
                    self.registrars.setdefault(scope.symbol.rpartition(".")[2], []).append((verb, prefix))

    def _class(self, node: Node) -> str:
        name = last(node.child_by_field_name("name"))
        if name and node.child_by_field_name("body") is not None:
            held = next((c for c in node.named_children if c.type == "base_class_clause"), None)
            bases = [last(b) for b in held.named_children] if held is not None else []
            self.classes.append(
                Class(name=name, line=line_of(node), end_line=end_line_of(node), bases=tuple(b for b in bases if b))
            )
        return name

    def _sort(self, here: Place) -> None:
        node, scope = here.node, here.scope
        match node.type:
            case "call_expression":
                scope.calls.append(node)
                scope.spoken += [] if here.said else [node]
            case "init_declarator" | "assignment_expression":
                target = node.child_by_field_name("declarator") or node.child_by_field_name("left")
                value = node.child_by_field_name("value") or node.child_by_field_name("right")
                if target is not None and value is not None:
                    declares = node.type == "init_declarator"
                    setting = (node.start_point[0], value, declares)
                    scope.values.setdefault(declared_name(target), []).append(setting)
                    self._stands_for(target, value)
                scope.spoken.append(node)
            case "throw_statement" | "catch_clause" | "case_statement":
                scope.spoken.append(node)
            case "initializer_list":
                is_inner = here.parent is not None and here.parent.type == "initializer_list"
                scope.spoken += [] if here.said or is_inner else [node]

    def _stands_for(self, target: Node, value: Node) -> None:
        if target.type == "field_expression" and value.type == "field_expression":
            self.standing_for.setdefault(last(target), []).append(last(value))

    def _tell(self, scope: Scope) -> None:
        for call in scope.calls:
            name = called(call)
            if name.lower() in VERBS:
                self._route(call, VERBS[name.lower()], scope)
            for verb, prefix in self.registrars.get(name, ()):
                self._route(call, verb, scope, prefix)
            self.hooks += [name] if name in HOOKS else []
        for node in scope.spoken:
            match node.type:
                case "call_expression":
                    self._refused_by_call(node, called(node), scope)
                case "throw_statement":
                    self._reject(node, scope, "raises", _handed(node, scope), raised_by(node))
                case "catch_clause":
                    self._caught(node)
                case "case_statement":
                    self._case(node)
                case "initializer_list":
                    self._listed(node, scope)
                case _:
                    self._assigned(node, scope)

    def _route(self, call: Node, verb: str, scope: Scope, prefix: str = "") -> None:
        given = arguments(call)
        path = path_of(given[0], prefix) if len(given) > 1 else None
        if path is None:
            return
        names = [name for handler in given[1:] for name in named_in(handler)]
        if given[-1].type == "lambda_expression":
            names.append(name_of_handed(call, f"{scope.symbol}." if scope.symbol else ""))
        handler = names[-1] if names else ""
        others = [*names[:-1], *self.standing_for.get(handler, ())]
        before = tuple(dict.fromkeys(name for name in others if name != handler))
        self.routes.append(
            Route(path, (verb,), handler, line_of(call), line_of(call), dependencies=before, symbol=scope.symbol)
        )

    def _refused_by_call(self, call: Node, name: str, scope: Scope) -> None:
        if ASSERTS.search(name):
            self._reject(call, scope, "internal", _handed(call, scope), name)
            return
        gathers = name in GATHERED and ERROR_NAME.search(text_of(owner_of(call)))
        if not _is_maker(name) and not gathers:
            return
        said = _handed(call, scope)
        if said:
            kind, status = answered(call)
            self._reject(call, scope, "returns", said, kind or name, status or status_before(call))

    def _assigned(self, node: Node, scope: Scope) -> None:
        """A text that a variable for errors is set to."""
        target = node.child_by_field_name("declarator") or node.child_by_field_name("left")
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        if value is None or not ERROR_NAME.search(text_of(target)):
            return
        if value.type not in {"call_expression", "lambda_expression"} or not MAKERS.search(called(value)):
            self._reject(node, scope, "returns", list(told(value, {})), "")

    def _listed(self, node: Node, scope: Scope) -> None:
        """`{"message", "…"}` and its like, apart from those that a refusing call is handed."""
        said = list(told(node, scope.values))
        if said:
            self._reject(node, scope, "returns", said, "", status_in(node))

    def _reject(
        self, node: Node, scope: Scope, role: str, said: list[Template], raised: str, status: int | None = None
    ) -> None:
        templates = tuple(dict.fromkeys(each for each in said if is_message(each)))
        if templates:
            line = _line_of_words(node, scope)
            self.rejections.append(
                Rejection(line, end_line_of(node), scope.symbol, role, templates, raised, status)  # type: ignore[arg-type]
            )

    def _case(self, node: Node) -> None:
        """`case ERROR_X: code = 400;`: what a kind of error is answered with."""
        value = text_of(node.child_by_field_name("value"))
        following: Node | None = node
        while following is not None and following.type == "case_statement":
            for each in within(following, "assignment_expression", but=frozenset({"case_statement"})):
                status = STATUS.search(text_of(each.child_by_field_name("right")))
                if status and STATUS_NAME.search(text_of(each.child_by_field_name("left"))) and value:
                    self.handlers.append(Handler((value.rpartition("::")[2],), "", (int(status[1]),), line_of(node)))
                    return
            following = following.next_named_sibling if len(following.named_children) < 2 else None

    def _caught(self, node: Node) -> None:
        """What an exception is answered with by code that all handlers run in."""
        tried = node.parent.child_by_field_name("body") if node.parent is not None else None
        if tried is None or len(tried.named_children) > MAX_TRIED or not runs_handler(tried):
            return
        held = node.child_by_field_name("parameters")
        kinds = [last(p.child_by_field_name("type")) for p in held.named_children] if held is not None else []
        body = node.child_by_field_name("body")
        if body is None or not any(kinds):
            return
        constants = [text_of(n) for n in within(body, "identifier") if CONSTANT.fullmatch(text_of(n))]
        statuses = tuple(int(m[1]) for n in within(body, "number_literal") if (m := STATUS.search(text_of(n))))
        if constants or statuses:
            self.handlers.append(Handler(tuple(kinds), "", statuses, line_of(node), tuple(constants)))


def _line_of_words(node: Node, scope: Scope) -> int:
    """The line of a refusal; where it is handed a variable, that which sets it, if that stands just before."""
    first = line_of(node)
    for argument in arguments(node) if node.type == "call_expression" else ():
        if argument.type == "identifier":
            before = [line + 1 for line, _, _ in scope.values.get(text_of(argument), ()) if line + 1 < first]
            if before and first - before[-1] <= NEAR:
                return before[-1]
    return first


def _handed(node: Node, scope: Scope) -> list[Template]:
    if node.type == "throw_statement":
        return [template for each in node.named_children for template in told(each, scope.values)]
    return [template for each in arguments(node) for template in told(each, scope.values)]


def _tells(node: Node) -> bool:
    """Whether a node is a refusal, which tells the words of all that it is handed."""
    return node.type == "throw_statement" or (node.type == "call_expression" and _is_maker(called(node)))


def _is_maker(name: str) -> bool:
    return bool(MAKERS.search(name)) and not LOGS.search(name) and not name.isupper()
