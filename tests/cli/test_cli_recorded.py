from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.cli.exchange_json import exchange_json
from llmdebug.cli.recorded import STDIN, BareAnswer, recorded
from llmdebug.formats.errors import FormatError
from llmdebug.http.exchange import Exchange, Request, Response

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
ENTRY = st.fixed_dictionaries(
    {},
    optional={
        "request": JSON | st.fixed_dictionaries({"url": JSON | st.just("http://h/")}, optional={"postData": JSON}),
        "response": JSON | st.fixed_dictionaries({"status": JSON | st.integers(0, 999)}, optional={"content": JSON}),
        "time": JSON,
        "timings": JSON,
    },
)


def read(data: bytes, bare: BareAnswer | None = None) -> Iterator[Exchange | FormatError]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        yield from recorded(STDIN, bare or BareAnswer())


@given(st.binary() | st.text().map(str.encode) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_exchanges_or_a_sentence(data: bytes) -> None:
    try:
        found = list(read(data))
    except FormatError as error:
        assert "stdin" in str(error) or "(text)" in str(error)
    else:
        assert all(isinstance(item, Exchange | FormatError) for item in found)


@given(st.lists(ENTRY | JSON, max_size=5))
def test_each_entry_of_a_har_file_gives_one_item(entries: list[object]) -> None:
    found = list(read(json.dumps({"log": {"entries": entries}}).encode()))
    assert len(found) == len(entries)
    for number, item in enumerate(found, start=1):
        assert isinstance(item, Exchange) or item.entry == number


def test_what_the_user_tells_of_an_answer_wins() -> None:
    request = Request(method="POST", url="http://h/v1/completions")
    (plain,) = read(b"no such model")
    (told,) = read(b"Error code: 400 - {'detail': 'no'}", BareAnswer(request=request, status=422))
    assert isinstance(plain, Exchange) and isinstance(told, Exchange)
    assert plain.response is not None and told.response is not None
    assert (plain.response.status, plain.response.body) == (400, b"no such model")
    assert (told.request, told.response.status, told.response.body) == (request, 422, b'{"detail": "no"}')


def test_what_send_printed_as_json(tmp_path: Path) -> None:
    exchange = Exchange(
        request=Request(method="POST", url="http://h/v1/x", body=b'{"n": 1}'),
        response=Response(status=400, headers=(("A", "b"),), body=b"no"),
    )
    line = msgspec.json.encode(exchange_json(exchange, "refused", id_="1"))
    file = tmp_path / "ex.jsonl"
    file.write_bytes(line + b"\n" + line + b"\n")
    found = list(recorded(str(file), BareAnswer()))
    assert [(e.request.body, e.response) for e in found if isinstance(e, Exchange)] == 2 * [
        (exchange.request.body, exchange.response)
    ]
    file.write_bytes(line + b"\n" + line[:-20])
    with pytest.raises(FormatError, match="no exchange that llmdebug printed"):
        list(recorded(str(file), BareAnswer()))
