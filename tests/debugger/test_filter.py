from __future__ import annotations

from pathlib import Path

import pytest

from llmdebug.debugger.condition import SlowExpressionError, parse_condition
from llmdebug.debugger.filter import matching
from llmdebug.formats.exchanges import Exchanges, Loaded
from llmdebug.formats.lines_index import RecordedLines
from llmdebug.formats.loading import load_exchanges
from llmdebug.http.exchange import Exchange, Failure, Request, Response, StreamEvent, Timing
from llmdebug.recording.history import History

BODIES = [b'{"text": "a needle"}', b"hay", b"\xff needle", b'{"error": {"message": "no"}}', b""]
CONDITIONS = {
    "status >= 400": [1],
    "body ~ needle": [0, 2],
    'body ~ "ne+dle"': [0, 2],
    'request ~ "\\"n\\": [13]"': [1, 3],
    "outcome == refused": [1, 3],
    "kind == missing_field": [1],
    "site ~ a.py:7": [1],
    "latency > 250ms and not body ~ needle": [3, 4],
    "failure == dns": [5],
    "size == 0": [4],
    "changed": [],
    "outcome == answered": [0, 2, 4, 6],
    "outcome == no_answer": [5],
    "events == 2": [6],
    'event == "[DONE]"': [6],
    "event ~ needle": [],
}


def filled(tmp_path: Path) -> Path:
    with History(file=tmp_path / "r.jsonl") as history:
        for number, body in enumerate(BODIES):
            request = Request(method="POST", url="http://h/v1", body=f'{{"n": {number}}}'.encode())
            name = history.record(
                Exchange(
                    request=request,
                    response=Response(status=400 if number == 1 else 200, body=body),
                    timing=Timing(started_at=0, end=number / 10),
                )
            )
            if number == 1:
                history.note(name, "diagnosis", {"kind": "missing_field", "sites": [{"file": "a.py", "line": 7}]})
        failed = Exchange(request=Request(method="GET", url="http://h"), failure=Failure(kind="dns", message="no"))
        history.record(failed)
        events = (StreamEvent(data="{}", at=0.1), StreamEvent(data="[DONE]", at=0.2))
        stream = Response(
            status=200,
            headers=(("Content-Type", "text/event-stream"),),
            body=b"data: {}\n\ndata: [DONE]\n\n",
            events=events,
        )
        history.record(Exchange(request=Request(method="GET", url="http://h"), response=stream))
    return tmp_path / "r.jsonl"


def found(exchanges: Exchanges) -> dict[str, list[int]]:
    return {source: matching(parse_condition(source), exchanges) for source in CONDITIONS}


def test_conditions_filter_a_recording_that_is_not_in_memory(tmp_path: Path) -> None:
    assert found(RecordedLines(filled(tmp_path))) == CONDITIONS


def test_they_filter_alike_what_is_in_memory(tmp_path: Path) -> None:
    of_notes = ("kind == missing_field", "site ~ a.py:7")
    expected = {source: [] if source in of_notes else numbers for source, numbers in CONDITIONS.items()}
    assert found(Loaded(load_exchanges(filled(tmp_path)))) == expected


def test_an_expression_that_takes_too_long_is_told_with_its_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llmdebug.debugger.condition.MATCH_SECONDS", 0.05)
    with History(file=tmp_path / "slow.jsonl") as history:
        for body in (b"hay", b"a" * 40 + b"b"):
            request = Request(method="GET", url="http://h")
            history.record(Exchange(request=request, response=Response(status=200, body=body)))
    with pytest.raises(SlowExpressionError, match="too long at step 2"):
        matching(parse_condition('body ~ "(a|a)*c|b$"'), RecordedLines(tmp_path / "slow.jsonl"))


def test_a_filter_can_be_cancelled(tmp_path: Path) -> None:
    recorded = RecordedLines(filled(tmp_path))
    assert matching(parse_condition("status != 0"), recorded, cancelled=lambda: True) == []
