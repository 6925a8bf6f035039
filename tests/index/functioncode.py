"""Generated Python functions, run by Python itself and walked through by the index."""

from __future__ import annotations

import ast
import copy
import itertools
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st
from pythoncode import expressions, keys, names

from llmdebug.index.python.evaluate import Evaluator
from llmdebug.index.python.execute import Callee, Enter, Frame, Walk
from llmdebug.index.python.values import NOT_KNOWN, Value

MAYBE = ("maybe", "perhaps")
"""Names of booleans that the walk is not told."""
FILE = "<generated function>"
simple = expressions(depth=2)
errors = st.sampled_from(["ValueError", "KeyError", "RuntimeError", "Refused"])
handlers = st.sampled_from(
    ["ValueError", "KeyError", "LookupError", "(TypeError, AttributeError)", "Exception", "Refused", "ArithmeticError"]
)
tests = st.one_of(simple, st.sampled_from(MAYBE), simple.map(lambda s: f"({s}) and maybe"))
PRELUDE = ["import contextlib", "", "class Refused(ValueError):", "    pass", ""]


@st.composite
def blocks(draw: st.DrawFn, depth: int = 3, in_loop: bool = False, helper: bool = True) -> list[str]:
    """The lines of a block."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        lines += draw(statements(depth=depth, in_loop=in_loop, helper=helper))
    return lines


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@st.composite
def statements(draw: st.DrawFn, depth: int, in_loop: bool, helper: bool) -> list[str]:
    """The lines of one statement."""

    def block(loop: bool = in_loop) -> list[str]:
        return indented(draw(blocks(depth=depth - 1, in_loop=loop, helper=helper)))

    form = draw(st.integers(0, 13 if depth == 0 else 23))
    match form:
        case 0 | 1:
            return [f"{draw(names)} = {draw(simple)}"]
        case 2:
            return [f"{draw(st.sampled_from(['body', 'items', 'missing']))}[{draw(keys)}] = {draw(simple)}"]
        case 3:
            return [f"{draw(st.sampled_from(['items', 'missing']))}.append({draw(simple)})"]
        case 4:
            return [f"raise {draw(errors)}('no')"]
        case 5:
            return [f"return {draw(simple)}"]
        case 6:
            return [f"{draw(names)} += {draw(simple)}"]
        case 7:
            return [draw(st.sampled_from(["break", "continue"]))] if in_loop else ["pass"]
        case 8:
            return [f"assert {draw(tests)}, 'no'"]
        case 9:
            return [f"{draw(names)}, {draw(names)} = {draw(simple)}"]
        case 10:
            pop = draw(st.sampled_from([f"body.pop({draw(keys)}, None)", f"body.pop({draw(keys)})", "items.pop()"]))
            return [f"{draw(names)} = {pop}"]
        case 11:
            return [f"del body[{draw(keys)}]"]
        case 12:
            call = f"helper({draw(simple)}, maybe)"
            return [f"{draw(names)} = {call}" if draw(st.booleans()) else call] if helper else ["pass"]
        case 13:
            return [f"{draw(names)}: int = {draw(simple)}"]
        case 14 | 15 | 16:
            lines = [f"if {draw(tests)}:", *block()]
            return [*lines, "else:", *block()] if draw(st.booleans()) else lines
        case 17 | 18:
            over = draw(st.one_of(simple, st.sampled_from(["items", "body", "[1, 2]", "enumerate(items)"])))
            target = draw(st.sampled_from(["text", "number", "number, text"]))
            lines = [f"for {target} in {over}:", *block(loop=True)]
            return [*lines, "else:", *block()] if draw(st.booleans()) else lines
        case 19:
            return ["for turn in range(2) if maybe else range(1):", *block(loop=True)]
        case 20 | 21:
            lines = ["try:", *block()]
            for _ in range(draw(st.integers(1, 2))):
                lines += [f"except {draw(handlers)} as error:" if draw(st.booleans()) else f"except {draw(handlers)}:"]
                lines += block()
                if draw(st.integers(0, 4)) == 0:
                    lines += ["    raise"]
            lines += ["else:", *block()] if draw(st.booleans()) else []
            return lines + (["finally:", *block()] if draw(st.integers(0, 3)) == 0 else [])
        case 22:
            return [f"with contextlib.suppress({draw(handlers).strip('()')}):", *block()]
        case _:
            return [
                f"match {draw(simple)}:",
                f"    case {draw(st.sampled_from(['1', 'None', 'str()', chr(39) + 'a' + chr(39)]))}:",
                *indented(block()),
                f"    case {draw(st.sampled_from(['_', '0 | 2', 'other if maybe']))}:",
                *indented(block()),
            ]


@st.composite
def modules(draw: st.DrawFn) -> str:
    """The source of a module with a function `f` that may call a function `helper`."""
    helper = indented(draw(blocks(depth=1, helper=False)))
    body = indented(draw(blocks()))
    parameters = "body, items, text, number, flag, missing, maybe, perhaps"
    values = "items=[], text='', number=0, flag=True, missing=None, perhaps=False"
    return "\n".join([*PRELUDE, f"def helper(body, maybe, {values}):", *helper, "", f"def f({parameters}):", *body, ""])


@dataclass(frozen=True)
class Ended:
    """How a function really ended."""

    raised: str
    """Name of the exception's class; empty where it returned."""
    line: int
    """Line that raised; 0 for a return."""
    value: Any = None


