from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.cli.exchange_json import exchange_json
from llmdebug.cli.recorded import STDIN, recorded
from llmdebug.cli.standalone import BareAnswer
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


RECORDED = b'{"record":"request","id":"1","at":1.0,"request":{"method":"GET","url":"http://h/"}}\n'


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (RECORDED[7:] + RECORDED, "stdin:1: This line is no record"),
        (b'{"record":"request","id":1}\n', "stdin:1: This line is no record: Expected `str`, got `int`"),
        (b'{"record": {"errorCode": "x"}, "datasetVersion": 1}\n', "stdin:1: This line is no record"),
        (RECORDED + b'{"record":"response"}\n' + RECORDED, "stdin:2: This line is no record"),
        (b'{"schema":"llmdebug.diagnosis/1","summary":"x"}\n', "This is llmdebug.diagnosis/1, which llmdebug printed"),
        (b'{"custom_id":"a","method":"POST","url":"/v1/x","body":{}}\n', "an OpenAI batch"),
        (b'{"log": {"entries": [{"request": ', "stdin"),
        (b"\x1f\x8b\x08\0binary", "gzip data"),
        (b"\0\1\2", "binary data"),
        (
            b'{"model": "m", "messages": []}',
            "tells of no error, so it is not taken for a refusal. It looks like a JSON o",
        ),
        (b'{"a": 1}\n{"b": 2}\n', "lines of a JSON object with a"),
        (b"[1, 2, 3]", "a JSON list of 3"),
        (b"17", "the JSON value 17"),
    ],
)
def test_what_is_no_answer_is_not_taken_for_one(data: bytes, told: str) -> None:
    """No status is invented for it; its place is told where it is a damaged recording."""
    with pytest.raises(FormatError, match=re.escape(told)):
        list(read(data))


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".http", ".sh"])
def test_a_file_whose_name_says_what_it_is_holds_no_answer_s_text(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"some{suffix}"
    file.write_text("model not found")
    with pytest.raises(FormatError, match=re.escape(str(file))):
        list(recorded(str(file), BareAnswer()))


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b'{"error": "no such model"}', 400),
        (b'{"detail": [{"loc": ["body", "prompt"], "msg": "Field required", "type": "missing"}]}', 400),
        (b'{"error": {"message": "no", "code": 404}}', 404),
        (b"no such model", 400),
        (b'{"error": "it was cut o', 400),
    ],
)
def test_texts_of_refusals_stay_what_they_are(data: bytes, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    """An assumed status is said to be one."""
    (found,) = read(data)
    assert isinstance(found, Exchange) and found.response is not None
    assert found.response.status == status
    assert ("400 is assumed" in capsys.readouterr().err) is (status == 400)


def test_a_stated_status_makes_any_value_an_answer() -> None:
    (found,) = read(b'{"choices": []}', BareAnswer(status=200))
    assert isinstance(found, Exchange) and found.response is not None and found.response.status == 200
