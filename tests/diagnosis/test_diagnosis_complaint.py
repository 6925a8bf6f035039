"""Error bodies of every known shape, and of none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmdebug.diagnosis.complaint import Answer, read_answer
from llmdebug.diagnosis.errorfree import is_error_free
from llmdebug.diagnosis.validation_text import entries_in, loc_of
from llmdebug.http.exchange import Response

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(
                ["error", "message", "detail", "type", "param", "code", "loc", "msg", "input", "object", "errors", "x"]
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=15,
)
CONTENT_TYPES = ["application/json", "text/plain", "text/html", "text/event-stream", "application/x-ndjson", ""]


def answer(body: str | bytes, status: int = 400, content_type: str = "application/json") -> Answer:
    data = body if isinstance(body, bytes) else body.encode()
    headers = (("content-type", content_type),) if content_type else ()
    return read_answer(Response(status=status, headers=headers, body=data))


@given(st.binary(max_size=400), st.sampled_from([200, 400, 422, 500]), st.sampled_from(CONTENT_TYPES))
@settings(max_examples=300, deadline=None)
def test_no_bytes_make_it_raise(body: bytes, status: int, content_type: str) -> None:
    found = answer(body, status, content_type)
    assert found.refused or status < 400


@given(json_values, st.sampled_from([200, 400]), st.sampled_from(CONTENT_TYPES))
@settings(max_examples=500, deadline=None)
def test_no_json_makes_it_raise(body: Any, status: int, content_type: str) -> None:
    found = answer(json.dumps(body), status, content_type)
    assert isinstance(found.text, str)
    assert all(isinstance(c.message, str) and isinstance(c.loc, tuple) for c in found.complaints)


@given(json_values, st.sampled_from(CONTENT_TYPES), st.booleans())
@settings(max_examples=500, deadline=None)
def test_what_is_told_to_be_free_of_errors_refuses_nothing(body: Any, content_type: str, escaped: bool) -> None:
    text = json.dumps(body).replace("error", "\\u0065rror") if escaped else json.dumps(body)
    good = Response(status=200, headers=(("content-type", content_type),), body=text.encode())
    assert not (is_error_free(good) and read_answer(good).refused)


@pytest.mark.parametrize(
    ("body", "free"),
    [
        ('{"id": "a", "object": "chat.completion", "choices": [{"message": {"content": "error"}}]}', True),
        ('{"object": "list", "data": []}', True),
        ('{"object": "error", "code": 1}', False),
        ('{"error": null}', False),
        ('{"choices": []} {"error": 1}', False),
        ('data: {"error": 1}', False),
        ("[]", False),
        ("", False),
    ],
)
def test_ordinary_results_are_told_to_be_free_of_errors(body: str, free: bool) -> None:
    assert is_error_free(Response(status=200, body=body.encode())) is free
    assert not is_error_free(Response(status=400, body=body.encode()))


@given(json_values, st.sampled_from(["data: {}\n\n", "event: error\ndata: {}\n\n", "{}\n", "x - {}", "<html>{}"]))
@settings(max_examples=300, deadline=None)
def test_no_json_inside_something_else_makes_it_raise(body: Any, around: str) -> None:
    for text in (json.dumps(body), repr(body), json.dumps(json.dumps(body))):
        answer(around.replace("{}", text), 400, "text/plain")
        answer(json.dumps({"error": {"message": around.replace("{}", text)}}))


@given(st.text(max_size=300))
def test_no_text_makes_the_reader_of_validation_texts_raise(text: str) -> None:
    entries_in(text)
    entries_in(f"1 validation error for X\n{text}\n  {text} [type=missing, input_value={text}, input_type=dict]")
    entries_in("[{'type': 'missing', 'loc': ('body', " + text + "), 'msg': '" + text + "'}]")
    loc_of(text)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"error":' * 50_000,
        b'{"message": "' + b"{" * 200_000 + b'"}',
        b"1 validation error for X\n" * 20_000,
        b"{'type': '" * 20_000,
        b"['type': 'loc': (" * 20_000,
        b"data: " * 100_000,
        b"<" * 300_000,
        b"<script" * 50_000,
        b"body." * 100_000,
        (b'{"detail": "' + b"'loc': (" * 40_000 + b'"}'),
        (b'{"detail": "' + b"[type=" * 40_000 + b'"}'),
        b"\xff\xfe" * 1_000,
        b"<html>" + b"<script" * 30_000,
        b"<html>" + b"<script>" * 30_000,
        b"<html>" + b"<title" * 30_000,
        b"1" * 400_000,
        b"1 validation error for X\nn\n  " + b"[type=a, input_value=" * 20_000,
        b"1 validation error for X\nn\n  " + b" (type=a; " * 30_000,
        b"{'msg': 'a', 'loc': (" * 10_000,
        b"{'msg': 'a', 'input': " + b"[1, '" * 20_000,
        b"x: Input tag '" * 20_000,
        b"a.b[c]" * 50_000 + b": Field required",
        b"x: Field required; " * 10_000,
        b"{'error': " * 30_000,
    ],
    ids=lambda body: body[:30].decode("latin-1") + str(len(body)),
)
@pytest.mark.timeout(20)
def test_hostile_bodies_are_read_in_good_time(body: bytes) -> None:
    assert answer(body).refused


SGLANG_REPR = (
    "2 validation errors:\n  {'type': 'missing', 'loc': ('body', 'prompt'), 'msg': 'Field required', "
    "'input': {'model': 'm', 'prompt_token_ids': [1, 2]}}\n  {'type': 'int_parsing', 'loc': ('body', 'n'), "
    "'msg': 'Input should be a valid integer', 'input': 'x'}\n"
)
PYDANTIC = (
    "1 validation error for ChatRequest\nmessages.0.content\n  Field required [type=missing, input_value={'role': "
    "'user'}, input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.11/v/missing"
)
LITELLM = (
    "litellm.BadRequestError: OpenAIException - Error code: 400 - "
    "{'error': {'message': 'temperature must be positive', 'type': 'BadRequestError', 'param': 'temperature', 'code': 400}}"
)

Row = tuple[str, str, str, str, dict[str, Any]]
SHAPES: list[Row] = [
    (
        "openai", '{"error": {"message": "n too big", "type": "invalid_request_error", "param": "n", "code": "bad"}}',
        "application/json", "n too big", {"param": "n", "error_type": "invalid_request_error", "code": "bad"},
    ),
    (
        "flat", '{"object": "error", "message": "n too big", "type": "BadRequestError", "param": null, "code": 400}',
        "application/json", "n too big", {"error_type": "BadRequestError", "code": "400", "param": None},
    ),
    (
        "flat with a Python list", json.dumps({"object": "error", "message": SGLANG_REPR, "type": "Bad Request"}),
        "application/json", SGLANG_REPR.strip(),
        {"loc": ("body", "prompt"), "type": "missing", "message": "Field required", "count": 2},
    ),
    (
        "fastapi list", '{"detail": [{"type": "missing", "loc": ["body", "prompt"], "msg": "Field required", "input": {}}]}',
        "application/json", "Field required", {"loc": ("body", "prompt"), "type": "missing"},
    ),
    ("fastapi text", '{"detail": "Model not found"}', "application/json", "Model not found", {}),
    (
        "fastapi object", '{"detail": {"error": "no such model", "code": 7}}',
        "application/json", "no such model", {"code": "7"},
    ),
    (
        "pydantic text", json.dumps({"error": PYDANTIC}), "application/json", PYDANTIC,
        {"loc": ("messages", 0, "content"), "type": "missing", "message": "Field required"},
    ),
    (
        "anthropic", '{"type": "error", "error": {"type": "invalid_request_error", "message": "bad role"}}',
        "application/json", "bad role", {"error_type": "invalid_request_error"},
    ),
    (
        "text generation inference", '{"error": "Input validation error: x", "error_type": "validation"}',
        "application/json", "Input validation error: x", {"error_type": "validation"},
    ),
    ("ollama", '{"error": "model is required"}', "application/json", "model is required", {}),
    (
        "llama.cpp", '{"error": {"code": 400, "message": "no prompt", "type": "invalid_request_error"}}',
        "application/json", "no prompt", {"code": "400"},
    ),
    (
        "axum", "Failed to deserialize the JSON body into the target type: inputs: missing field `x` at line 1 column 2",
        "text/plain; charset=utf-8",
        "Failed to deserialize the JSON body into the target type: inputs: missing field `x` at line 1 column 2", {},
    ),
    (
        "html", "<!DOCTYPE html><html><head><title>502 Bad Gateway</title><style>a{}</style></head>"
        "<body><h1>502 Bad Gateway</h1><hr>nginx &amp; co</body></html>",
        "text/html", "502 Bad Gateway nginx & co", {"shape": "html"},
    ),
    (
        "html with a title alone", "<html><head><title>Not here</title></head><body></body></html>", "text/html",
        "Not here", {"shape": "html"},
    ),
    (
        "json inside a json text", json.dumps({"error": {"message": json.dumps({"error": {"message": "inner", "param": "n"}})}}),
        "application/json", "inner", {"param": "n"},
    ),
    ("a json text", '"just a text"', "application/json", "just a text", {}),
    (
        "a gateway around", json.dumps({"error": {"message": LITELLM, "type": None, "param": None, "code": "400"}}),
        "application/json", "temperature must be positive", {"param": "temperature", "error_type": "BadRequestError"},
    ),
    (
        "a gateway around json",
        json.dumps({"detail": 'upstream said: {"error": {"message": "top_p is 3", "param": "top_p"}}'}),
        "application/json", "top_p is 3", {"param": "top_p"},
    ),
    ("errors in a list", '{"errors": ["first thing", "second thing"]}', "application/json", "first thing", {}),
    (
        "problem json", '{"type": "about:blank", "title": "Bad Request", "detail": "n is no number", "status": 400}',
        "application/problem+json", "n is no number", {},
    ),
    ("aiohttp", "400: Bad Request", "text/plain", "400: Bad Request", {}),
    ("unknown keys", '{"oops": {"why": "because"}}', "application/json", "", {}),
    ("plain words", "nope", "", "nope", {"shape": "text"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "body", "content_type", "text", "more"), SHAPES, ids=[row[0] for row in SHAPES])
def test_known_shapes(name: str, body: str, content_type: str, text: str, more: dict[str, Any]) -> None:
    found = answer(body, 400, content_type)
    assert found.refused
    assert found.text == text
    first = found.complaints[0] if found.complaints else None
    for key, expected in more.items():
        if key in {"loc", "type", "message"}:
            assert first is not None and getattr(first, key) == expected
        elif key == "count":
            assert len(found.complaints) == expected
        else:
            assert getattr(found, key) == expected


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ('data: {"choices": []}\n\ndata: {"error": {"message": "engine died", "code": 500}}\n\n', "text/event-stream", "engine died"),
        ('event: error\ndata: {"message": "too long"}\n\n', "text/event-stream", "too long"),
        ("event: error\ndata: too long\n\n", "text/event-stream", "too long"),
        ('data: {"object": "error", "message": "aborted"}\n\ndata: [DONE]\n\n', "text/event-stream", "aborted"),
        ('event: error\r\ndata: {"type": "error", "error": {"type": "overloaded", "message": "busy"}}\r\n\r\n', "text/event-stream", "busy"),
        ('{"response": "a", "done": false}\n{"error": "model runner stopped"}\n', "application/x-ndjson", "model runner stopped"),
        ('{"error": "only a line"}\n', "application/json", "only a line"),
        ('data: {"\\u0065rror": {"message": "escaped"}}\n\n', "text/event-stream", "escaped"),
        ('data: {"choices": []}\n\n{"error": {"message": "bare"}}\n', "text/event-stream", "bare"),
    ],
)  # fmt: skip
def test_errors_inside_a_good_answer(body: str, content_type: str, text: str) -> None:
    found = answer(body, 200, content_type)
    assert found.refused
    assert found.text == text
    assert found.complaints[0].message == text


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ('data: {"choices": [{"delta": {"content": "an error: detail"}}]}\n\ndata: [DONE]\n\n', "text/event-stream"),
        ('{"choices": [{"message": {"content": "error"}}]}', "application/json"),
        ('{"object": "list", "data": [], "error": null}', "application/json"),
        ("", "text/event-stream"),
        ("all is well", "text/plain"),
        ('{"response": "a", "done": false}\n{"response": "", "done": true}\n', "application/x-ndjson"),
    ],
)
def test_good_answers_refuse_nothing(body: str, content_type: str) -> None:
    found = answer(body, 200, content_type)
    assert not found.refused
    assert found.complaints == ()


def test_an_empty_body_says_nothing() -> None:
    found = answer(b"", 500, "")
    assert (found.shape, found.text, found.complaints, found.refused) == ("empty", "", (), True)


def test_union_branches_are_read_one_by_one() -> None:
    entries = [
        {"type": "string_type", "loc": ["body", "prompt", "str"], "msg": "Input should be a valid string", "input": 1},
        {
            "type": "list_type",
            "loc": ["body", "prompt", "list[int]"],
            "msg": "Input should be a valid list",
            "input": 1,
        },
    ]
    found = answer(json.dumps({"detail": entries}), 422)
    assert [c.loc for c in found.complaints] == [("body", "prompt", "str"), ("body", "prompt", "list[int]")]
    assert found.complaints[0].input == 1


@pytest.mark.parametrize(
    ("text", "loc"),
    [
        ("body.prompt", ("body", "prompt")),
        ("messages.0.content", ("messages", 0, "content")),
        ("messages[0].content", ("messages", 0, "content")),
        ("prompt.list[int]", ("prompt", "list[int]")),
        ("prompt.function-before[check(), str].x", ("prompt", "function-before[check(), str]", "x")),
        (["body", 3, "a.b"], ("body", 3, "a.b")),
        (("body", True), ("body", "True")),
        (None, ()),
        ({"a": 1}, ()),
        ("", ()),
    ],
)
def test_locations(text: object, loc: tuple[str | int, ...]) -> None:
    assert loc_of(text) == loc


def test_pydantic_text_with_several_errors_and_inputs() -> None:
    text = (
        "2 validation errors for Request\nn\n  Input should be a valid integer, unable to parse string as an integer "
        "[type=int_parsing, input_value='x', input_type=str]\n    For further information visit https://x\n"
        "stop.list[str].1\n  Input should be a valid string [type=string_type, input_value=3, input_type=int]\n"
    )
    first, second = entries_in(text)
    assert (first.loc, first.type, first.input, first.title) == (("n",), "int_parsing", "x", "Request")
    assert (second.loc, second.type, second.input) == (("stop", "list[str]", 1), "string_type", 3)


def test_a_repeated_error_is_kept_once() -> None:
    text = "2 validation errors for R\nn\n  Field required [type=missing]\nn\n  Field required [type=missing]\n"
    assert len(entries_in(text)) == 1


def test_errors_printed_as_location_and_message() -> None:
    text = (
        "messages.0.content.str: Input should be a valid string; messages.0.content.list[tagged-union[Text,Image]].1: "
        "Input tag 'video' found using 'type' does not match any of the expected tags: 'text', 'image'\n"
        "n: Field required"
    )
    found = answer(json.dumps({"type": "error", "error": {"message": text}})).complaints
    assert [(c.loc, c.type) for c in found] == [
        (("messages", 0, "content", "str"), "string_type"),
        (("messages", 0, "content", "list[tagged-union[Text,Image]]", 1, "type"), "union_tag_invalid"),
        (("n",), "missing"),
    ]


def test_a_refusal_that_quotes_a_large_request_is_read() -> None:
    entry = {"type": "missing", "loc": ["body", "prompt"], "msg": "Field required", "input": {"text": "x" * 5_000_000}}
    answer = read_answer(Response(status=422, body=json.dumps({"detail": [entry]}).encode()))
    assert [(c.message, c.loc) for c in answer.complaints] == [("Field required", ("body", "prompt"))]


def test_an_error_at_the_end_of_a_long_stream_is_read() -> None:
    events = b'data: {"choices": [{"text": "abc"}]}\n\n' * 150_000
    body = events + b'data: {"error": {"message": "too long", "code": 400}}\n\n'
    headers = (("Content-Type", "text/event-stream"),)
    assert read_answer(Response(status=200, headers=headers, body=body)).text == "too long"
    assert not read_answer(Response(status=200, headers=headers, body=events)).refused


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ({"object": "list", "data": [{"embedding": [0.5] * 20}] * 5_000, "usage": {"error": "none"}}, False),
        ({"error": {"message": "no", "input": ["x"] * 100_000}}, True),
        ({"data": ["x"] * 100_000, "error": {"message": "no"}}, True),
    ],
)
def test_a_large_result_is_told_from_a_large_error(body: dict[str, Any], refused: bool) -> None:
    assert read_answer(Response(status=200, body=json.dumps(body).encode())).refused is refused
