"""Tokens of requests: counts are those that the server counts, refusals are foreseen."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from llmdebug.debugger.evidence import is_about_tokens, warning_of, with_tokens
from llmdebug.debugger.session import Finding, Session
from llmdebug.debugger.tokenizing import Tokenizing
from llmdebug.demo import model
from llmdebug.demo.server import DemoServer
from llmdebug.http.exchange import Exchange, Request
from llmdebug.linking.server import Server
from llmdebug.tokens.values import NobodyCountsError, TokenizerError

WORDS = ["Alice", "the Queen", " off with", "\n", "wörld", "你好", "🎉", "<|im_start|>", "  ", "a" * 30, "?"]
USER = {"role": "user", "content": "Hello"}


pytestmark = pytest.mark.asyncio(loop_scope="module")

Desk = tuple[Session, Tokenizing]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def desk(nanoserve: DemoServer) -> AsyncIterator[Desk]:
    """A session of the demo's server with its tokenizer, loaded once for all tests here."""
    async with (
        Session(base_url=nanoserve.base_url, sources=[nanoserve.source], keep=False) as session,
        Tokenizing(session) as tokens,
    ):
        yield session, tokens


def silent(what: str) -> None:
    """Progress that nobody looks at."""


def some_text(chance: random.Random) -> str:
    return "".join(chance.choice(WORDS) for _ in range(chance.randint(1, 8)))


def some_chat(chance: random.Random) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    if chance.random() < 0.3:
        messages.append({"role": "system", "content": some_text(chance)})
    for _ in range(chance.randint(0, 2)):
        messages += [{"role": "user", "content": some_text(chance)}, some_answer(chance)]
    parts = [{"type": "text", "text": some_text(chance)} for _ in range(2)]
    messages.append({"role": "user", "content": chance.choice([some_text(chance), parts])})
    if chance.random() < 0.3:
        answer = {"role": "assistant", "content": some_text(chance)}
        return {"messages": [*messages, answer], "continue_final_message": True, "add_generation_prompt": False}
    if chance.random() < 0.3:
        tool = {"type": "function", "function": {"name": "f", "parameters": {"<b>": "ä"}}}
        return {"messages": messages, "tools": [tool]}
    return {"messages": messages}


def some_answer(chance: random.Random) -> dict[str, Any]:
    if chance.random() < 0.7:
        return {"role": "assistant", "content": some_text(chance)}
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": json.dumps({"b": 1, "a": ["<ä>"]})}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


async def counted(session: Session, base_url: str, body: dict[str, Any]) -> int:
    """What the server says that the prompt of a request has."""
    path = "/v1/chat/completions" if "messages" in body else "/v1/completions"
    data = json.dumps({"model": "alice", "max_tokens": 1, **body}).encode()
    headers = (("Content-Type", "application/json"),)
    exchange = await session.fetch(Request(method="POST", url=base_url + path, headers=headers, body=data))
    assert exchange.response is not None and exchange.response.status == 200, exchange.response
    count: int = json.loads(exchange.response.body)["usage"]["prompt_tokens"]
    return count


async def test_counts_are_those_of_the_server_for_random_prompts_and_chats() -> None:
    chance = random.Random(8)
    with DemoServer(max_model_len=4096, tool_call_parser="tagged") as server:
        async with (
            Session(base_url=server.base_url, keep=False) as session,
            Tokenizing(session) as tokens,
        ):
            for number in range(200):
                body = {"prompt": some_text(chance)} if number % 2 else some_chat(chance)
                report = await tokens.read(body, progress=silent)
                assert report.prompts[0].count == await counted(session, server.base_url, body), body
            assert report.vocabulary is not None and report.vocabulary.place == str(model.FOLDER)
            assert (report.limit, report.limit_from) == (4096, "the server says so")


async def test_the_server_s_own_tokens_are_compared(desk: Desk) -> None:
    _, tokens = desk
    for body in ({"prompt": "The Queen"}, {"prompt": [361, 836]}, {"messages": [USER]}):
        read = (await tokens.read(body, progress=silent, compare=True)).prompts[0]
        assert read.server is None and read.notes == ("The server's own tokens are the same.",)


