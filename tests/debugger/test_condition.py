from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.debugger.condition import (
    NUMBERS,
    TEXTS,
    Condition,
    ConditionError,
    SlowExpressionError,
    first_met,
    parse_condition,
)
from llmdebug.debugger.conditiontext import required_text
from llmdebug.debugger.facts import Judged, facts_of, judged_note
from llmdebug.http.exchange import Exchange, Failure, Request, Response, StreamEvent, Timing

REQUEST = Request(method="POST", url="http://h/v1/chat/completions?a=1", body=b'{"n": 1}', name="hello")


def answer(status: int = 200, body: object = None, *, end: float = 0.5) -> Exchange:
    text = json.dumps({} if body is None else body).encode()
    return Exchange(
        request=REQUEST,
        response=Response(status=status, body=text),
        timing=Timing(started_at=0, first_byte=end / 2, end=end),
    )


REFUSED = answer(422, {"detail": "no such model"}, end=2.5)
NO_ANSWER = Exchange(request=REQUEST, failure=Failure(kind="refused", message="nobody"))
JUDGED = Judged("missing_field", ("a/protocol.py:77", "b.py:3"))


@pytest.mark.parametrize(
    "source",
    [
        "status >= 400",
        "status==422 and latency > 2s",
        "status == 422 && !(latency < 2500ms)",
        "latency = 2.5s or status == 1",
        "ttft > 1s",
        'path ~ "^/v1/.*completions$"',
        "path == /v1/chat/completions",
        'body ~ "such\\s+model"',
        "body !~ nothing and request ~ '\"n\": 1'",
        "kind == missing_field",
        'site ~ "protocol.py"',
        "site ~ b.py:3",
        "changed",
        "changed(/detail)",
        'changed(/nothing, "/detail")',
        "not changed(/nothing)",
        "outcome == refused",
        "name == hello",
        "method != GET",
        "failure != dns",
        "size < 1kB",
        "not not status == 422",
        "status == 1 or status == 422 and method == POST",
    ],
)
def test_a_condition_that_holds(source: str) -> None:
    assert parse_condition(source)(facts_of(REFUSED, recorded=answer(), diagnosis=JUDGED))
    assert not parse_condition(f"not ({source})")(facts_of(REFUSED, recorded=answer(), diagnosis=JUDGED))


@pytest.mark.parametrize(
    "source",
    [
        "status < 400",
        "status >= 400",
        "latency < 1h",
        'body ~ ""',
        "kind ~ '.'",
        "site ~ '.'",
        "event ~ x",
        "events > 0",
    ],
)
def test_a_fact_that_is_not_there_fails_every_test(source: str) -> None:
    assert not parse_condition(source)(facts_of(NO_ANSWER))


def test_no_answer_has_an_outcome_and_a_failure() -> None:
    holds = parse_condition("outcome == no_answer and failure == refused and status != 200")
    assert holds(facts_of(NO_ANSWER))


def test_events_are_facts_while_a_stream_runs() -> None:
    event = StreamEvent(data='{"text": "stop here"}', at=0.1)
    holds = parse_condition('event ~ "stop here" and events >= 3')
    assert holds.of_stream
    assert holds(facts_of(Exchange(request=REQUEST), event=event, events=3))
    assert not holds(facts_of(Exchange(request=REQUEST), event=event, events=2))


@pytest.mark.parametrize(
    ("source", "column", "expected"),
    [
        ("", 1, "a fact"),
        ("stat >= 400", 1, "a fact"),
        ("status", 7, "one of =="),
        ("status >=", 10, "a number"),
        ("latency > soon", 11, "a time, as 2s"),
        ("status ~ 4", 8, "one of =="),
        ("path > 4", 6, "one of == != ~ !~"),
        ("path ~", 7, "a text in quotes"),
        ('path ~ "x', 8, "the closing quote"),
        ('path ~ "("', 8, "a regular expression"),
        ("(status >= 400", 15, "closing )"),
        ("status >= 400 latency > 2s", 15, "and, or, or the end"),
        ("status >= 400 and", 18, "a fact"),
        ("changed(status)", 9, "JSON Pointer"),
        ("changed(/a", 11, "closing )"),
        ("changed(/a~)", 9, "~"),
        ("status >= 400 %", 15, "means nothing"),
    ],
)
def test_an_error_tells_the_place_and_what_was_expected(source: str, column: int, expected: str) -> None:
    with pytest.raises(ConditionError) as caught:
        parse_condition(source)
    assert caught.value.offset == column - 1
    assert expected in caught.value.expected
    assert str(caught.value).startswith(f"column {column} of ")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("latency > 2", "a time with its unit (ms, s, min, h), as 2s or 2ms"),
        ("ttft > 2kB", "a time with its unit"),
        ("latency > 2m", "2m may be minutes or milliseconds, write 2min or 2ms"),
        ("status > 400s", "a plain number, as 400: status has no unit"),
        ("events > 3ms", "a plain number, as 3: events has no unit"),
        ("size > 2s", "bytes, as 2 or 2kB: s is no unit of size"),
        ("status > 4.0.0", "a number"),
        ("status > 9999999999999999999999999", "a number"),
    ],
)
def test_a_unit_that_is_missing_or_wrong_is_told(source: str, expected: str) -> None:
    with pytest.raises(ConditionError) as caught:
        parse_condition(source)
    assert caught.value.offset == source.index(">") + 2
    assert expected in caught.value.expected


