"""Exchanges taken apart, whatever they hold."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.diagnosis.question import ask, parse_body
from llmdebug.http.exchange import Exchange, Request, Response


def exchange(body: bytes = b"", url: str = "http://h/v1/x", **headers: str) -> Exchange:
    given_ = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    request = Request(method="post", url=url, headers=given_, body=body)
    return Exchange(request=request, response=Response(status=400, headers=(), body=b'{"error": "no"}'))


def test_the_parts_of_a_request() -> None:
    question = ask(
        exchange(b'{"n": 1}', "http://h:8000/v1/x?a=1&b=&a=2#f", content_type="Application/JSON; charset=utf-8")
    )
    assert question is not None
    assert (question.method, question.path) == ("POST", "/v1/x")
    assert question.query == (("a", "1"), ("b", ""), ("a", "2"))
    assert question.content_type == "application/json"
    assert question.fields == {"n": 1}
    assert question.answer.text == "no"


def test_nothing_to_ask_where_nothing_was_answered() -> None:
    assert ask(Exchange(request=Request(method="GET", url="http://h/"))) is None


@pytest.mark.parametrize(
    ("url", "path"),
    [("http://h", "/"), ("http://[::1", "http://[::1"), ("/v1/x", "/v1/x"), ("", "/"), ("http://h/a%20b", "/a%20b")],
)
def test_odd_urls(url: str, path: str) -> None:
    question = ask(exchange(url=url))
    assert question is not None and question.path == path


@pytest.mark.parametrize(
    ("data", "value", "problem"),
    [
        (b"", None, ""),
        (b"  \n", None, ""),
        (b"null", None, ""),
        (b"[1]", [1], ""),
        (b'{"a": NaN, "b": Infinity}', {"a": "nan", "b": "inf"}, ""),
        (b'{"a": 1, "a": 2}', {"a": 2}, ""),
        (b"\xef\xbb\xbf{}", {}, ""),
        ('{"a": "é"}'.encode("utf-16"), {"a": "é"}, ""),
        (b'{"a": 1,}', None, "line 1, column"),
        (b"{'a': 1}", None, "line 1, column 2"),
        (b'{\n"a": \xff}', None, "byte 7 is not UTF-8"),
        (b"[" * 100_000, None, "RecursionError"),
        (b"1" * 10_000, None, "ValueError"),
        (b'{"a": "\x01"}', None, "control character"),
    ],
)
def test_bodies(data: bytes, value: Any, problem: str) -> None:
    found, why = parse_body(data)
    if isinstance(value, dict) and "nan" in value.values():
        found = {key: str(item) for key, item in found.items()}
    assert found == value
    assert problem in why and bool(problem) == bool(why)


def test_a_huge_body_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmdebug.diagnosis.question.MAX_BODY", 2_000_000)
    found, why = parse_body(b'"' + b"a" * 2_000_000 + b'"')
    assert found is None and "larger than 2 MB" in why


@given(st.binary(max_size=100))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    value, problem = parse_body(data)
    assert not (value is not None and problem)


@given(st.text(max_size=40), st.binary(max_size=40))
def test_no_request_makes_it_raise(url: str, body: bytes) -> None:
    question = ask(exchange(body, url))
    assert question is not None and isinstance(question.fields, dict)
