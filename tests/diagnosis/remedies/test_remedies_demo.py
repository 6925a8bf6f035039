"""Remedies proven: each is sent to the server that refused."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from refusals import REFUSALS, Refusal

from llmdebug.demo.server import SOURCE, DemoServer
from llmdebug.diagnosis.complaint import read_answer
from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.verdict import Remedy
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import Index, open_index
from llmdebug.source.tree import open_tree

SURE = [
    "completion-token-ids-in-a-field-of-their-own", "completion-prompt-object", "completion-max-tokens-text",
    "completion-temperature-high", "completion-broken-json", "chat-messages-text", "chat-unknown-role",
    "chat-role-missing", "completion-stream-options-alone", "chat-top-logprobs-alone", "chat-continue-and-prompt",
    "completion-n-zero", "completion-logprobs-many", "generate-temperature-text", "generate-unknown-param",
    "completion-context", "chat-prompt-longer-than-context", "chat-arguments-broken", "chat-system-late",
    "generate-batch-stream", "tokenize-by-put", "path-misspelt", "generate-as-text",
]  # fmt: skip
SHARE = 0.85
"""Of all refusals, answered by one of the first two remedies."""


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=30, trust_env=False) as client:
        yield client


@pytest.fixture(scope="module")
def server() -> Iterator[DemoServer]:
    with DemoServer() as server:
        yield server


@pytest.fixture(scope="module")
def index() -> Index:
    return open_index(open_tree(str(SOURCE)), keep=False)


def send(client: httpx.Client, method: str, url: str, headers: dict[str, str], body: bytes) -> Response:
    answer = client.request(method, url, headers=headers, content=body)
    return Response(status=answer.status_code, headers=tuple(answer.headers.items()), body=answer.content)


def offered(client: httpx.Client, index: Index, base_url: str, refusal: Refusal) -> tuple[Remedy, ...]:
    url, headers = base_url + refusal.path, refusal.all_headers
    response = send(client, refusal.method, url, headers, refusal.content)
    request = Request(method=refusal.method, url=url, headers=tuple(headers.items()), body=refusal.content)
    return diagnose(Exchange(request=request, response=response), [index]).remedies


def is_answered(client: httpx.Client, remedy: Remedy) -> bool:
    for request in remedy.requests:
        body = b"" if request.body is None else json.dumps(request.body, allow_nan=False).encode()
        if read_answer(send(client, request.method, request.url, request.headers, body)).refused:
            return False
    return bool(remedy.requests)


@pytest.mark.parametrize("name", SURE)
def test_the_first_remedy_is_answered(client: httpx.Client, index: Index, server: DemoServer, name: str) -> None:
    refusal = next(refusal for refusal in REFUSALS if refusal.name == name)
    found = offered(client, index, server.base_url, refusal)
    assert is_answered(client, found[0]), found[0]


def test_one_of_the_first_two_is_answered_for_nearly_all(
    client: httpx.Client, index: Index, server: DemoServer
) -> None:
    known = [refusal for refusal in REFUSALS if not refusal.flags]
    missed = [
        refusal.name
        for refusal in known
        if not any(is_answered(client, remedy) for remedy in offered(client, index, server.base_url, refusal)[:2])
    ]
    assert len(missed) <= (1 - SHARE) * len(known), missed
