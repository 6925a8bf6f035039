from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.formats.errors import FormatError
from llmdebug.formats.har import each_entry, read_document
from llmdebug.formats.har_writing import har_pieces
from llmdebug.formats.loading import open_exchanges
from llmdebug.http.exchange import Exchange, Failure, Request, Response, StreamEvent, Timing


def read(data: bytes) -> list[Exchange]:
    """Raises the error of the first entry that has one."""
    found = []
    for entry in each_entry(read_document(data, ""), ""):
        if isinstance(entry, FormatError):
            raise entry
        found.append(entry)
    return found


def har(*entries: Any) -> bytes:
    return json.dumps({"log": {"version": "1.2", "entries": entries}}).encode()


FULL = {
    "startedDateTime": "2026-11-01T10:00:00.500+01:00",
    "time": 150,
    "comment": "the refused one",
    "request": {
        "method": "POST",
        "url": "https://h/v1/completions",
        "httpVersion": "h2",
        "headers": [
            {"name": ":authority", "value": "h"},
            {"name": "X-a", "value": "1"},
            {"name": "x-A", "value": "2"},
            {"name": "content-type", "value": "application/json"},
        ],
        "postData": {"mimeType": "application/json", "text": '{"a":1,"a":2,"b":"é"}'},
    },
    "response": {
        "status": 400,
        "statusText": "Bad Request",
        "httpVersion": "h2",
        "headers": [{"name": "content-type", "value": "text/event-stream"}],
        "content": {"text": base64.b64encode(b"data: {}\n\n").decode(), "encoding": "base64"},
    },
    "timings": {"blocked": 10, "dns": -1, "connect": 20, "ssl": 5, "send": 0, "wait": 70, "receive": 50},
    "_webSocketMessages": [{"type": "send", "data": "x"}],
}


def test_a_full_entry() -> None:
    [exchange] = read(har(FULL))
    assert exchange.request == Request(
        method="POST",
        url="https://h/v1/completions",
        headers=(("X-a", "1"), ("x-A", "2"), ("content-type", "application/json")),
        body='{"a":1,"a":2,"b":"é"}'.encode(),
        name="the refused one",
    )
    assert exchange.response == Response(
        status=400,
        reason="Bad Request",
        http_version="h2",
        headers=(("content-type", "text/event-stream"),),
        body=b"data: {}\n\n",
        events=(StreamEvent(data="{}", at=0.15),),
    )
    assert exchange.timing == Timing(started_at=1793523600.5, connect=0.03, first_byte=0.1, end=0.15)
    assert exchange.failure is None


def test_the_least_that_an_entry_needs() -> None:
    bare, posting, form = read(
        har(
            {"request": {"url": "http://h/"}},
            {"request": {"url": "http://h/", "postData": {"text": "x", "mimeType": "text/plain"}}, "response": {}},
            {
                "request": {"url": "http://h/", "postData": {"params": [{"name": "a", "value": "b c"}, 5]}},
                "response": {"status": "201", "headers": None, "content": None},
            },
        )
    )
    assert bare.request == Request(method="GET", url="http://h/")
    assert posting.request.method == "POST"
    assert posting.request.headers == (("Content-Type", "text/plain"),)
    assert form.request.body == b"a=b+c&="
    assert form.response == Response(status=201)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("net::ERR_CONNECTION_REFUSED", "refused"),
        ("net::ERR_NAME_NOT_RESOLVED", "dns"),
        ("net::ERR_CERT_AUTHORITY_INVALID", "tls"),
        ("net::ERR_ABORTED", "cancelled"),
        ("", "reset"),
    ],
)
def test_a_status_of_zero_is_a_failure(error: str, kind: str) -> None:
    [found] = read(har({"request": {"url": "http://h/"}, "response": {"status": 0, "_error": error}}))
    assert found.response is None
    assert found.failure is not None and found.failure.kind == kind
    assert error in found.failure.message


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (5, "no JSON object"),
        ({}, "no URL"),
        ({"request": {"url": ""}}, "no URL"),
        (
            {
                "request": {"url": "http://h/"},
                "response": {"status": 200, "content": {"text": "x", "encoding": "base64"}},
            },
            "base64",
        ),
        ({"request": {"url": "http://h/", "postData": {"text": "!!!!", "encoding": "base64"}}}, "base64"),
        ({"request": {"url": "http://h/", "postData": {"text": {"model": "m"}}}}, "JSON where its text"),
        ({"request": {"url": "http://h/", "postData": "x"}}, "postData is no JSON object"),
        ({"request": {"url": "http://h/", "headers": {"a": "b"}}}, "headers are no list"),
        ({"request": {"url": "http://h/", "method": 5}}, "method 5 is no text"),
        ({"request": {"url": "http://h/"}, "response": {"status": "good"}}, "status 'good'"),
        ({"request": {"url": "http://h/"}, "response": {"status": 1000}}, "status 1000"),
        ({"request": {"url": "http://h/"}, "response": {"status": True}}, "status True"),
        ({"request": {"url": "http://h/"}, "response": 5}, "response is no JSON object"),
    ],
)
def test_errors_name_the_entry(entry: Any, told: str) -> None:
    with pytest.raises(FormatError, match=told) as caught:
        read(har(FULL, entry))
    assert caught.value.entry == 2
    assert "entry 2" in str(caught.value)