async def test_ids_without_a_token_are_not_sent_to_be_compared(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = desk
    asked: list[Request] = []
    fetch = session.fetch

    async def told(request: Request) -> Exchange:
        asked.append(request)
        return await fetch(request)

    monkeypatch.setattr(session, "fetch", told)
    report = await tokens.read({"prompt": [[361, 99999], [361]]}, progress=silent, compare=True)
    assert [prompt.notes[0] for prompt in report.prompts] == [
        "Not compared with the server: some servers die of ids out of the vocabulary.",
        "The server's own tokens are the same.",
    ]
    assert [json.loads(request.body)["tokens"] for request in asked] == [[361]]


async def test_a_server_that_gives_no_answer_is_asked_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    session, tokens = desk
    asked: list[Request] = []

    async def hanging(request: Request) -> Exchange:
        asked.append(request)
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(session, "fetch", hanging)
    monkeypatch.setattr("llmdebug.tokens.server.ANSWER_S", 0.05)
    report = await tokens.read({"prompt": ["Alice", "Queen"]}, progress=silent, compare=True)
    told = "Not compared with the server: The server gives no tokens: POST /tokenize was not answered within 0.05 s."
    assert [prompt.notes for prompt in report.prompts] == [(told,), (told,)]
    assert len(asked) == 1 and all(prompt.count for prompt in report.prompts)


async def test_another_tokenizer_than_the_server_s_is_told(nanoserve: DemoServer, folders: dict[str, Path]) -> None:
    async with Session(base_url=nanoserve.base_url, keep=False) as session:
        name = str(folders["unigram"])
        async with Tokenizing(session, name=name) as tokens:
            read = (await tokens.read({"prompt": "The Queen"}, progress=silent, compare=True)).prompts[0]
            assert read.server is not None and read.notes == ("The server's own tokens differ.",)


async def test_without_a_local_tokenizer_the_server_is_asked(
    nanoserve: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        Session(base_url=nanoserve.base_url, keep=False) as session,
        Tokenizing(session) as tokens,
    ):
        elsewhere = msgspec.structs.replace(await tokens.served(), tokenizers=("/nowhere",))

        async def served() -> Server:
            return elsewhere

        monkeypatch.setattr(tokens, "served", served)
        read = await tokens.read({"prompt": ["Alice", [361, 836]]}, progress=silent)
        assert read.vocabulary is None and [prompt.count for prompt in read.prompts][1:] == [2]
        assert read.prompts[1].reading is not None and read.prompts[1].reading.text == "The White"
        chat = (await tokens.read({"messages": [USER]}, progress=silent)).prompts[0]
        assert "needs the model's own files" in chat.problem


async def test_what_will_be_refused_is_foreseen(desk: Desk) -> None:
    _, tokens = desk
    bad_ids = await tokens.read({"prompt": [1008, 5072, 16331]}, progress=silent)
    assert bad_ids.prompts[0].outside == (1, 2)
    two_users = await tokens.read({"messages": [USER, USER]}, progress=silent)
    assert two_users.prompts[0].prompt.pointer == "/messages/1"
    assert two_users.prompts[0].fault is not None and two_users.prompts[0].fault.line == 6
    too_long = await tokens.read({"prompt": "Alice", "max_tokens": 1000}, progress=silent)
    assert too_long.over == 1000 + (too_long.prompts[0].count or 0) - 256
    broken = {"role": "assistant", "tool_calls": [{"function": {"arguments": "{"}}]}
    arguments = await tokens.read({"messages": [USER, broken, USER]}, progress=silent)
    assert arguments.prompts[0].prompt.pointer == "/messages/1/tool_calls/0/function/arguments"


async def test_without_tokenizer_and_server_there_is_a_sentence() -> None:
    async with Tokenizing() as tokens:
        with pytest.raises(NobodyCountsError, match=r"nothing to count tokens with\. There is no server to ask"):
            await tokens.read({"prompt": "a"}, progress=silent)


async def test_a_tokenizer_that_was_given_must_be_one(tmp_path: Path) -> None:
    async with Tokenizing(name=str(tmp_path)) as tokens:
        with pytest.raises(TokenizerError):
            await tokens.read({"prompt": "a"}, progress=silent)
        tokens.use(str(model.FOLDER))
        assert (await tokens.read({"prompt": "Alice"}, progress=silent)).prompts[0].count


async def refused(session: Session, base_url: str, body: dict[str, Any], path: str = "/v1/completions") -> Finding:
    data = json.dumps({"model": "alice", **body}).encode()
    headers = (("Content-Type", "application/json"),)
    sent = await session.send(Request(method="POST", url=base_url + path, headers=headers, body=data))
    return await session.diagnose(sent)


async def test_the_founding_trail_is_complete_on_the_demo(nanoserve: DemoServer, desk: Desk) -> None:
    session, tokens = desk
    finding = await refused(session, nanoserve.base_url, {"prompt_token_ids": [361, 836, 603], "max_tokens": 5})
    assert is_about_tokens(finding)
    weighed = await with_tokens(session, tokens, finding, progress=silent)
    trial = await session.try_remedy(weighed, 1)
    assert trial.verdict == "confirmed"
    told = [f"{step.step}: {step.text}" for step in trial.finding.diagnosis.trail]
    order = [
        "symptom: POST /v1/completions answered 400",
        "hypothesis: /prompt is missing",
        "hypothesis: the ids of /prompt_token_ids are bad",
        "experiment: looked up 3 ids in the model's tokenizer (1,536 ids)",
        'against: the ids are valid, they stand for "The White Rabbit": "bad ids" is out',
        "experiment: sent remedy 1, send /prompt_token_ids as prompt: answered 200",
        "verdict: confirmed: remedy 1 passed",
    ]
    places = [next(place for place, text in enumerate(told) if text.startswith(start)) for start in order]
    assert places == sorted(places)


async def test_remedies_of_the_tokenizer_are_answered(nanoserve: DemoServer, desk: Desk) -> None:
    session, tokens = desk
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"prompt": [1008, 5072, 16331]}, "/v1/completions", "leave out the 2 ids that have no token"),
        ({"prompt": "The Queen " * 60, "max_tokens": 200}, "/v1/completions", "set /max_tokens to 135"),
        ({"prompt": [361] * 300, "max_tokens": 50}, "/v1/completions", "keep the last 206 ids of /prompt"),
        ({"prompt": "The Queen " * 200, "max_tokens": 50}, "/v1/completions", "keep the last 204 tokens of /prompt"),
        ({"prompt_token_ids": [361, 836]}, "/v1/completions", "send the text of /prompt_token_ids as prompt"),
    ]
    for body, path, title in cases:
        finding = await refused(session, nanoserve.base_url, body, path)
        weighed = await with_tokens(session, tokens, finding, progress=silent)
        titles = [remedy.title for remedy in weighed.diagnosis.remedies]
        trial = await session.try_remedy(weighed, titles.index(title) + 1)
        assert trial.verdict == "confirmed", title


