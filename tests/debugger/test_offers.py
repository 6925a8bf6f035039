"""Requests to begin with, from what a server tells of itself."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from llmdebug.debugger.offers import ask_server, ask_trees, requests_of
from llmdebug.debugger.outcome import outcome
from llmdebug.debugger.session import Session
from llmdebug.demo.server import SOURCE, DemoServer


async def test_the_demo_offers_requests_that_it_answers() -> None:
    with DemoServer() as server:
        async with Session(base_url=server.base_url, keep=False) as session:
            offers = await ask_server(session, server.base_url)
            assert offers.models == ("alice",)
            by_name = {request.name: request for request in offers.requests}
            assert {"POST /v1/completions", "POST /v1/chat/completions", "GET /v1/models"} <= set(by_name)
            for name in ("POST /v1/completions", "POST /v1/chat/completions", "GET /v1/models", "POST /tokenize"):
                sent = await session.send(by_name[name])
                assert outcome(sent.exchange) == "answered", (name, by_name[name].body)


async def test_the_tree_offers_the_same_routes_without_a_server() -> None:
    async with Session(base_url="http://x", sources=[SOURCE], keep=False) as session:
        requests = await ask_trees(session, "http://x", "alice")
    by_name = {request.name: request for request in requests}
    assert {"POST /v1/completions", "POST /v1/chat/completions", "POST /tokenize", "GET /v1/models"} <= set(by_name)
    body = json.loads(by_name["POST /v1/completions"].body)
    assert body["model"] == "alice"
    assert "prompt" in body


async def test_a_server_that_is_not_there() -> None:
    async with Session(base_url="http://127.0.0.1:9", keep=False) as session:
        offers = await ask_server(session, "http://127.0.0.1:9")
    assert "refused the connection" in offers.problem
    assert offers.requests == ()


def test_a_schema_that_refers_to_itself_ends() -> None:
    node = {"type": "object", "required": ["child"], "properties": {"child": {"$ref": "#/components/schemas/N"}}}
    operation = {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/N"}}}}}
    document = {"paths": {"/x": {"post": operation}}, "components": {"schemas": {"N": node}}}
    (request,) = requests_of(document, "http://x", "m")
    assert json.loads(request.body)["child"]


names = st.sampled_from(
    ["type", "properties", "required", "items", "anyOf", "$ref", "enum", "default", "minimum", "model"]
)
anything: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["object", "array", "string", "#/paths", "integer"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=15,
)


@settings(max_examples=200)
@given(anything)
def test_any_document_gives_requests(schema: Any) -> None:
    operation = {"requestBody": {"content": {"application/json": {"schema": schema}}}}
    for document in ({"paths": schema}, {"paths": {"/x": schema}}, {"paths": {"/x": {"post": operation}}}):
        for request in requests_of(document, "http://x", "m"):
            if request.body:
                json.loads(request.body)
