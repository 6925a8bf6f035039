"""Generated Python expressions and JSON bodies, and evaluation by Python itself to hold answers against."""

from __future__ import annotations

import ast
import copy
import warnings
from typing import Any

from hypothesis import strategies as st

from llmdebug.index.python.evaluate import Evaluator
from llmdebug.index.python.frames import Replacement
from llmdebug.index.python.values import NOT_KNOWN, Instance, Row, Stream, Value

NAMES = ("body", "items", "text", "number", "flag", "missing")
KEYS = ("a", "b", "n", "role")

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.sampled_from([0.0, 0.5, -1.5, 2.0, float("inf")]),
    st.sampled_from(["", "a", "b", " a ", "role", "7", "user"]),
)
json_values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)),
    max_leaves=6,
)
environments = st.fixed_dictionaries(
    {
        "body": st.dictionaries(st.sampled_from(KEYS), json_values, max_size=4),
        "items": st.lists(json_values, max_size=4),
        "text": st.sampled_from(["", "a", " user ", "7", "a,b"]),
        "number": st.one_of(st.integers(-3, 5), st.sampled_from([0.5, 2.0])),
        "flag": st.booleans(),
        "missing": json_values,
    }
)

literals = st.sampled_from(
    ["0", "1", "2", "-1", "0.5", "None", "True", "False", "''", "'a'", "'b'", "'role'", "'user'"]
)
names = st.sampled_from(NAMES)
keys = st.sampled_from(["'a'", "'b'", "'n'", "'role'"])
classes = st.sampled_from(["str", "int", "float", "bool", "list", "dict", "(str, int)", "int | float", "(list, tuple)"])
comparisons = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in"])


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3, bound: tuple[str, ...] = ()) -> str:
    """The source text of an expression over NAMES and the names bound around it."""
    if depth == 0 or draw(st.integers(0, 9)) == 0:
        return draw(st.one_of(names, literals, st.sampled_from(bound) if bound else names))

    def sub(names_bound: tuple[str, ...] = bound) -> str:
        made = draw(expressions(depth=depth - 1, bound=names_bound))
        return made if made.isidentifier() else f"({made})"

    form = draw(st.integers(0, 27))
    match form:
        case 0:
            return f"({sub()} {draw(comparisons)} {sub()})"
        case 1:
            return f"({sub()} {draw(comparisons)} {sub()} {draw(comparisons)} {sub()})"
        case 2:
            return f"({sub()} is {draw(st.sampled_from(['None', 'not None', 'True', 'not False']))})"
        case 3:
            return f"isinstance({sub()}, {draw(classes)})"
        case 4:
            return f"len({sub()})"
        case 5:
            joint = draw(st.sampled_from([" and ", " or "]))
            return f"({joint.join(sub() for _ in range(draw(st.integers(2, 3))))})"
        case 6:
            return f"(not {sub()})"
        case 7:
            return f"{sub()}[{draw(st.one_of(keys, st.sampled_from(['0', '-1', '1'])))}]"
        case 8:
            return f"{sub()}.get({draw(keys)}{draw(st.sampled_from(['', ', 1', ', []']))})"
        case 9:
            return f"({sub()} {draw(st.sampled_from(['+', '-', '*', '/', '//', '%', '|', '&']))} {sub()})"
        case 10:
            return f"f'{{{draw(names)}}}-{{{draw(names)}}}'"
        case 11:
            return f"{sub()}[{draw(st.sampled_from(['1:', ':1', ':-1', '::2', '0:2']))}]"
        case 12:
            return f"[{sub((*bound, 'x'))} for x in {sub()}]"
        case 13:
            test = draw(st.sampled_from(["", f" if {sub((*bound, 'x'))}"]))
            return f"{draw(st.sampled_from(['any', 'all']))}({sub((*bound, 'x'))} for x in {sub()}{test})"
        case 14:
            return f"{sub()}.{draw(st.sampled_from(['strip()', 'lower()', 'keys()', 'values()', 'items()', 'copy()']))}"
        case 15:
            return f"{sub()}.{draw(st.sampled_from(['startswith', 'split', 'count', 'index', 'endswith']))}({sub()})"
        case 16:
            return f"({sub()} if {sub()} else {sub()})"
        case 17:
            return f"[{', '.join(sub() for _ in range(draw(st.integers(0, 3))))}]"
        case 18:
            return f"{{'a': {sub()}, 'b': {sub()}}}"
        case 19:
            name = draw(st.sampled_from(["bool", "int", "str", "sum", "max", "min", "sorted", "list", "set", "abs"]))
            return f"{name}({sub()})"
        case 20:
            call = draw(st.sampled_from(["enumerate", "zip", "reversed"]))
            return f"[y for y in {call}({sub()})]"
        case 21:
            return f"(-{sub()})"
        case 22:
            return f"{{x for x in {sub()}}}"
        case 23:
            return f"{sub()}.{draw(st.sampled_from(['role', 'a']))}"
        case 24:
            return f"[i for i, x in enumerate({sub()}) if {sub((*bound, 'x', 'i'))}]"
        case 25:
            return (
                f"type({sub()}) {draw(st.sampled_from(['is', '==']))} {draw(st.sampled_from(['str', 'int', 'dict']))}"
            )
        case 26:
            return f"{{k: {sub((*bound, 'k', 'w'))} for k, w in {sub()}.items()}}"
        case _:
            return f"({draw(keys)} {draw(st.sampled_from(['in', 'not in']))} {sub()})"


class Known:
    """Surroundings that know some names, as values."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.names = {name: Value(value, frozenset({f"/{name}"}), f"/{name}") for name, value in known.items()}

    def lookup(self, name: str) -> Value:
        return self.names.get(name, NOT_KNOWN)

    def attribute(self, owner: Value, name: str, node: ast.Attribute) -> Value:
        return NOT_KNOWN

    def call(self, node: ast.Call, evaluator: Evaluator) -> Value:
        return NOT_KNOWN

    def bind(self, name: str, value: Value) -> None:
        self.names[name] = value

    def replace(self, old: Any, new: Any, reads: frozenset[str]) -> None:
        replacement = Replacement(old, new, reads)
        self.names = {name: replacement.on(value) for name, value in self.names.items()}


def parsed(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body


def really(source: str, environment: dict[str, Any]) -> tuple[Any, Exception | None]:
    """What Python makes of an expression: its value, or what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(source, "<generated>", "eval")
        try:
            return eval(code, copy.deepcopy(environment)), None
        except Exception as error:
            return None, error


def alike(found: Any, true: Any) -> bool:
    """Whether two values are the same to whoever looks at them."""
    if isinstance(found, Row):
        found = tuple(found)
    if isinstance(found, Stream | Instance):
        return True
    if isinstance(found, set | frozenset):
        return type(found) is type(true) and bool(found == true)
    return type(found) is type(true) and repr(found) == repr(true)
