from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.formats.errors import FormatError
from llmdebug.formats.har import HarEntry, read_har, write_har
from llmdebug.formats.loading import load_exchanges
from llmdebug.http.exchange import Exchange, Failure, Request, Response, StreamEvent, Timing


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
    [entry] = read_har(har(FULL))
    exchange = entry.exchange
    assert (entry.number, entry.comment) == (1, "the refused one")
    assert exchange.request == Request(
        method="POST",
        url="https://h/v1/completions",
        headers=(("X-a", "1"), ("x-A", "2"), ("content-type", "application/json")),
        body='{"a":1,"a":2,"b":"é"}'.encode(),
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
    bare, posting, form = read_har(
        har(
            {"request": {"url": "http://h/"}},
            {"request": {"url": "http://h/", "postData": {"text": "x", "mimeType": "text/plain"}}, "response": {}},
            {
                "request": {"url": "http://h/", "postData": {"params": [{"name": "a", "value": "b c"}, 5]}},
                "response": {"status": "201", "headers": None, "content": None},
            },
        )
    )
    assert bare.exchange.request == Request(method="GET", url="http://h/")
    assert posting.exchange.request.method == "POST"
    assert posting.exchange.request.headers == (("Content-Type", "text/plain"),)
    assert form.exchange.request.body == b"a=b+c&="
    assert form.exchange.response == Response(status=201)


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
    [entry] = read_har(har({"request": {"url": "http://h/"}, "response": {"status": 0, "_error": error}}))
    assert entry.exchange.response is None
    assert entry.exchange.failure is not None and entry.exchange.failure.kind == kind
    assert error in entry.exchange.failure.message


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
    ],
)
def test_errors_name_the_entry(entry: Any, told: str) -> None:
    with pytest.raises(FormatError, match=told) as caught:
        read_har(har(FULL, entry))
    assert caught.value.entry == 2
    assert "entry 2" in str(caught.value)


@pytest.mark.parametrize("data", [b"[]", b"{}", b'{"log": []}', b'{"log": {"entries": {}}}', b"5"])
def test_other_json_is_no_har(data: bytes) -> None:
    with pytest.raises(FormatError, match="/log/entries"):
        read_har(data)


def test_text_that_is_no_json_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "x.har"
    file.write_text('{"log":\n{"entries": [}')
    with pytest.raises(FormatError) as caught:
        read_har(file)
    assert caught.value.line == 2
    with pytest.raises(FormatError, match="no such file"):
        read_har(tmp_path / "none.har")


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
    data = write_har([HarEntry(exchange=EXCHANGES[0], comment="c"), *EXCHANGES[1:]])
    entries = read_har(data)
    assert [entry.exchange.request for entry in entries] == [exchange.request for exchange in EXCHANGES]
    assert [entry.exchange.response for entry in entries] == [exchange.response for exchange in EXCHANGES]
    assert [entry.exchange.failure for entry in entries] == [exchange.failure for exchange in EXCHANGES]
    assert entries[0].exchange.timing == EXCHANGES[0].timing
    assert entries[0].comment == "c"
    file = tmp_path / "x.har"
    file.write_bytes(data)
    assert load_exchanges(file) == [entry.exchange for entry in entries]


def test_secrets_are_written_only_when_asked_for() -> None:
    exchange = Exchange(
        request=Request(method="GET", url="http://h/", headers=(("Authorization", "Bearer sk-12345678"),)),
        response=Response(status=401, body=b"bad key sk-12345678"),
    )
    assert b"sk-12345678" not in write_har([exchange])
    assert write_har([exchange], keep_secrets=True).count(b"sk-12345678") == 2


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
        found = read_har(har(*entries))
    except FormatError as error:
        assert error.entry is not None
    else:
        write_har(found)
