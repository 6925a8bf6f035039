from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.jsontext import pointer as pointers
from llmdebug.jsontext.parse import MAX_DEPTH, JsonError, line_and_column, parse_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)

TEXT = """{
  "model": "m",
  "a/b": {"~": [10, {"x": "} ] , \\" "}]},
  "list": [
    1,
    []
  ]
}
"""


@pytest.mark.parametrize(
    ("pointer", "position", "value"),
    [
        ("", (1, 1), None),
        ("/model", (2, 3), '"m"'),
        ("/a~1b", (3, 3), '{"~": [10, {"x": "} ] , \\" "}]}'),
        ("/a~1b/~0/0", (3, 17), "10"),
        ("/a~1b/~0/1/x", (3, 22), '"} ] , \\" "'),
        ("/list", (4, 3), "[\n    1,\n    []\n  ]"),
        ("/list/1", (6, 5), "[]"),
    ],
)
def test_where_a_value_stands(pointer: str, position: tuple[int, int], value: str | None) -> None:
    document = parse_json(TEXT)
    assert document.position(pointer) == position
    span = document.span(pointer)
    assert span is not None
    assert value is None or TEXT[span.start : span.end] == value


@pytest.mark.parametrize("pointer", ["/none", "/list/2", "/list/x", "/model/0", "/a~1b/~0/-"])
def test_what_is_not_there_stands_nowhere(pointer: str) -> None:
    assert parse_json(TEXT).position(pointer) is None


def test_repeated_keys_are_named_with_their_lines() -> None:
    document = parse_json('{"a": 1,\n"b": [{"c": 1, "c": 2}, [1, {"d": 0,\n "d": 1}]],\n "\\u0061": 3}')
    found = [(duplicate.pointer, duplicate.line) for duplicate in document.duplicates]
    assert found == [("/b/0/c", 2), ("/b/1/1/d", 3), ("/a", 4)]
    assert document.value["a"] == 3
    assert document.position("/a") == (4, 2)
    assert parse_json('[{"a": 1}, {"a": 1}]').duplicates == ()


def test_numbers_that_json_forbids_are_taken_and_flagged() -> None:
    document = parse_json('{"a": NaN, "b": -Infinity}')
    assert document.non_finite
    assert math.isnan(document.value["a"])
    assert document.value["b"] == -math.inf
    assert document.position("/b") == (1, 12)
    assert not parse_json('["NaN"]').non_finite


def test_a_byte_order_mark_is_dropped() -> None:
    assert parse_json(b"\xef\xbb\xbf[1]").value == [1]
    assert parse_json("\ufeff[1]").value == [1]


@pytest.mark.parametrize(
    ("text", "line", "column", "told"),
    [
        ("", 1, 1, "nothing"),
        ("  \n ", 2, 2, "nothing"),
        ('{"a": 1,\n}', 2, 1, "comma"),
        ("{'a': 1}", 1, 2, "double quotes"),
        ('{"a": True}', 1, 7, "Python"),
        ('{\n  // why\n  "a": 1}', 2, 3, "comments"),
        ('{"a": [1, 2', 1, 12, "ends too early"),
        ('{"a": 1} x', 1, 10, "Extra data"),
        ('{"a" 1}', 1, 6, "':'"),
        (b'{"a":\n "\xff"}', 2, 3, "0xFF"),
        ("[" + "7" * 5000 + "]", 1, 2, "digits"),
        ('["' + "7" * 5000 + '", -' + "7" * 5000 + "]", 1, 5006, "digits"),
    ],
)
def test_what_is_wrong_and_where(text: str | bytes, line: int, column: int, told: str) -> None:
    with pytest.raises(JsonError) as caught:
        parse_json(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert told in caught.value.message


@pytest.mark.parametrize("unit", ["[", '{"a":'])
def test_deep_nesting_is_an_error_with_a_place(unit: str) -> None:
    with pytest.raises(JsonError, match="500 levels") as caught:
        parse_json(unit * 100_000)
    assert caught.value.offset == MAX_DEPTH * len(unit)


def test_the_deepest_nesting_is_read() -> None:
    document = parse_json("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert document.span("/0" * (MAX_DEPTH - 1)) is not None
    wide = parse_json("[" + ",".join(["[]"] * 2000 + ['"[[[["']) + "]")
    assert len(wide.value) == 2001


def test_a_large_body_is_found_in_without_going_through_it() -> None:
    """5 million ids are skipped in one step each time: walking them would take minutes."""
    text = '{"ids": [' + "1," * 5_000_000 + '1], "last": 1}'
    document = parse_json(text)
    assert document.position("/last") == (1, text.index('"last"') + 1)
    assert document.duplicates == ()


@given(JSON, st.sampled_from([None, 1]))
def test_every_value_is_found_where_it_stands(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    document = parse_json(text)
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while waiting:
        way, inner = waiting.pop()
        pointer = pointers.join(*way)
        span = document.span(pointer)
        assert span is not None
        assert json.loads(text[span.start : span.end]) == inner
        steps = inner.items() if isinstance(inner, dict) else enumerate(inner if isinstance(inner, list) else ())
        waiting += [((*way, step), child) for step, child in steps]
    assert document.duplicates == ()


@given(st.text(alphabet='{}[]",:\\ \n0123456789truefalsnN-+.eE\u00e9', max_size=40))
def test_any_text_is_read_as_the_standard_library_does(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(JsonError):
            parse_json(text)
        return
    document = parse_json(text)
    assert document.value == expected or "NaN" in text
    assert document.duplicates is not None
    assert document.span("") is not None


@given(st.binary(max_size=60))
def test_any_bytes_give_a_value_or_a_place(data: bytes) -> None:
    try:
        parse_json(data)
    except JsonError as error:
        assert error.line >= 1 and error.column >= 1


@given(st.text(alphabet="ab\n", max_size=30), st.integers(0, 30))
def test_lines_and_columns(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    line, column = line_and_column(text, offset)
    lines = text.split("\n")
    assert sum(len(one) + 1 for one in lines[: line - 1]) + column - 1 == offset
