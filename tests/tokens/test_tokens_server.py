"""The server's own tokenizer, whatever fields its routes have."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from llmdebug.http.exchange import Exchange, Failure, Request, Response
from llmdebug.tokens.server import Ask, ServerTokenizer, ask_served, dialects
from llmdebug.tokens.values import TokenizerError

Answers = Callable[[str, Any], tuple[int, Any]]
BASE = "http://server/v1"


def asking(answers: Answers) -> Ask:
    async def ask(request: Request) -> Exchange:
        path = request.url.removeprefix("http://server")
        status, value = answers(path, json.loads(request.body) if request.body else None)
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return Exchange(request=request, response=Response(status=status, body=body))

    return ask


def prompts(path: str, body: Any) -> tuple[int, Any]:
    if path == "/tokenize" and "prompt" in body:
        return 200, {"tokens": [1, 2], "count": 2}
    return (200, {"prompt": "ab"}) if path == "/detokenize" and body["tokens"] == [1, 2] else (404, {})


def contents(path: str, body: Any) -> tuple[int, Any]:
    if path == "/tokenize" and "content" in body:
        return 200, {"tokens": [{"id": 1, "piece": "a"}, {"id": 2, "piece": [195]}]}
    return (200, {"content": "ab"}) if path == "/detokenize" else (400, {"error": "content is missing"})


def inputs(path: str, body: Any) -> tuple[int, Any]:
    if path == "/tokenize":
        return (200, [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]) if "inputs" in body else (422, b"missing inputs")
    return 404, b""


def internal(path: str, body: Any) -> tuple[int, Any]:
    known = {"/v1/internal/encode": {"tokens": [1, 2], "length": 2}, "/v1/internal/decode": {"text": "ab"}}
    return (200, known[path]) if path in known else (404, {})


@pytest.mark.parametrize("answers", [prompts, contents, inputs, internal])
async def test_each_dialect_is_found(answers: Answers) -> None:
    server = ServerTokenizer(asking(answers), BASE, "m")
    assert await server.encode("ab") == (1, 2)


@pytest.mark.parametrize("answers", [prompts, contents, internal])
async def test_ids_become_text(answers: Answers) -> None:
    assert await ServerTokenizer(asking(answers), BASE).decode([1, 2]) == "ab"


def test_the_dialects_are_complete() -> None:
    assert all(dialect.encode.startswith("/") and dialect.text and dialect.ids for dialect in dialects())


@pytest.mark.parametrize("value", [b"\xff", [], {"tokens": "x"}, {"tokens": [True]}, {"tokens": [{}]}, b"[" * 100_000])
async def test_an_odd_answer_is_a_sentence(value: Any) -> None:
    server = ServerTokenizer(asking(lambda path, body: (200, value)), BASE)
    if value == []:
        assert await server.encode("a") == ()
    else:
        with pytest.raises(TokenizerError, match="The server gives no tokens"):
            await server.encode("a")
    with pytest.raises(TokenizerError, match="The server gives no tokens"):
        await server.decode([1])


async def test_a_server_that_is_not_there_is_a_sentence() -> None:
    async def ask(request: Request) -> Exchange:
        return Exchange(request=request, failure=Failure(kind="refused", message="nobody listens."))

    with pytest.raises(TokenizerError, match="nobody listens"):
        await ServerTokenizer(ask, BASE).encode("a")
    assert (await ask_served(ask, BASE)).names == ()


async def test_what_is_served_is_read_from_what_servers_say() -> None:
    said = {
        "/v1/models": {"data": [{"id": "m", "root": "org/model", "max_model_len": 4096}]},
        "/server_info": {"config": {"model_path": "/models/m", "tokenizer_path": "/models/t"}, "max_total_tokens": -1},
    }
    served = await ask_served(asking(lambda path, body: (200, said[path]) if path in said else (404, {})), BASE)
    assert served.names == ("/models/t", "/models/m", "org/model")
    assert (served.model, served.limit) == ("m", 4096)
