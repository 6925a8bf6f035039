"""The walk through functions against what really happens in them."""

from __future__ import annotations

from typing import Any

import pytest
from functioncode import PRELUDE, Ended, modules, run, walked
from hypothesis import given, settings
from hypothesis import strategies as st
from pythoncode import alike, environments

from llmdebug.index.python.frames import Outcome
from llmdebug.index.python.values import UNKNOWN


@given(modules(), environments, st.booleans(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_certain_outcome_is_what_happens_and_none_is_missed(
    source: str, environment: dict[str, Any], maybe: bool, perhaps: bool
) -> None:
    ended = run(source, {**environment, "maybe": maybe, "perhaps": perhaps})
    walk = walked(source, environment)
    if not walk.stopped:
        check(source, ended, walk.outcomes, doubtful=True)


@given(modules(), environments)
@settings(max_examples=200, deadline=None)
def test_with_all_known_the_outcome_is_told(source: str, environment: dict[str, Any]) -> None:
    known = {**environment, "maybe": True, "perhaps": False}
    ended = run(source, known)
    walk = walked(source, known)
    if not walk.stopped:
        check(source, ended, walk.outcomes, doubtful=False)


def check(source: str, ended: Ended, outcomes: list[Outcome], doubtful: bool) -> None:
    """`doubtful`: the walk did not know all, so that an operation may raise by itself without being listed."""
    shown = "\n".join(f"{n:3} {line}" for n, line in enumerate(source.splitlines(), 1))
    told = f"{shown}\nreally {ended}\n" + "\n".join(map(describe, outcomes))
    if ended.raised:
        by_itself = not source.splitlines()[ended.line - 1].strip().startswith(("raise", "assert"))
        met = [o for o in outcomes if o.kind != "return" and o.line == ended.line and o.error == ended.raised]
        if not met and by_itself and doubtful:
            return
        assert any(o.escapes or not o.certain for o in met), told
    sure = [o for o in outcomes if o.certain and o.escapes and (o.kind != "return" or o.symbol == "f")]
    for outcome in sure:
        if outcome.kind == "return":
            assert not ended.raised, told
            assert not comparable(outcome.value) or alike(outcome.value, ended.value), told
        else:
            assert (outcome.error, outcome.line) == (ended.raised, ended.line), told


def describe(o: Outcome) -> str:
    return f"{o.kind} {o.symbol}:{o.line} {o.error} {'certain' if o.certain else ''} {'' if o.escapes else 'caught'}"


def comparable(value: Any) -> bool:
    try:
        return value is not UNKNOWN and bool(repr(value))
    except Exception:
        return False


def outcomes_of(code: str, **environment: Any) -> list[Outcome]:
    lines = [f"    {line}" for line in code.strip("\n").splitlines()]
    source = "\n".join([*PRELUDE, "def f(body, items, unknown):", *lines, ""])
    return [o for o in walked(source, environment).outcomes if o.kind != "return"]


FIRST = len(PRELUDE) + 2
"""Line of the first statement of `f`."""


@pytest.mark.parametrize(
    ("body", "line", "near"),
    [
        ("if body['n'] < 1:\n    raise ValueError('n')", 1, "/body/n"),
        ("n = body['n']\nif n != 1:\n    raise ValueError('n')", 2, "/body/n"),
        (
            "for m in body['messages']:\n    if m['role'] not in ('user',):\n        raise ValueError(m)",
            2,
            "/body/messages/1/role",
        ),
        (
            "errors = []\nif body['n'] < 1:\n    errors.append(f'{unknown}')\nif errors:\n    raise ValueError(errors)",
            4,
            "/body/n",
        ),
        ("try:\n    x = body['absent']\nexcept KeyError:\n    raise RuntimeError('x')", 3, ""),
        ("while True:\n    if body['n'] == 0:\n        raise ValueError('n')", 2, "/body/n"),
        ("try:\n    unknown()\nexcept ValueError:\n    pass\nraise ValueError('n')", 4, ""),
        ("x = 0\nwith unknown:\n    x = body['n']\nassert x", 3, "/body/n"),
    ],
)  # fmt: skip
def test_a_refusal_that_must_happen_is_certain(body: str, line: int, near: str) -> None:
    outcomes = outcomes_of(body, body={"n": 0, "messages": [{"role": "user"}, {"role": "tool"}]}, items=[])
    sure = [o for o in outcomes if o.certain and o.escapes]
    assert [o.line for o in sure] == [FIRST + line]
    assert not near or near in sure[0].near


@pytest.mark.parametrize(
    "body",
    [
        "if unknown:\n    raise ValueError('a')",
        "if unknown and body['n'] == 0:\n    raise ValueError('a')",
        "for x in unknown:\n    raise ValueError('a')",
        "seen = False\nfor x in unknown:\n    if seen:\n        raise ValueError('a')\n    seen = True",
        "found = []\nfor x in unknown:\n    found.append(x)\nif not found:\n    raise ValueError('a')",
        "for x in items:\n    if unknown(x):\n        break\nelse:\n    raise ValueError('a')",
        "x = 1\nfor i in items:\n    if unknown:\n        break\n    x = 2\nif x == 1:\n    raise ValueError('a')",
        "ok = False\ntry:\n    unknown()\n    ok = True\n"
        "except ValueError:\n    pass\nif not ok:\n    raise ValueError('a')",
        "try:\n    return unknown()\nexcept ValueError:\n    pass\nraise ValueError('a')",
        "try:\n    raise ValueError('a')\nfinally:\n    for x in unknown:\n        return 1",
        "try:\n    raise ValueError('a')\nfinally:\n    if unknown:\n        return 1",
        "unknown(body)\nif body['n'] == unknown:\n    raise ValueError('a')",
        "request = unknown\nrequest.n = 0\nif request.n < 1 and unknown:\n    raise ValueError('a')",
        "while unknown:\n    if body['n'] == 1:\n        raise ValueError('a')\n    body['n'] += 1",
    ],
)
def test_a_refusal_that_may_happen_is_listed_as_doubtful(body: str) -> None:
    outcomes = outcomes_of(body, body={"n": 0}, items=[1])
    assert [(o.error, o.certain) for o in outcomes] == [("ValueError", False)]


@pytest.mark.parametrize(
    "body",
    [
        "if body['n'] > 1:\n    raise ValueError('a')",
        "body['n'] = 5\nif body['n'] < 1:\n    raise ValueError('a')",
        "request = unknown\nrequest.n = 0\nif request.n:\n    raise ValueError('a')",
        "if body.get('absent') is not None:\n    raise ValueError('a')",
        "for x in body['empty']:\n    raise ValueError('a')",
        "try:\n    n = int(body['n'])\nexcept ValueError:\n    raise ValueError('a')",
        "if isinstance(body['n'], str) and body['n'].strip() == '':\n    raise ValueError('a')",
        "return 1\nraise ValueError('a')",
    ],
)
def test_a_refusal_that_cannot_happen_is_not_listed(body: str) -> None:
    assert outcomes_of(body, body={"n": 0, "empty": []}, items=[1]) == []


def test_a_crash_names_the_line_the_error_and_what_it_read() -> None:
    (outcome,) = outcomes_of(
        "role = body['messages'][0]['role']\nname = role.get('name')", body={"messages": [{"role": "x"}]}
    )
    assert (outcome.kind, outcome.line, outcome.error) == ("crash", FIRST + 1, "AttributeError")
    assert outcome.text == "'str' object has no attribute 'get'"
    assert "/body/messages/0/role" in outcome.near


def test_a_long_loop_is_not_cut_short() -> None:
    body = "for t in body['tokens']:\n    if t < 0:\n        raise ValueError('negative')"
    outcomes = outcomes_of(body, body={"tokens": [1] * 1_000 + [-1]})
    assert [(o.line, o.certain) for o in outcomes] == [(FIRST + 2, False)]


def test_an_endless_walk_is_given_up() -> None:
    body = "for a in items:\n    for b in items:\n        for c in items:\n            x = [a, b, c, a + b + c]"
    lines = [f"    {line}" for line in body.splitlines()]
    walk = walked("\n".join([*PRELUDE, "def f(items):", *lines, ""]), {"items": list(range(180))})
    assert walk.stopped


def test_deep_nesting_is_given_up_rather_than_raised() -> None:
    deep = "unknown(" * 60 + "1" + ")" * 60
    assert outcomes_of(f"if {deep}:\n    raise ValueError('a')")[0].certain is False
