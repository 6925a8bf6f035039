from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.http.exchange import Exchange, Request, Response, StreamEvent
from llmdebug.http.keys import told_withheld, without_keys
from llmdebug.http.secretnames import is_secret_field, is_secret_header, is_secret_parameter
from llmdebug.http.secrets import fill, hide, redact, redact_exchange, redact_url

KEY = "sk-abcdef1234567890"


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "proxy-authorization",
        "Cookie",
        "Set-Cookie",
        "X-Api-Key",
        "api-key",
        "x-goog-api-key",
        "Ocp-Apim-Subscription-Key",
        "X-Auth-Token",
        "X-CSRF-Token",
        "x-amz-security-token",
        "X-Client-Secret",
        "X-Session",
        "X-Session-Id",
        "x-sessionid",
        "X-Session-Token",
        "apikey",
    ],
)
def test_secret_headers(name: str) -> None:
    assert is_secret_header(name)


@pytest.mark.parametrize(
    "name",
    [
        "Content-Type",
        "Idempotency-Key",
        "Sec-WebSocket-Key",
        "x-ratelimit-remaining-tokens",
        "Keep-Alive",
        "X-Monkey",
        "X-Session-Affinity",
        "X-Request-Id",
        "",
    ],
)
def test_ordinary_headers(name: str) -> None:
    assert not is_secret_header(name)


@pytest.mark.parametrize(
    "name", ["key", "api_key", "access_token", "token", "sig", "client_secret", "X-Amz-Signature", "code"]
)
def test_secret_parameters(name: str) -> None:
    assert is_secret_parameter(name)


@pytest.mark.parametrize("name", ["language_code", "code_challenge_method", "codec", "session_length", ""])
def test_ordinary_parameters(name: str) -> None:
    assert not is_secret_parameter(name)


def test_all_that_stays_behind_is_named() -> None:
    headers = tuple((f"X-Api-Key-{letter}-Secret", "s") for letter in "ABCDEF")
    headers = (*headers, ("X-Session", "s"), ("X-Session-Id", "s"))
    left, names = without_keys(Request(method="GET", url="http://h/?code=1&state=2", headers=headers))
    assert (left.url, left.headers) == ("http://h/?state=2", ())
    assert names == (*(name for name, _ in headers), "code")
    assert f"for: {', '.join(names)} left out for other:1. " in told_withheld(names, "http://other:1/")


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "apiKey",
        "OPENAI_API_KEY",
        "openai_apikey",
        "hf_token",
        "access_token",
        "authToken",
        "refresh_token",
        "github_token",
        "client_secret",
        "aws_secret_access_key",
        "password",
        "db_password",
        "authorization",
    ],
)
def test_secret_fields(name: str) -> None:
    assert is_secret_field(name)


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens",
        "max_completion_tokens",
        "token_ids",
        "prompt_token_ids",
        "tokens",
        "token",
        "key",
        "stop_token_ids",
        "logprob_token_ids",
        "eos_token",
        "bos_token",
        "pad_token",
        "eos_token_id",
        "stop_token",
        "stopToken",
        "image_token",
        "chat_template",
        "prompt_cache_key",
        "cache_salt",
        "sort_key",
        "return_tokens_as_token_ids",
        "tokenizer",
        "keyword",
        "monkey",
        "secretary",
        "",
    ],
)
def test_ordinary_fields(name: str) -> None:
    assert not is_secret_field(name)


def test_a_request_loses_its_secrets_and_nothing_else() -> None:
    request = Request(
        method="POST",
        url="https://me:pw@gw.example/v1/x?api_key=q%2Fsecret&max_tokens=5#f",
        headers=(("Authorization", f"Bearer {KEY}"), ("X-Api-Key", "other-key"), ("Content-Type", "application/json")),
        body=b'{ "api_key" : "body\\u002dsecret",  "max_tokens": 5, "max_tokens": 6, "eos_token": "</s>", "n": 1.0e0 }',
    )
    clean, secrets = redact(request)
    assert clean.url == "https://{{secret:URL_CREDENTIALS}}@gw.example/v1/x?api_key={{secret:API_KEY}}&max_tokens=5#f"
    assert clean.headers == (
        ("Authorization", "Bearer {{secret:AUTHORIZATION}}"),
        ("X-Api-Key", "{{secret:X_API_KEY}}"),
        ("Content-Type", "application/json"),
    )
    assert (
        clean.body == b'{ "api_key" : "{{secret:API_KEY_2}}",  "max_tokens": 5, "max_tokens": 6, '
        b'"eos_token": "</s>", "n": 1.0e0 }'
    )
    assert secrets == {
        "URL_CREDENTIALS": "me:pw",
        "API_KEY": "q/secret",
        "AUTHORIZATION": KEY,
        "X_API_KEY": "other-key",
        "API_KEY_2": "body-secret",
    }