@pytest.mark.parametrize("data", [b"[]", b"{}", b'{"log": []}', b'{"log": {"entries": {}}}', b"5"])
def test_other_json_is_no_har(data: bytes) -> None:
    with pytest.raises(FormatError, match="/log/entries"):
        read(data)


def test_text_that_is_no_json_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "x.har"
    file.write_text('{"log":\n{"entries": [}')
    with pytest.raises(FormatError) as caught:
        open_exchanges(str(file))
    assert caught.value.line == 2
    with pytest.raises(FormatError, match="no such file"):
        open_exchanges(str(tmp_path / "none.har"))


EXCHANGES = [
    Exchange(
        request=Request(
            method="POST", url="http://h/?a=b", headers=(("X-a", "1"), ("x-A", "2")), body=b"\xff\x00", name="n"
        ),
        response=Response(status=200, reason="OK", headers=(("Content-Type", "application/json"),), body="é".encode()),
        timing=Timing(started_at=1793523600.5, connect=0.01, first_byte=0.1, end=0.2),
    ),
    Exchange(
        request=Request(method="GET", url="http://h/"),
        failure=Failure(kind="refused", message="Nobody listens."),
        timing=Timing(started_at=1793523601.0),
    ),
    Exchange(
        request=Request(method="GET", url="http://h/"),
        response=Response(status=500, body=b"\x80"),
        failure=Failure(kind="incomplete", message="It broke off."),
        timing=Timing(started_at=1793523601.0, first_byte=0.5, end=0.5),
    ),
]


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    data = b"".join(har_pieces(EXCHANGES))
    assert read(data)[0].timing == EXCHANGES[0].timing
    file = tmp_path / "x.har"
    file.write_bytes(data)
    opened = open_exchanges(str(file))
    kept = [opened.exchange(number) for number in range(len(opened))]
    assert [one.request for one in kept] == [one.request for one in EXCHANGES]
    assert [one.response for one in kept] == [one.response for one in EXCHANGES]
    assert [one.failure for one in kept] == [one.failure for one in EXCHANGES]


BROKEN = {"request": {"url": "http://h/", "postData": {"text": "!", "encoding": "base64"}}}
UNSENDABLE = {"request": {"url": "wss://h/socket"}, "response": {"status": 101}}


def test_a_bad_entry_is_listed_with_its_problem_and_the_others_work(tmp_path: Path) -> None:
    file = tmp_path / "x.har"
    file.write_bytes(har(FULL, BROKEN, UNSENDABLE))
    opened = open_exchanges(str(file))
    assert [bool(opened.problem(number)) for number in range(3)] == [False, True, True]
    assert opened.problem(1).startswith(f"{file}, entry 2: The entry's body is no base64")
    assert "entry 3: 'wss://h/socket' is no http" in opened.problem(2)
    assert opened.row(1).failure == "bad_request"
    assert opened.row(2).status == 101
    file.write_bytes(har(FULL, {"request": {"url": "http://h/\0x"}}))
    assert "holds a control character" in open_exchanges(str(file)).problem(1)
    file.write_bytes(har(FULL, BROKEN, UNSENDABLE))
    opened = open_exchanges(str(file))
    assert opened.warnings[0].startswith("2 of 3 entries cannot be sent")
    file.write_bytes(har(BROKEN, BROKEN))
    with pytest.raises(FormatError, match="entry 1: The entry's body is no base64"):
        open_exchanges(str(file))


NAMES = (
    *("request", "response", "url", "method", "headers", "name", "value", "postData", "text", "encoding"),
    *("status", "content", "timings", "wait", "connect", "time", "startedDateTime", "params", "_failure"),
)
PIECES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(NAMES),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(st.lists(PIECES, max_size=3))
def test_any_entries_give_exchanges_or_a_format_error(entries: list[Any]) -> None:
    try:
        found = read(har(*entries))
    except FormatError as error:
        assert error.entry is not None
    else:
        assert b"".join(har_pieces(found))