class TooLong(BaseException):
    """A generated function that goes on for too long, or grows its values too far."""


class _Ticking(ast.NodeTransformer):
    """Has each turn of a loop call `tick`, on the line of the loop."""

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        tick = ast.Expr(ast.Call(ast.Name("__tick__", ast.Load()), [], []))
        node.body.insert(0, ast.fix_missing_locations(ast.copy_location(tick, node)))
        return node


def ticker() -> Callable[[], None]:
    turns = itertools.count()

    def tick() -> None:
        here = sys._getframe(1).f_locals.values()
        sizes = [
            v.bit_length() if isinstance(v, int) else len(v) for v in here if isinstance(v, int | str | list | dict)
        ]
        if next(turns) > 300 or max(sizes, default=0) > 2_000:
            raise TooLong

    return tick


def run(source: str, environment: dict[str, Any]) -> Ended:
    """How the function really ends; a test case that goes on for too long is none."""
    space: dict[str, Any] = {"__tick__": ticker()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(_Ticking().visit(ast.parse(source)), FILE, "exec"), space)
        try:
            return Ended("", 0, space["f"](**copy.deepcopy(environment)))
        except TooLong:
            reject()
        except Exception as error:
            if "changed size during iteration" in str(
                error
            ):  # not modelled: the server's own mistake, whatever is sent
                reject()
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
            return Ended(type(error).__name__, frames[-1].lineno or 0)


def walked(source: str, environment: dict[str, Any]) -> Walk:
    """The walk through `f`; what the environment does not hold is unknown."""
    module = ast.parse(source)
    functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}

    def resolve(_frame: Frame, node: ast.Call, evaluator: Evaluator, enter: Enter) -> Value | None:
        if not isinstance(node.func, ast.Name) or node.func.id not in functions:
            return None
        called = functions[node.func.id]
        parameters = [a.arg for a in called.args.args]
        defaults = zip(parameters[-len(called.args.defaults) :], called.args.defaults, strict=True)
        bound = {name: evaluator.value(default) for name, default in defaults}
        bound.update(zip(parameters, [evaluator.value(a) for a in node.args], strict=False))
        return enter(Callee("module.py", node.func.id, called, bound))

    def ancestors(_path: str, name: str) -> list[str]:
        return ["Refused", "ValueError"] if name == "Refused" else []

    walk = Walk(resolve, lambda _frame, _name: NOT_KNOWN, lambda _frame, _owner, _node: NOT_KNOWN, ancestors)
    bound = {name: Value(value, frozenset({f"/{name}"}), f"/{name}") for name, value in environment.items()}
    walk.run(Callee("module.py", "f", functions["f"], copy.deepcopy(bound)))
    return walk
