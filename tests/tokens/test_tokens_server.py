"""The server's own tokenizer, whatever fields its routes have."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from llmdebug.families.family import Tokenize
from llmdebug.families.load import load_families
from llmdebug.http.exchange import Exchange, Failure, Request, Response
from llmdebug.tokens.server import Ask, ServerTokenizer
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


FAMILIES: dict[Answers, str] = {
    prompts: "vllm",
    contents: "llama.cpp",
    inputs: "tgi",
    internal: "text-generation-webui",
}


def routes(name: str) -> Tokenize:
    found = load_families().by_name[name].tokenize
    assert found is not None
    return found


@pytest.mark.parametrize("answers", [prompts, contents, inputs, internal])
async def test_a_text_becomes_ids_in_each_family_s_way(answers: Answers) -> None:
    assert await ServerTokenizer(asking(answers), BASE, routes(FAMILIES[answers]), "m").encode("ab") == (1, 2)


@pytest.mark.parametrize("answers", [prompts, contents, internal])
async def test_ids_become_text(answers: Answers) -> None:
    assert await ServerTokenizer(asking(answers), BASE, routes(FAMILIES[answers])).decode([1, 2]) == "ab"


async def test_a_server_without_a_way_back_says_so() -> None:
    with pytest.raises(TokenizerError, match="no route that turns ids into text"):
        await ServerTokenizer(asking(inputs), BASE, routes("tgi")).decode([1])


@pytest.mark.parametrize("value", [b"\xff", {"tokens": "x"}, {"tokens": [True]}, {"tokens": [{}]}, b"[" * 100_000, 5])
async def test_an_odd_answer_is_a_sentence(value: Any) -> None:
    server = ServerTokenizer(asking(lambda path, body: (200, value)), BASE, routes("vllm"))
    with pytest.raises(TokenizerError, match="server"):
        await server.encode("a")
    with pytest.raises(TokenizerError, match="server"):
        await server.decode([1])


async def test_a_refusal_is_quoted() -> None:
    server = ServerTokenizer(asking(lambda path, body: (503, {"error": "loading"})), BASE, routes("vllm"))
    with pytest.raises(TokenizerError, match=r"POST /tokenize answered 503: .*loading"):
        await server.encode("a")


async def test_a_server_that_is_not_there_is_a_sentence() -> None:
    async def ask(request: Request) -> Exchange:
        return Exchange(request=request, failure=Failure(kind="refused", message="nobody listens."))

    with pytest.raises(TokenizerError, match="nobody listens"):
        await ServerTokenizer(ask, BASE, routes("vllm")).encode("a")
