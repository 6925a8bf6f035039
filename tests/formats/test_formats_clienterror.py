from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.formats.clienterror import read_client_error

BODY = {"object": "error", "message": 'it\'s "bad"', "code": 400, "param": None, "ok": True, "list": [1, 2.5]}


@pytest.mark.parametrize(
    "text",
    [
        f"Error code: 400 - {BODY!r}",
        f"openai.BadRequestError: Error code: 400 - {BODY!r}",
        f'Traceback (most recent call last):\n  File "x.py"\nopenai.BadRequestError: Error code: 400 - {BODY!r}\n',
        f"litellm.BadRequestError: OpenAIException - Error code: 400 - {BODY!r}",
        f"litellm.BadRequestError: Hosted_vllmException - {json.dumps(BODY)}",
        f"litellm.BadRequestError: BadRequestError: X - {BODY!r}. Received Model Group=m\nFallbacks=None",
        f"Error code: 400 - {BODY!r}\n\nDuring handling of the above exception, another occurred",
        json.dumps(BODY),
        repr(BODY),
        repr(json.dumps(BODY).encode()),
        f"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n\r\n{json.dumps(BODY)}",
        f"HTTP/1.1 100 Continue\n\nHTTP/2 400\ncontent-type: application/json\n\n{json.dumps(BODY)}\n",
        f"* Connected\n> POST / HTTP/1.1\n>\n< HTTP/1.1 400 Bad Request\n< a: b\n<\n{json.dumps(BODY)}\n* left intact",
    ],
)
def test_the_body_is_json_again(text: str) -> None:
    response = read_client_error(text)
    assert response.status == 400
    assert json.loads(response.body) == BODY


@pytest.mark.parametrize(
    ("text", "status", "reason", "body"),
    [
        ("Error code: 500 - Internal Server Error", 500, "", b"Internal Server Error"),
        ("Error code: 404", 404, "", b""),
        ("anthropic.BadRequestError: Error code: 400 - {'type': 'error'}", 400, "", b'{"type": "error"}'),
        (
            "httpx.HTTPStatusError: Client error '422 Unprocessable Entity' for url 'http://h/x'\n"
            "For more information check: https://developer.mozilla.org/422",
            422,
            "Unprocessable Entity",
            b"",
        ),
        ("Server error '503 Service Unavailable' for url 'http://h/'", 503, "Service Unavailable", b""),
        ("requests.exceptions.HTTPError: 404 Client Error: Not Found for url: http://h/x", 404, "Not Found", b""),
        ("openai.NotFoundError: no such model", 404, "", b"no such model"),
        ("ValueError: no such thing", 0, "", b"no such thing"),
        ("just words", 0, "", b"just words"),
        ("", 0, "", b""),
        ('{"detail": "x"}', 0, "", b'{"detail": "x"}'),
        ('{"error": {"message": "m", "code": 429}}', 429, "", b'{"error": {"message": "m", "code": 429}}'),
        ("HTTP/1.1 204 No Content", 204, "No Content", b""),
        ("{'a': (1, 2), 'b': {3}}", 0, "", b'{"a": [1, 2], "b": "{3}"}'),
        ("{not: json}", 0, "", b"{not: json}"),
    ],
)
def test_what_else_people_paste(text: str, status: int, reason: str, body: bytes) -> None:
    response = read_client_error(text)
    assert (response.status, response.reason, response.body) == (status, reason, body)


def test_headers_of_curl_are_kept() -> None:
    response = read_client_error("HTTP/1.1 400 Bad\r\nX-a: 1\r\nx-A: 2\r\n\r\nline\n\nline")
    assert response.headers == (("X-a", "1"), ("x-A", "2"))
    assert response.body == b"line\n\nline"


@pytest.mark.parametrize(
    "text",
    [
        "Error code: 400 - " + "[" * 100_000,
        "Error code: 400 - " + "{'a': " * 95 + "1" + "}" * 95,
        "Error code: 400 - {'a': " + "-" * 100_000 + "1}",
        "Error code: 400 - {'a': '\x00'}",
        "Error code: 400 - {'a': " + "9" * 10_000 + "}",
        "Error code: 400 - {'a': '\\d'}",
        "Error code: 400 - {(1, 2): 3}",
        "Error code: 400 - {'a': __import__('os').system('false')}",
        "{" * 3000 + "'" * 3000,
        "Error code: 400 - '" + '"\\' * 50_000,
    ],
)
def test_hostile_text_is_read_as_text(text: str) -> None:
    response = read_client_error(text)
    assert response.status in (0, 400)
    assert response.body


LITERALS: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=5), LITERALS, max_size=3))
def test_any_literal_comes_back(value: dict[str, Any]) -> None:
    response = read_client_error(f"openai.BadRequestError: Error code: 400 - {value!r}")
    assert json.loads(response.body) == value


@given(st.text(max_size=60))
def test_any_text_gives_a_response(text: str) -> None:
    assert read_client_error(text).body is not None


@given(
    st.lists(st.sampled_from(["HTTP/1.1 400 B", "< ", "\n", "\r\n", "a: b", "{", "}", "'", "Error code: 400 - ", "x"]))
)
def test_any_pieces_give_a_response(parts: list[str]) -> None:
    assert read_client_error("".join(parts)).status in (0, 400)
