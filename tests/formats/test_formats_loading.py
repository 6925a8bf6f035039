from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmdebug.formats.errors import FormatError
from llmdebug.formats.jsonlines import (
    NoteRecord,
    Record,
    RecordError,
    RequestRecord,
    answer_record,
    decode_record,
    encode_record,
    exchange_of,
    written_request,
)
from llmdebug.formats.loading import load_exchanges, open_exchanges
from llmdebug.http.exchange import Exchange, Failure, Request, Response, StreamEvent, Timing

STREAMED = Exchange(
    request=Request(method="POST", url="http://h/", headers=(("a", "1"), ("A", "2")), body=b"\xff"),
    response=Response(
        status=200,
        headers=(("Content-Type", "text/event-stream"),),
        body="data: é\n\ndata: b".encode(),
        events=(StreamEvent(data="é", at=0.5), StreamEvent(data="b", at=1.25)),
    ),
    failure=Failure(kind="total_timeout", message="Too slow."),
    timing=Timing(started_at=7.0, connect=0.1, first_byte=0.2, end=1.25),
)
SENT = Exchange(request=Request(method="GET", url="http://h/", headers=(("Host", "h"),)), timing=Timing(started_at=8.0))


def lines(*records: Record) -> bytes:
    return b"".join(encode_record(record) for record in records)


def recorded() -> bytes:
    written = written_request(STREAMED.request)
    asked = written_request(Request(method="GET", url="http://u@h/"))
    return lines(
        RequestRecord(id="1", at=7.0, request=written),
        RequestRecord(id="2", at=8.0, request=asked),
        answer_record("2", SENT, asked),
        NoteRecord(id="1", name="diagnosis", at=9.0, value={"x": 2**70}),
        answer_record("1", STREAMED, written),
    )


def test_a_recording_gives_its_exchanges_in_the_order_of_the_requests(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_bytes(recorded())
    assert load_exchanges(file) == [STREAMED, SENT]
    assert load_exchanges(b"\n" + recorded()) == [STREAMED, SENT]


def test_a_request_without_an_answer_stands_alone() -> None:
    record = RequestRecord(id="1", at=7.0, request=written_request(STREAMED.request))
    assert exchange_of(record, None) == Exchange(request=STREAMED.request, timing=Timing(started_at=7.0))


def test_a_torn_last_line_is_left_out_and_a_bad_one_named() -> None:
    assert load_exchanges(recorded() + b'{"record":"ans') == [STREAMED, SENT]
    with pytest.raises(FormatError) as caught:
        load_exchanges(recorded() + b'{"record":"ans\n' + recorded())
    assert caught.value.line == 6


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("a", b" \n", "The file is empty."),
        ("a.jsonl", b"null\nnull\n", "It looks like lines of the JSON value null."),
        ("a", b"3", "It looks like the JSON value 3."),
        ("a.jsonl", b"hello", "It looks like text that begins with 'hello'."),
        ("a", b'{"prompt": "x", "id": 1}\n{}\n', "It looks like lines of a JSON object with prompt, id."),
        ("a", b'{\n "openapi": "3",\n "paths": {}\n}', "It looks like a JSON object with openapi, paths."),
        ("a", b"[1, 2]", "It looks like a JSON list of 2."),
        ("a", b"{}", "It looks like an empty JSON object."),
        ("a", b"\x1f\x8b\x08\0\0", "It looks like gzip data: unpack it first."),
        ("a", b"\x00\x01", "It looks like binary data."),
        ("a.har", '{"log": 1}'.encode("utf-16"), "is not UTF-8. It looks like UTF-16 text: write it as UTF-8."),
        ("a.har", b'{"a": 1}', "no list at /log/entries. It looks like a JSON object with a."),
        ("a", b'{"record": "request", "id": 5}\n', "a:1: This line is no record of llmdebug: Expected `str`"),
    ],
)
def test_a_foreign_file_is_told_by_what_it_looks_like(tmp_path: Path, name: str, data: bytes, told: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FormatError) as caught:
        open_exchanges(str(tmp_path / name))
    assert told in str(caught.value)


@given(st.binary(max_size=60), st.sampled_from(["jsonl", "har", "http", "sh", "txt"]))
@settings(max_examples=300)
def test_any_bytes_are_exchanges_or_a_sentence(data: bytes, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"f.{suffix}"
        file.write_bytes(data)
        try:
            opened = open_exchanges(str(file))
        except FormatError as error:
            assert error.message
        else:
            assert [opened.problem(number) for number in range(len(opened))]


def test_text_that_json_cannot_hold_is_kept_as_far_as_it_can_be() -> None:
    exchange = Exchange(
        request=Request(method="GET", url="http://h/\ud800", headers=(("a", "\ud800"),)),
        response=Response(status=200, reason="\ud800"),
    )
    written = written_request(exchange.request)
    records = lines(RequestRecord(id="1", at=1.0, request=written), answer_record("1", exchange, written))
    [read] = load_exchanges(records)
    assert read.request.url == "http://h/?"
    assert read.response is not None and read.response.reason == "?"


@given(st.binary(max_size=80))
def test_any_line_is_a_record_or_an_error(line: bytes) -> None:
    try:
        decode_record(line)
    except RecordError as error:
        assert str(error)


@given(st.binary(max_size=60))
def test_bodies_come_back_byte_for_byte(body: bytes) -> None:
    request = Request(method="POST", url="http://h/", body=body)
    record = decode_record(encode_record(RequestRecord(id="1", at=0.0, request=written_request(request))))
    assert isinstance(record, RequestRecord)
    assert exchange_of(record, None).request == request


def test_deep_nesting_in_a_line_is_an_error() -> None:
    with pytest.raises(RecordError):
        decode_record(b'{"record":"note","id":"1","name":"n","at":1,"value":' + b"[" * 100_000)


def test_a_request_of_an_http_file_that_cannot_be_filled_in_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "a.http"
    file.write_text("### one\nGET http://h/1\n\n### two\nGET http://h/{{undef}}\n\n### three\nGET http://h/3\n")
    opened = open_exchanges(str(file))
    assert [opened.row(number).url for number in range(3)] == ["http://h/1", "", "http://h/3"]
    told = f"{file}:5: The variable undef is not defined."
    assert [opened.problem(number) for number in range(3)] == ["", told, ""]
    assert opened.warnings == (f"1 of 3 entries cannot be sent; they are passed over. {told}",)


def test_a_curl_command_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "a.sh"
    file.write_text('curl http://h/1\ncurl http://h/2 -H "X: $(date)"\ncurl http://h/3 -d @missing\ncurl http://h/4\n')
    opened = open_exchanges(str(file))
    assert [opened.row(number).url for number in range(4)] == ["http://h/1", "", "", "http://h/4"]
    problems = [opened.problem(number) for number in range(4)]
    assert problems[0] == problems[3] == ""
    assert problems[1].startswith(f"{file}:2: A part of this command is the output of another")
    assert problems[2] == f"{file}:3: The file missing: There is no such file."


def test_where_no_entry_can_be_read_the_first_is_the_error(tmp_path: Path) -> None:
    file = tmp_path / "a.http"
    file.write_text("GET http://h/{{undef}}\n")
    with pytest.raises(FormatError, match="The variable undef is not defined"):
        open_exchanges(str(file))