async def test_ids_out_of_the_vocabulary_are_warned_of(nanoserve: DemoServer, desk: Desk) -> None:
    _, tokens = desk

    def request(body: Any) -> Request:
        return Request(method="POST", url=nanoserve.base_url, body=json.dumps(body).encode())

    warned = await warning_of(tokens, request({"input_ids": [[1], [1008, 5072]]}), progress=silent)
    assert warned.startswith("/input_ids/1 holds ids out of the vocabulary of 1,536: 5072 at position 1.")
    harmless: list[Any] = [{"prompt": [1, 2]}, {"prompt": "text"}, {"messages": []}, 5]
    for body in harmless:
        assert await warning_of(tokens, request(body), progress=silent) == ""


async def test_a_tokenizer_that_cannot_be_had_is_a_note(nanoserve: DemoServer, tmp_path: Path) -> None:
    async with (
        Session(base_url=nanoserve.base_url, sources=[nanoserve.source], keep=False) as session,
        Tokenizing(session, name=str(tmp_path)) as tokens,
    ):
        finding = await refused(session, nanoserve.base_url, {"prompt_token_ids": [361]})
        weighed = await with_tokens(session, tokens, finding, progress=silent)
        assert "there is no tokenizer in this folder" in weighed.diagnosis.notes[-1]
        request = finding.exchange.request
        assert "were not checked" in await warning_of(tokens, request, progress=silent)
