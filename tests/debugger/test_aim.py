from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from llmdebug.debugger.aim import Aim, aimed, first_aimed, withheld
from llmdebug.formats.exchanges import listed
from llmdebug.http.exchange import Exchange, Request, header

NAMES = st.sampled_from(["a", "b", "api_key", "password"])
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


def test_secrets_of_the_query_and_of_the_body_do_not_go_to_another_server() -> None:
    request = Request(
        method="POST",
        url="https://other.example/x?api_key=sk-secret99&n=1",
        body=b'{"a": 1, "api_key":"sk-body77", "in": {"client_secret": "s"}, "x": {"m": "l", "password" : "p" }}',
    )
    aim = Aim(base_url="http://localhost:8000/?key=mine")
    sent = aimed(request, aim)
    assert sent.url == "http://localhost:8000/x?key=mine&n=1"
    assert json.loads(sent.body) == {"a": 1, "in": {}, "x": {"m": "l"}}
    assert withheld(request, aim) == ("api_key", "client_secret", "password")
    for at_home in (Aim(), Aim(base_url="https://other.example")):
        assert (aimed(request, at_home).url, aimed(request, at_home).body) == (request.url, request.body)
        assert withheld(request, at_home) == ()


def test_a_form_goes_without_its_secrets() -> None:
    form = (("Content-Type", "application/x-www-form-urlencoded"),)
    request = Request(method="POST", url="http://h/x?token=abc", headers=form, body=b"a=1&api_key=sk&b=2")
    sent = aimed(request, Aim(base_url="http://localhost"))
    assert (sent.url, sent.body) == ("http://localhost/x", b"a=1&b=2")


@given(
    st.recursive(st.none() | st.text(), lambda inner: st.dictionaries(NAMES, inner) | st.lists(inner)), st.booleans()
)
def test_what_is_left_of_a_body_is_json_without_its_secrets(value: object, wide: bool) -> None:
    body = json.dumps(value, indent=1 if wide else None).encode()
    left = aimed(Request(method="POST", url="http://h/x", body=body), Aim(base_url="http://localhost")).body
    assert json.loads(left) == _without(value)


def _without(value: object) -> object:
    if isinstance(value, list):
        return [_without(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _without(one)
        for name, one in value.items()
        if not (name in ("api_key", "password") and isinstance(one, str) and one)
    }


def test_the_first_requests_tell_whether_keys_stay_behind() -> None:
    plain = Exchange(request=Request(method="GET", url="http://h/a"))
    keyed = Exchange(request=Request(method="GET", url="http://h/b", headers=(("Cookie", "a=1"),)))
    broken = Exchange(request=Request(method="GET", url="nowhere"))
    exchanges = listed([broken, plain, keyed], "f", "har")
    elsewhere = first_aimed(exchanges, Aim(base_url="http://other"))
    assert elsewhere == Request(method="GET", url="http://other/a", keyless=True)
    assert first_aimed(exchanges, Aim()) == plain.request
    assert first_aimed(exchanges, Aim(base_url="http://other", send_secrets=True)) == Request(
        method="GET", url="http://other/a"
    )
    assert first_aimed(listed([broken], "f", "har"), Aim()) is None