def test_a_huge_condition_is_told_in_part() -> None:
    with pytest.raises(ConditionError) as caught:
        parse_condition("status == 1 and " * 5_000 + "latency > 2 and status == 1" * 100)
    assert str(caught.value).startswith("column 80011 of '…")
    assert "latency > 2 and" in str(caught.value)
    assert len(str(caught.value)) < 200


def test_deep_parentheses_are_an_error() -> None:
    with pytest.raises(ConditionError, match="nested too deeply"):
        parse_condition("(" * 5000 + "status == 1" + ")" * 5000)
    with pytest.raises(ConditionError, match="nested too deeply"):
        parse_condition("not " * 5000 + "changed")


def test_a_pattern_that_backtracks_for_ever_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmdebug.debugger.condition.MATCH_SECONDS", 0.05)
    holds = parse_condition(r'request ~ "(a|a)*c|b$"')
    facts = facts_of(Exchange(request=Request(method="GET", url="http://h", body=b"a" * 40 + b"b")))
    with pytest.raises(SlowExpressionError, match="took too long: write it without nested repeats"):
        holds(facts)
    with pytest.raises(SlowExpressionError):
        parse_condition(r'not request ~ "(a|a)*c|b$"')(facts)
    with pytest.raises(SlowExpressionError, match="took too long at step 1,008: write"):
        first_met([holds], facts, 1_007)


def test_what_a_condition_asks_for_is_known_before() -> None:
    assert parse_condition('path ~ "x" and method == GET').of_request
    assert not parse_condition('path ~ "x" and status == 1').of_request
    assert parse_condition("kind == other or site ~ x").of_diagnosis
    assert parse_condition('body ~ "plain words"').plain == "plain words"
    assert parse_condition('not body ~ "plain words"').plain is None
    assert parse_condition('status == 1 and (body ~ "some.*longer" and request ~ x)').plain == "longer"
    assert parse_condition('body ~ "a" or status == 1').plain is None


@given(st.text("ab.*+?^$[]{}1,-", max_size=10), st.text("ab1,-", max_size=10))
def test_a_required_text_stands_in_whatever_matches(pattern: str, text: str) -> None:
    import regex

    try:
        found = regex.search(pattern, text)
    except regex.error:
        return
    needed = required_text(pattern)
    assert found is None or needed is None or needed in text


def test_a_diagnosis_kept_beside_an_exchange_is_read_whatever_it_is() -> None:
    kept = {"kind": "other", "sites": [{"file": "a.py", "line": 3}, "?"]}
    assert judged_note(kept) == Judged("other", ("a.py:3",))
    others: list[object] = [None, [], {"kind": 3}, {"sites": 4}, "x"]
    for broken in others:
        assert judged_note(broken) is None


_WORDS = st.sampled_from(
    [*NUMBERS, *TEXTS, "changed", "and", "or", "not", "(", ")", "==", "~", "400", "2s", '"x"', "/a"]
)


@given(st.one_of(st.text(max_size=40), st.lists(_WORDS, max_size=9).map(" ".join)))
def test_any_text_is_a_condition_or_an_error_with_its_place(source: str) -> None:
    try:
        found = parse_condition(source)
    except ConditionError as error:
        assert 0 <= error.offset <= len(source)
    else:
        assert isinstance(found, Condition)
        assert found(facts_of(REFUSED, recorded=answer(), diagnosis=JUDGED)) in (True, False)
