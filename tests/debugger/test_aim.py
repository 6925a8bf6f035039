from __future__ import annotations

from llmdebug.debugger.aim import Aim, aimed
from llmdebug.http.exchange import Request, header

REQUEST = Request(
    method="POST",
    url="https://api.example.com/v1/chat/completions?x=1",
    headers=(
        ("Host", "api.example.com"),
        ("Authorization", "Bearer sk-secret"),
        ("Cookie", "a=b"),
        ("Connection", "keep-alive"),
        ("Accept-Encoding", "gzip, br, zstd"),
        ("X-Trace", "1"),
    ),
    body=b'{ "model" : "gpt", "n":1e0 }',
)


def test_as_recorded_but_for_the_connection() -> None:
    request = aimed(REQUEST, Aim())
    assert request.url == REQUEST.url
    assert request.body == REQUEST.body
    assert [name for name, _ in request.headers] == ["Host", "Authorization", "Cookie", "X-Trace"]


def test_keys_and_cookies_do_not_go_to_another_server() -> None:
    request = aimed(REQUEST, Aim(base_url="http://localhost:8000/v1"))
    assert request.url == "http://localhost:8000/v1/chat/completions?x=1"
    assert request.headers == (("X-Trace", "1"),)
    same = aimed(REQUEST, Aim(base_url="https://api.example.com"))
    assert header(same.headers, "Authorization") == "Bearer sk-secret"


def test_another_model_leaves_the_rest_of_the_body_as_it_is_written() -> None:
    assert aimed(REQUEST, Aim(model='m"1')).body == b'{ "model" : "m\\"1", "n":1e0 }'


def test_bodies_without_a_model_stay() -> None:
    for body in (b"", b"no json", b"[1]", b'{"n": 1}', b"\xff"):
        request = Request(method="POST", url="http://h", body=body)
        assert aimed(request, Aim(model="m")).body == body
