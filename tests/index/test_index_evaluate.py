"""The evaluator against Python's own eval."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pythoncode import Known, alike, environments, expressions, json_values, names, parsed, really

from llmdebug.index.python.evaluate import Evaluator
from llmdebug.index.python.operations import truth_of
from llmdebug.index.python.values import UNKNOWN, Crash, Doubtful, Instance, Stop, Value

BODY = {
    "messages": [{"role": "user", "content": "hi"}, {"role": "tool", "content": [{"type": "text"}]}],
    "n": 0,
    "stop": ["a", ""],
    "tools": None,
    "bias": {"7": 2.5},
}


def value_of(source: str, **known: Any) -> Value:
    return Evaluator(Known(copy.deepcopy({"body": BODY, **known}))).value(parsed(source))


@given(expressions(), environments)
@settings(max_examples=250, deadline=None)
def test_a_known_environment_gives_what_python_gives_or_unknown(source: str, environment: dict[str, Any]) -> None:
    true, error = really(source, environment)
    evaluator = Evaluator(Known(copy.deepcopy(environment)))
    try:
        found = evaluator.value(parsed(source))
    except Crash as crash:
        assert error is not None, f"{source} gives {true!r}, not {crash.error!r}"
        assert evaluator.doubts or (type(crash.error), str(crash)) == (type(error), str(error)), source
        return
    if error is None:
        assert not found.known or not wholly_known(found.value) or alike(found.value, true), source
    else:
        assert evaluator.doubts, f"{source} raises {error!r}, found {found.value!r}"


@given(expressions(), environments)
@settings(max_examples=250, deadline=None)
def test_a_test_that_is_told_is_told_right(source: str, environment: dict[str, Any]) -> None:
    true, error = really(f"bool({source})", environment)
    evaluator = Evaluator(Known(copy.deepcopy(environment)))
    try:
        holds, _ = evaluator.truth(parsed(source))
    except Crash as crash:
        assert error is not None, f"{source} gives {true!r}, not {crash.error!r}"
        assert evaluator.doubts or (type(crash.error), str(crash)) == (type(error), str(error)), source
        return
    if error is None:
        assert holds in (None, true), source
    else:
        assert evaluator.doubts, f"{source} raises {error!r}"


@given(expressions(), environments, st.sets(names, min_size=1), st.lists(environments, min_size=3, max_size=6))
@settings(max_examples=250, deadline=None)
def test_an_answer_holds_for_whatever_the_unknown_names_are(
    source: str, environment: dict[str, Any], hidden: set[str], others: list[dict[str, Any]]
) -> None:
    known = {name: value for name, value in environment.items() if name not in hidden}
    completions = [environment, *({**known, **{name: other[name] for name in hidden}} for other in others)]
    check_completions(source, known, completions)


@given(expressions(), environments, st.sampled_from(["a", "b", "n"]), st.lists(json_values, min_size=3, max_size=6))
@settings(max_examples=250, deadline=None)
def test_an_answer_holds_for_whatever_an_unknown_element_is(
    source: str, environment: dict[str, Any], key: str, values: list[Any]
) -> None:
    known = {**environment, "body": {**environment["body"], key: UNKNOWN}, "items": [*environment["items"], UNKNOWN]}
    completions = [
        {**environment, "body": {**environment["body"], key: value}, "items": [*environment["items"], value]}
        for value in values
    ]
    check_completions(source, known, completions)


def check_completions(source: str, known: dict[str, Any], completions: list[dict[str, Any]]) -> None:
    evaluator = Evaluator(Known(known))
    try:
        found = evaluator.value(parsed(source))
        holds, _ = Evaluator(Known(known)).truth(parsed(source))
    except Crash as crash:
        for completion in completions:
            true, error = really(source, completion)
            assert error is not None, f"{source} gives {true!r}, not {crash.error!r}, in {completion}"
        return
    for completion in completions:
        true, error = really(source, completion)
        if error is not None:
            continue
        if found.known and wholly_known(found.value):
            assert alike(found.value, true), f"{source} in {completion}"
        if holds is not None:
            assert holds is bool(true), f"{source} in {completion}"


def wholly_known(value: Any) -> bool:
    """Whether a value can be compared throughout."""
    if isinstance(value, Doubtful):
        return False
    if isinstance(value, dict):
        return all(wholly_known(v) for v in value.values())
    if isinstance(value, list | tuple):
        return all(wholly_known(v) for v in value)
    return True


@pytest.mark.parametrize(
    ("source", "pointer"),
    [
        ("body['messages'][1]['role']", "/body/messages/1/role"),
        ("body['messages'][-1]", "/body/messages/1"),
        ("body.get('stop')[1]", "/body/stop/1"),
        ("body['bias']['7']", "/body/bias/7"),
        ("[m for m in body['messages'] if m['role'] == 'tool'] and body['n']", "/body/n"),
    ],
)
def test_values_keep_their_place_in_the_request(source: str, pointer: str) -> None:
    assert value_of(source).pointer == pointer


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("any(not s for s in body['stop'])", "/body/stop/1"),
        ("all(m['role'] == 'user' for m in body['messages'])", "/body/messages/1/role"),
        ("any(v > 2 for k, v in body['bias'].items())", "/body/bias/7"),
        ("any(m['role'] == 'tool' for i, m in enumerate(body['messages']))", "/body/messages/1/role"),
        ("body.get('absent') is None", "/body/absent"),
    ],
)
def test_a_test_names_what_decided_it(source: str, read: str) -> None:
    holds, reads = Evaluator(Known({"body": BODY})).truth(parsed(source))
    assert holds is not None
    assert read in reads


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("body.pop('n') == 0 and 'n' not in body", True),
        ("body.setdefault('k', []) == [] and 'k' in body", True),
        ("body['stop'].append('c') is None and len(body['stop'])", 3),
        ("body['stop'].sort() is None and body['stop'][0]", ""),
    ],
)
def test_methods_that_change_their_object_are_seen_afterwards(source: str, expected: object) -> None:
    assert value_of(source).value == expected


def test_a_change_is_seen_by_all_who_hold_the_object() -> None:
    surroundings = Known({"body": copy.deepcopy(BODY)})
    evaluator = Evaluator(surroundings)
    surroundings.bind("message", evaluator.value(parsed("body['messages'][0]")))
    evaluator.value(parsed("message.update({'role': 'system'})"))
    assert evaluator.value(parsed("body['messages'][0]['role']")).value == "system"
    assert BODY["messages"][0]["role"] == "user"  # type: ignore[index]


def test_an_unknown_change_leaves_nothing_definite() -> None:
    surroundings = Known({"body": copy.deepcopy(BODY)})
    evaluator = Evaluator(surroundings)
    evaluator.value(parsed("body['bias'].update(unknown)"))
    assert evaluator.truth(parsed("'8' in body['bias']"))[0] is None
    assert evaluator.truth(parsed("body['n'] == 0"))[0] is True


def test_names_of_a_comprehension_end_with_it() -> None:
    surroundings = Known({"x": 5, "items": [1, 2]})
    evaluator = Evaluator(surroundings)
    assert evaluator.value(parsed("[x for x in items]")).value == [1, 2]
    assert evaluator.value(parsed("x")).value == 5


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("isinstance(thing, Request)", True),
        ("isinstance(thing, Other)", None),
        ("thing is None", False),
        ("thing is not None", True),
        ("getattr(thing, 'n', 7)", 3),
        ("hasattr(thing, 'n')", True),
        ("hasattr(thing, 'other')", None),
        ("'n' in thing", True),
        ("thing['n']", 3),
        ("bool(thing)", True),
        ("thing == 3", None),
    ],
)
def test_objects_made_from_the_request(source: str, expected: object) -> None:
    thing = Instance({"n": Value(3)}, "Request")
    found = value_of(source, thing=thing)
    assert (found.value if found.known else None) == expected


@pytest.mark.parametrize(
    "source",
    [
        "body['n'] * 10 ** 9",
        "'a' * 10000000",
        "[0] * 100000000",
        "' ' * 9999999 * 9999",
        "1e300 * 1e300",
        "'%999999999d' % 5",
    ],
)
def test_nothing_is_made_too_large(source: str) -> None:
    found = value_of(source)
    assert not found.known or found.value == 0


def test_a_long_list_is_not_judged_by_its_start() -> None:
    found = value_of("all(t >= 0 for t in tokens)", tokens=[*range(5_000), -1])
    assert truth_of(found) is not True


def test_an_endless_expression_is_given_up() -> None:
    with pytest.raises(Stop):
        value_of(" and ".join(["all(a + b >= 0 for a in tokens for b in tokens)"] * 4), tokens=[*range(300)])
