from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.formats.errors import FormatError
from llmdebug.formats.exchanges import row_of
from llmdebug.formats.lines_index import RecordedLines
from llmdebug.formats.loading import load_exchanges
from llmdebug.http.exchange import Exchange, Failure, Request, Response, Timing
from llmdebug.recording.history import History


def exchange(number: int, text: str = "") -> Exchange:
    request = Request(method="POST", url="http://h/v1", body=f'{{"n": {number}}}'.encode(), name=f"r{number}")
    timing = Timing(started_at=1000.0 + number, first_byte=0.25, end=0.5)
    return Exchange(request=request, response=Response(status=200 + number, body=text.encode()), timing=timing)


FAILED = Exchange(
    request=Request(method="GET", url="http://h/"),
    failure=Failure(kind="dns", message="no such host"),
    timing=Timing(started_at=2000.0, end=1.0),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with History(file=tmp_path / "r.jsonl") as history:
        history.note(history.record(exchange(0, "the needle")), "diagnosis", {"kind": "other"})
        history.record(exchange(1, "hay"))
        history.record(FAILED)
        history.begin(Request(method="GET", url="http://h/needle"))
    return tmp_path / "r.jsonl"


def test_rows_and_exchanges_are_those_of_the_file(file: Path) -> None:
    recorded = RecordedLines(file)
    whole = load_exchanges(file)
    assert [recorded.exchange(number) for number in range(len(recorded))] == whole
    assert [recorded.answer(number) for number in range(len(recorded))] == [one.response for one in whole]
    assert recorded.row(0) == row_of(whole[0])
    assert recorded.row(2) == row_of(FAILED)
    assert recorded.row(3).status is None
    assert [recorded.answered(number) for number in range(4)] == [True, True, True, False]
    assert recorded.warnings == ()


def test_notes_are_found_beside_their_exchange(file: Path) -> None:
    recorded = RecordedLines(file)
    assert recorded.noted("diagnosis") == [0]
    assert recorded.note(0, "diagnosis") == {"kind": "other"}
    assert recorded.note(1, "diagnosis") is None
    assert recorded.note(0, "other") is None


def test_a_step_that_was_sent_again_after_a_crash_is_there_once(tmp_path: Path) -> None:
    def step(history: History, run: str, number: int, *, answered: bool = True) -> None:
        sent = exchange(number, f"text {run}{number}")
        name = history.begin(sent.request, {"replay": {"run": run, "step": number, "file": "f", "of": 3}})
        if answered:
            history.finish(name, sent)

    with History(file=tmp_path / "r.jsonl") as history:
        history.begin(Request(method="GET", url="http://h/alone"))
        step(history, "a", 0)
        step(history, "a", 1, answered=False)
        step(history, "b", 1, answered=False)
        step(history, "a", 1, answered=False)
        step(history, "b", 2, answered=False)
        history.note(history.record(FAILED), "replay", "wrong")
        step(history, "a", 1)
        step(history, "a", 2, answered=False)
    recorded = RecordedLines(tmp_path / "r.jsonl")
    assert [recorded.answered(number) for number in range(len(recorded))] == [
        *(False, True, False, False, True, True, False)
    ]
    texts = [recorded.answer_text(number) for number in range(len(recorded))]
    assert texts == [None, "text a0", None, None, None, "text a1", None]
    assert [recorded.row(number).failure for number in (4, 5)] == ["dns", ""]
    assert recorded.exchange(5) == exchange(1, "text a1")
    assert (recorded.note(5, "replay")["run"], recorded.noted("replay")) == ("a", [1, 2, 3, 4, 5, 6])
    assert recorded.holding("text a1") == [5]


def test_a_text_is_found_without_reading_each_exchange(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = RecordedLines(file)
    assert recorded.holding("needle") == [0, 3]
    assert recorded.holding("nothing") == []
    assert recorded.holding('"n"') is None
    assert recorded.holding("ü") is None
    monkeypatch.setattr("llmdebug.formats.lines_index._SEARCHED", 7)
    assert recorded.holding("needle") == [0, 3]
    assert recorded.holding("e") == [0, 1, 2, 3]


def test_a_torn_line_is_passed_over_and_told(file: Path) -> None:
    lines = file.read_bytes().split(b"\n")
    torn = [*lines[:3], lines[3][:40], *lines[4:]]
    file.write_bytes(b"\n".join(torn))
    recorded = RecordedLines(file)
    assert [recorded.row(number).url for number in range(len(recorded))] == [
        "http://h/v1",
        "http://h/",
        "http://h/needle",
    ]
    assert recorded.warnings == (f"{file}:4: this line is damaged; it is passed over.",)


def test_a_file_that_begins_otherwise_is_no_recording(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(b'\n{"a": 1}\n')
    with pytest.raises(FormatError, match=r"x\.jsonl:2: This line is no record"):
        RecordedLines(file)
    with pytest.raises(FormatError, match="cannot be read"):
        RecordedLines(tmp_path / "none.jsonl")


def test_a_file_that_shrinks_meanwhile_is_told(file: Path) -> None:
    recorded = RecordedLines(file)
    file.write_bytes(b"")
    with pytest.raises(FormatError, match="changed while"):
        recorded.exchange(1)


RECORD = b'{"record":"request","id":"1","at":1e300,"request":{"method":"GET","url":"http://h"}}\n'
PIECES = st.sampled_from(
    [
        RECORD,
        b'{"record":"answer","id":"1","response":{"status":70000,"body":{"base64":"?"}},"timing":{"started_at":-1e99}}\n',
        b'{"record":"answer","id":"2"}\n',
        b'{"record":"note","id":"1","name":"n","at":0,"value":[1]}\n',
        b'{"record":"answer","id":"1","failure":{"kind":"no such kind","message":3}}\n',
        b"\n",
        b"[" * 2000 + b"\n",
        b'{"record"',
        b"\xff\x00\n",
    ]
)


@given(st.lists(PIECES, max_size=6))
def test_any_lines_are_rows_or_an_error(pieces: list[bytes]) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(pieces))
        file.flush()
        try:
            recorded = RecordedLines(file.name)
        except FormatError:
            return
        for number in range(len(recorded)):
            assert recorded.row(number).method == "GET"
            for read in (recorded.exchange, recorded.answer, recorded.answer_text, recorded.request_text):
                with suppress(FormatError):
                    read(number)
            assert recorded.note(number, "n") in (None, [1])


def test_progress_is_told_in_bytes(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmdebug.formats.lines_index._TOLD_EVERY", 1)
    told: list[tuple[int, int]] = []
    RecordedLines(file, progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (file.stat().st_size, file.stat().st_size)


def test_a_record_of_wrong_types_is_listed_with_its_problem(tmp_path: Path) -> None:
    good = '{"record":"request","id":"%s","at":1,"request":{"method":"%s","url":"%s","body":%s}}\n'
    file = tmp_path / "r.jsonl"
    bodies = [("GET", "http://h/", "{}"), ("GET", "http://h/", '{"base64":"!"}'), ("GET", "http://h/", '{"text":5}')]
    others = [("G T", "http://h/", "{}"), ("GET", "h/x", "{}")]
    file.write_text("".join(good % (number, *each) for number, each in enumerate([*bodies, *others])))
    recorded = RecordedLines(file)
    told = [recorded.problem(number).removeprefix(f"{file}, ") for number in range(5)]
    assert told[0] == ""
    assert [one.partition(":")[0] for one in told[1:]] == ["entry 2", "entry 3", "entry 4", "entry 5"]
    assert "no base64" in told[1]
    assert "Expected `str`, got `int`" in told[2]
    assert "'G T' is no HTTP method" in told[3]
    assert "'h/x' is no http" in told[4]
    assert [recorded.row(number).failure for number in range(5)] == ["", "", "", "bad_request", "bad_request"]
    stands_in = recorded.exchange(1)
    assert stands_in.failure is not None and stands_in.failure.message == recorded.problem(1)
