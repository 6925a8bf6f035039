"""Python source as a syntax tree, and small questions to ask of its nodes."""

from __future__ import annotations

import ast
import re
import warnings
from http import HTTPStatus

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

_HTTP_CONSTANT = re.compile(r"HTTP_(\d{3})_")


def parse(data: bytes) -> ast.Module | str:
    """The module, or one sentence that says why it can't be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data)
    except SyntaxError as error:
        return f"line {error.lineno or '?'}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"can't be parsed ({type(error).__name__}: {error})"


def parse_function(lines: list[bytes], line: int) -> FunctionNode | None:
    """A function by its own lines, the first of which is `def` and stands at `line` of the file."""
    indented = bool(lines) and lines[0][:1] in {b" ", b"\t"}
    module = parse((b"if True:\n" if indented else b"") + b"".join(lines))
    if isinstance(module, str) or not module.body:
        return None
    first = module.body[0]
    node = first.body[0] if isinstance(first, ast.If) else first
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    ast.increment_lineno(node, line - (2 if indented else 1))
    return node


def text(node: ast.AST | None) -> str:
    """Source text of an expression; empty for None and for what is nested too deeply to print."""
    if node is None:
        return ""
    kind = type(node)
    if kind is ast.Name:
        return node.id  # type: ignore[attr-defined, no-any-return]
    if kind is ast.Constant:
        return repr(node.value)  # type: ignore[attr-defined]
    try:
        return ast.unparse(node)
    except RecursionError:
        return ""


def dotted(node: ast.AST | None) -> str:
    """`a.b.c` for a chain of names; a call or subscript in it is looked through; else empty."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Name):
            parts.append(node.id)
            return ".".join(reversed(parts))
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            return ""


def last_name(node: ast.AST | None) -> str:
    """The last part of what a call or a reference names."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def string(node: ast.AST | None) -> str | None:
    """The value of a string constant."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def keyword(call: ast.Call, *names: str) -> ast.expr | None:
    """The value of the first of these keywords that the call gives."""
    return next((k.value for name in names for k in call.keywords if k.arg == name), None)


def status_of(node: ast.AST | None) -> int | None:
    """The HTTP status that an expression names: 400, `HTTPStatus.BAD_REQUEST`, `status.HTTP_400_BAD_REQUEST`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and 100 <= node.value <= 599:
        return node.value
    if isinstance(node, ast.Attribute):
        if node.attr == "value":
            return status_of(node.value)
        if match := _HTTP_CONSTANT.match(node.attr):
            return int(match[1])
        if last_name(node.value) == "HTTPStatus":
            found = HTTPStatus.__members__.get(node.attr)
            return int(found) if found else None
    return None


def first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    """The line of the first decorator, else of the definition."""
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])
