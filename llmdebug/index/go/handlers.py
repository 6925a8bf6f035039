"""What a handler in Go is registered as, what it reads the body into, and what its methods take."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from llmdebug.index.facts import BODY, Parameter
from llmdebug.index.go.syntax import FUNCTIONS, annotation_of, arguments_of, is_name, last_name
from llmdebug.index.grammar import around, line_of, text_of, within

BINDERS = frozenset(
    {"ShouldBindJSON", "BindJSON", "ShouldBindBodyWithJSON", "Decode", "Unmarshal", "ShouldBind", "Bind"}
)
OF_THE_SERVER = frozenset({"gin.Context", "http.Request", "http.ResponseWriter", "context.Context", "echo.Context"})


def handlers_of(node: Node) -> Iterator[str]:
    """The functions that a registration names, also as arguments of others that wrap them."""
    if is_name(node):
        yield text_of(node)
    elif node.type == "call_expression":
        target = node.child_by_field_name("function")
        inner = [name for argument in arguments_of(node) for name in handlers_of(argument)]
        yield from ([text_of(target)] if target is not None and is_name(target) else []) + inner
    elif node.type == "variadic_argument":
        for child in node.named_children:
            yield from handlers_of(child)


def bound_to(body: Node) -> Iterator[Parameter]:
    """What the body of a request is read into: the first variable that a binder is handed a pointer to."""
    for call in within(body, "call_expression"):
        if last_name(call.child_by_field_name("function")) not in BINDERS:
            continue
        for argument in arguments_of(call):
            name = text_of(argument).lstrip("&")
            kind = _variable_type(body, name) if text_of(argument).startswith("&") else ""
            if kind:
                yield Parameter(name, kind, BODY, _answered_at(call))
                return


def _answered_at(call: Node) -> int:
    """The line that tells of a body that could not be read: where the error is printed, else where it is read."""
    test = around(call, "if_statement", *FUNCTIONS)
    for inner in within(test, "call_expression") if test is not None and test.type == "if_statement" else ():
        if any(".Error()" in text_of(argument) for argument in arguments_of(inner)):
            return line_of(inner)
    return line_of(call)


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


def parameters_of(node: Node) -> Iterator[Parameter]:
    held = node.child_by_field_name("parameters")
    for declared in held.named_children if held is not None else ():
        kind = declared.child_by_field_name("type")
        if text_of(kind).lstrip("*") not in OF_THE_SERVER:
            for name in declared.children_by_field_name("name"):
                yield Parameter(text_of(name), annotation_of(kind), line=line_of(declared))


def drops_unknown(method: Node) -> int:
    """The line where a method that takes a map passes over keys that it does not know; 0 where it is no such."""
    parameters = list(parameters_of(method))
    if len(parameters) != 1 or not parameters[0].annotation.startswith("dict["):
        return 0
    for loop in within(method, "for_statement"):
        for test in within(loop, "if_statement"):
            inside = test.child_by_field_name("consequence")
            leaves = inside is not None and any(True for _ in within(inside, "continue_statement"))
            if text_of(test.child_by_field_name("condition")) == "!ok" and inside is not None and leaves:
                return line_of(inside.named_children[0])
    return 0