def test_filling_puts_the_secrets_back() -> None:
    request = Request(
        method="POST",
        url="https://me:p%40w@gw.example/?key=a%26b",
        headers=(("Authorization", f"Bearer {KEY}"),),
        body=b'{"password": "quo\\"te\\n", "x": [1,2]}',
    )
    clean, secrets = redact(request)
    assert fill(clean, secrets) == (request, ())


def test_what_is_not_known_stays_and_is_named() -> None:
    request = Request(
        method="GET",
        url="http://h/?key={{secret:A}}",
        headers=(("x", "{{secret:B}} {{secret:A}}"),),
        body=b"{{secret:C}}",
    )
    filled, missing = fill(request, {"B": "b"}.get)
    assert missing == ("C", "A")
    assert filled.headers == (("x", "b {{secret:A}}"),)
    assert filled.url == request.url


def test_redacting_twice_changes_nothing() -> None:
    request = Request(method="GET", url="http://a:b@h/?key=k", headers=(("Cookie", "c"),), body=b'{"api_key":"k"}')
    once, _ = redact(request)
    twice, secrets = redact(once)
    assert twice == once
    assert secrets == {}


def test_a_known_secret_keeps_its_name_wherever_it_stands() -> None:
    request = Request(method="POST", url="http://h/", headers=(("Authorization", f"Bearer {KEY}"),), body=KEY.encode())
    clean, secrets = redact(request, {"OPENAI_API_KEY": KEY, "UNUSED": "never-seen"})
    assert clean.headers == (("Authorization", "Bearer {{secret:OPENAI_API_KEY}}"),)
    assert clean.body == b"{{secret:OPENAI_API_KEY}}"
    assert secrets == {"OPENAI_API_KEY": KEY}


def test_a_form_body() -> None:
    headers = (("content-type", "application/x-www-form-urlencoded"),)
    request = Request(method="POST", url="http://h/", headers=headers, body=b"client_secret=a%20b&x=1")
    clean, secrets = redact(request)
    assert clean.body == b"client_secret={{secret:CLIENT_SECRET}}&x=1"
    assert fill(clean, secrets) == (request, ())


def test_a_body_that_is_no_json_is_searched_too() -> None:
    request = Request(method="POST", url="http://h/", body=b'{"api_key": "abc", "x": tru')
    assert redact(request)[0].body == b'{"api_key": "{{secret:API_KEY}}", "x": tru'


def test_text_inside_a_string_is_no_field() -> None:
    body = json.dumps({"prompt": 'say "api_key": "abc" twice'}).encode()
    assert redact(Request(method="POST", url="http://h/", body=body))[0].body == body


def test_an_answer_that_echoes_the_key_is_redacted() -> None:
    exchange = Exchange(
        request=Request(method="GET", url="http://h/", headers=(("Authorization", f"Bearer {KEY}"),)),
        response=Response(
            status=401,
            headers=(("Set-Cookie", "sid=1"), ("x-echo", KEY)),
            body=f'{{"error": "bad key {KEY}"}}'.encode(),
            events=(StreamEvent(data=f"bad {KEY}", at=1.0),),
        ),
    )
    clean, _ = redact_exchange(exchange)
    assert KEY not in repr(clean)
    assert clean.response is not None
    assert clean.response.body == b'{"error": "bad key {{secret:AUTHORIZATION}}"}'
    assert clean.response.headers[0] == ("Set-Cookie", "{{secret:SET_COOKIE}}")


def test_urls_and_texts() -> None:
    assert redact_url("http://h/x") == "http://h/x"
    assert redact_url("http://token@h/?a=b@c") == "http://{{secret:URL_CREDENTIALS}}@h/?a=b@c"
    assert hide("short abc stays", {"A": "abc"}) == "short abc stays"
    assert hide(f"x {KEY} y", {"A": KEY, "B": KEY[:10]}) == "x {{secret:A}} y"


@given(st.binary(max_size=200))
def test_any_body_goes_through(body: bytes) -> None:
    request = Request(method="POST", url="http://h/", body=body)
    clean, secrets = redact(request)
    if not secrets:
        assert clean == request


@given(st.text(max_size=30).filter(lambda text: "{{secret:" not in text), st.text(max_size=20))
def test_a_secret_in_json_comes_back_as_the_same_value(secret: str, other: str) -> None:
    secret = secret.encode("utf-8", "replace").decode()
    body = json.dumps({"password": secret, "other": other}).encode()
    clean, secrets = redact(Request(method="POST", url="http://h/", body=body))
    filled, missing = fill(clean, secrets)
    assert not missing
    assert json.loads(filled.body) == json.loads(body)


@given(st.text(max_size=80))
def test_any_url_goes_through(url: str) -> None:
    clean, secrets = redact(Request(method="GET", url=url))
    assert redact(clean) == (clean, {}) or secrets
