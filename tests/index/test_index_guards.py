"""The tests that stand before a statement."""

from __future__ import annotations

import ast
from textwrap import dedent
from typing import Any

import pytest

from llmdebug.index.python.guards import guards_of, holds
from llmdebug.index.python.syntax import text

CODE = dedent(
    """\
    def f(n, mode):
        if n < 1:
            raise ValueError("a")
        elif n > 9:
            for x in range(n):
                if mode == "strict":
                    raise ValueError("b")
        else:
            try:
                while n:
                    raise ValueError("c")
            except KeyError:
                if not mode:
                    raise ValueError("d")
            finally:
                raise ValueError("e")
        match mode:
            case "x":
                if n:
                    raise ValueError("f")
        with n:
            raise ValueError("g")
        raise ValueError("h")
    """
)
LINE = {letter: next(n for n, row in enumerate(CODE.splitlines(), 1) if f'"{letter}")' in row) for letter in "abcdefgh"}


def guards(letter: str) -> list[tuple[str, bool]]:
    function = ast.parse(CODE).body[0]
    return [(text(guard.test), guard.wanted) for guard in guards_of(function, LINE[letter])]


@pytest.mark.parametrize(
    ("letter", "expected"),
    [
        ("a", [("n < 1", True)]),
        ("b", [("n < 1", False), ("n > 9", True), ("mode == 'strict'", True)]),
        ("c", [("n < 1", False), ("n > 9", False), ("n", True)]),
        ("d", [("n < 1", False), ("n > 9", False), ("not mode", True)]),
        ("e", [("n < 1", False), ("n > 9", False)]),
        ("f", [("n", True)]),
        ("g", []),
        ("h", []),
    ],
)
def test_tests_on_the_way(letter: str, expected: list[tuple[str, bool]]) -> None:
    assert guards(letter) == expected


@pytest.mark.parametrize(
    ("letter", "given", "verdict"),
    [
        ("a", {"n": 0}, True),
        ("a", {"n": 5}, False),
        ("a", {}, None),
        ("b", {"n": 10, "mode": "strict"}, True),
        ("b", {"n": 10}, None),
        ("b", {"n": 5}, False),
        ("b", {"mode": "loose"}, False),
        ("h", {"n": 1}, None),
        ("a", {"n": "text"}, None),
    ],
)
def test_verdicts(letter: str, given: dict[str, Any], verdict: bool | None) -> None:
    function = ast.parse(CODE).body[0]
    assert holds(guards_of(function, LINE[letter]), given) is verdict


def test_dotted_names_are_given_whole() -> None:
    function = ast.parse("def f(self):\n    if self.n > request.limit:\n        raise ValueError('a')\n").body[0]
    assert holds(guards_of(function, 3), {"self.n": 5, "request.limit": 4}) is True
    assert holds(guards_of(function, 3), {"self.n": 3, "request.limit": 4}) is False


def test_a_name_that_a_test_binds_is_seen_by_the_next() -> None:
    function = ast.parse(
        "def f(n):\n    if (m := n + 1) > 0:\n        if m > 5:\n            raise ValueError('a')\n"
    ).body[0]
    assert holds(guards_of(function, 4), {"n": 5}) is True
    assert holds(guards_of(function, 4), {"n": 4, "m": 100}) is False
