"""Bodies of every size and kind as rows."""

from __future__ import annotations

import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.tui.views.body import BodyDocument, BodyRows, HexRows, formatted_json
from llmdebug.tui.views.rows import Rows, plain

values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


def text_of(rows: Rows) -> list[str]:
    return [plain(rows.row(index)) for index in range(len(rows))]


@given(values)
def test_formatting_keeps_the_value(value: object) -> None:
    formatted = formatted_json(json.dumps(value).encode())
    if isinstance(value, dict | list | str):
        assert formatted is not None
        assert json.loads(formatted) == value


def test_number_spellings_and_repeated_keys_stay() -> None:
    body = b'{"a": 1.50, "a": 1e3, "ids": [1, 2, 3]}'
    assert text_of(BodyDocument(body).rows(60)) == ["{", '  "a": 1.50,', '  "a": 1e3,', '  "ids": [1, 2, 3]', "}"]


@given(values, st.data())
def test_folding_and_unfolding_comes_back(value: object, data: st.DataObject) -> None:
    document = BodyDocument(json.dumps([value, {"k": [{"x": 1}]}]).encode())
    before = text_of(document.rows(200))
    lines = data.draw(st.lists(st.integers(0, len(document.lines) - 1), max_size=4, unique=True))
    folded = [line for line in lines if document.fold(line)]
    rows = document.rows(200)
    assert isinstance(rows, BodyRows)
    for index in range(len(rows)):
        assert rows.index_of(rows.line_at(index)) <= index
    for line in folded:
        if line in document.folded:
            document.fold(line)
    assert text_of(document.rows(200)) == before


def test_large_and_small_bodies_fold_alike() -> None:
    value = {"a": [{"b": {"c": [n, "x"]}} for n in range(30)], "z": {"y": [{"q": 1}]}}
    small = BodyDocument(json.dumps(value).encode())
    large = BodyDocument(json.dumps(value | {"pad": "x" * 70_000}).encode())
    for line in (1, 2, 5):
        assert small.fold(line) == large.fold(line)
    small_rows, large_rows = small.rows(500), large.rows(500)
    shown = [plain(large_rows.row(index)) for index in range(len(large_rows))]
    assert text_of(small_rows)[:-2] == shown[: len(small_rows) - 2]
    assert isinstance(large_rows, BodyRows)
    for index in range(len(large_rows)):
        assert large_rows.index_of(large_rows.line_at(index)) == index


def test_search_opens_the_fold_it_finds_something_in() -> None:
    document = BodyDocument(b'{"a": {"deep": "needle"}, "b": 1}')
    document.fold(1)
    rows = document.rows(60)
    found = rows.find("needle", 0, 1)
    assert found is not None
    assert "needle" in plain(rows.row(found))


def test_binary_is_hexadecimal() -> None:
    body = bytes(range(256)) * 4
    rows = BodyDocument(body).rows(80)
    assert isinstance(rows, HexRows)
    assert plain(rows.row(0)).startswith("00000000  00 01 02 03")
    assert rows.find("ABC", 0, 1) == 4


@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe not utf-8", b"{not json", b"[" * 5000, b"\x1b[2J\x1b[31m", b"\r\n\r\n"]
)
def test_odd_bodies_are_shown(body: bytes) -> None:
    rows = BodyDocument(body).rows(40)
    assert all("\x1b" not in line for line in text_of(rows))


def test_a_million_lines_are_ready_at_once() -> None:
    body = msgspec.json.encode([{"n": n} for n in range(340_000)])
    began = time.process_time()
    document = BodyDocument(body)
    rows = document.rows(80)
    rows.row(len(rows) - 1)
    taken = time.process_time() - began
    assert len(rows) > 1_000_000
    assert taken < 5
    assert rows.find('"n": 339999', 0, 1) is not None


def test_one_endless_line_is_not_read_whole() -> None:
    rows = BodyDocument(b"[" + b"1, " * 2_000_000 + b"1]").rows(80)
    began = time.process_time()
    for _ in range(24):
        rows.row(0)
    assert time.process_time() - began < 2
