"""Asking servers on loopback what they are, friendly ones and others."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from answering import AnsweringServer, endless, redirect
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.debugger.session import Session
from llmdebug.demo.server import DemoServer
from llmdebug.families.load import load_families
from llmdebug.http.credentials import Credentials, credentials
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.http.options import ClientOptions
from llmdebug.linking.probe import probe
from llmdebug.linking.server import Server

MODELS = {"data": [{"id": "m", "owned_by": "sglang", "max_model_len": 4096}]}
SERVERS: dict[str, tuple[dict[str, Any], dict[str, str], tuple[str, str, tuple[str, ...]]]] = {
    "sglang": (
        {
            "/v1/models": MODELS,
            "/server_info": {"version": "0.5.8", "tokenizer_path": "t", "api_key": "sk-1", "tp_size": 2, "nested": {}},
            "/openapi.json": {"openapi": "3.1.0", "paths": {}},
            "/version": {"version": "7"},
        },
        {},
        ("sglang", "0.5.8", ("m",)),
    ),
    "old sglang": ({"/get_server_info": {"version": "0.3", "tokenizer_path": "t"}}, {}, ("sglang", "0.3", ())),
    "vllm": (
        {"/version": {"version": "0.20.1"}, "/v1/models": {"data": [{"id": "v", "owned_by": "vllm"}]}},
        {},
        ("vllm", "0.20.1", ("v",)),
    ),
    "vllm with a key": (
        {
            "/version": {"version": "0.20.1"},
            "/openapi.json": {"paths": dict.fromkeys(["/version", "/load", "/tokenize", "/v1/chat/completions"], "")},
        },
        {},
        ("vllm", "0.20.1", ()),
    ),
    "llama.cpp": (
        {
            "/props": {"build_info": "b6789-abcdef", "default_generation_settings": {"n_ctx": 8192}},
            "/v1/models": {"data": [{"id": "g"}]},
        },
        {"Server": "llama.cpp"},
        ("llama.cpp", "b6789", ("g",)),
    ),
    "llama-cpp-python": (
        {"/openapi.json": {"openapi": "3.1.0", "paths": {}, "info": {"title": "🦙 llama.cpp Python API", "version": "0.3.2"}}},
        {},
        ("llama-cpp-python", "0.3.2", ()),
    ),
    "ollama": (
        {"/": "Ollama is running", "/api/version": {"version": "0.9.1"}, "/api/tags": {"models": [{"name": "a"}, {"name": "b"}]}},
        {},
        ("ollama", "0.9.1", ("a", "b")),
    ),
    "tgi": (
        {"/info": {"router": "text-generation-router", "version": "3.3.4", "model_id": "t", "max_total_tokens": 2048}},
        {},
        ("tgi", "3.3.4", ("t",)),
    ),
    "litellm": (
        {"/v1/models": {"data": [{"id": "gpt"}]}, "/openapi.json": {"openapi": "3.1", "paths": {}, "info": {"title": "LiteLLM API"}}},
        {"x-litellm-version": "1.80.0"},
        ("litellm", "1.80.0", ("gpt",)),
    ),
    "textgen": (
        {"/v1/internal/model/info": {"model_name": "x", "lora_names": []}, "/openapi.json": {"openapi": "3.1.0", "paths": {}}},
        {},
        ("text-generation-webui", "", ("x",)),
    ),
    "any": ({"/openapi.json": {"openapi": "3.1.0", "paths": {}}}, {}, ("fastapi", "", ())),
}  # fmt: skip


async def probed(url: str, **options: Any) -> tuple[Server, list[str]]:
    async with Session(base_url=url, keep=False, **options) as session:
        return await session.probe(), session.warnings


@pytest.mark.parametrize("name", SERVERS)
async def test_families_are_recognised_with_version_and_models(name: str) -> None:
    answers, headers, expected = SERVERS[name]
    with AnsweringServer(answers, headers) as server:
        found, _ = await probed(server.url + "/v1")
    assert (found.family, found.version, found.models) == expected and not found.problem
    assert {method for method, _ in server.asked} == {"GET"} and len(server.asked) == len(set(server.asked))


async def test_limits_and_flags_are_read_without_secrets() -> None:
    answers, headers, _ = SERVERS["sglang"]
    with AnsweringServer(answers, headers) as server:
        found, _ = await probed(server.url)
    assert found.limits == {"tokens of a request and its answer": "4096"}
    assert found.flags == {"version": "0.5.8", "tokenizer_path": "t", "api_key": "(hidden)", "tp_size": 2}


async def test_the_demo_s_server_is_asked_once_a_session(nanoserve: DemoServer) -> None:
    async with Session(base_url=nanoserve.base_url, keep=False) as session:
        first = await session.probe()
        assert (first.family, first.models) == ("nanoserve", ("alice",))
        assert await session.probe() is first


async def test_nothing_is_asked_with_no_probe() -> None:
    with AnsweringServer({}) as server:
        found, _ = await probed(server.url, probing=False)
    assert server.asked == [] and found.problem == "The server was not asked what it is."


async def test_a_key_goes_along() -> None:
    def models(handler: BaseHTTPRequestHandler) -> None:
        allowed = handler.headers.get("Authorization") == "Bearer k"
        body = json.dumps(MODELS if allowed else {}).encode()
        handler.send_response(200 if allowed else 401)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    with AnsweringServer({"/v1/models": models}) as server:
        key: Credentials = credentials((), api_key_env="KEY", environment={"KEY": "k"})
        assert (await probed(server.url, credentials=key))[0].family == "sglang"
        assert (await probed(server.url))[0].problem == "The server is of no family that is known."


async def test_two_gigabytes_are_not_read() -> None:
    with AnsweringServer({"/version": endless, "/v1/models": MODELS, "/openapi.json": endless}) as server:
        found, _ = await probed(server.url)
    assert found.family == "sglang" and found.openapi is None


async def test_a_redirect_to_another_host_is_not_followed() -> None:
    with AnsweringServer({"/v1/models": MODELS}) as other:
        away = redirect(f"{other.url}/v1/models")
        with AnsweringServer({}) as server:
            server.answers = _Always(away)
            found, _ = await probed(server.url)
    assert other.asked == [] and found.problem.endswith("redirects elsewhere, which is not followed.")


async def test_a_redirect_on_the_same_host_is_followed_once() -> None:
    with AnsweringServer(
        {"/v1/models": redirect("/models/"), "/models/": MODELS, "/info": redirect("/info")}
    ) as server:
        found, _ = await probed(server.url)
    assert found.family == "sglang" and server.asked.count(("GET", "/info")) == 1


async def test_a_server_that_hangs_costs_few_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmdebug.debugger.probing.SECONDS", 0.2)
    with AnsweringServer({}) as server:

        def hang(handler: BaseHTTPRequestHandler) -> None:
            server.ended.wait(30)

        server.answers = _Always(hang)
        found, _ = await probed(server.url)
    assert "within 0.2 s" in found.problem and len(server.asked) <= 4


class _Always(dict[str, Any]):
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def get(self, key: str, default: Any = None) -> Any:
        return self._answer


async def test_a_description_that_takes_its_time_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmdebug.debugger.probing.SECONDS", 0.3)
    with AnsweringServer({"/v1/models": MODELS}) as server:

        def late(handler: BaseHTTPRequestHandler) -> None:
            server.answers["/openapi.json"] = {"openapi": "3.1.0", "paths": {}}
            server.ended.wait(30)

        server.answers["/openapi.json"] = late
        found, _ = await probed(server.url)
    assert found.family == "sglang" and found.openapi == {"openapi": "3.1.0", "paths": {}}


async def test_a_server_that_is_not_there_is_told() -> None:
    found, _ = await probed("http://127.0.0.1:1")
    assert found.problem.startswith("127.0.0.1:1 refused the connection")


async def test_options_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    found, _ = await probed("http://127.0.0.1:1", options=ClientOptions(ca_file=str(tmp_path / "absent.pem")))
    assert found.problem.startswith(f"The CA file {tmp_path}/absent.pem cannot be used")


async def test_families_of_the_user_are_known_and_bad_ones_told(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\ntitle = "Mine"\n[[recognise]]\nget = "/about"\njson = { "/kind" = "^mine$" }\n'
        '[[version]]\nget = "/about"\njson = "/release"\npattern = "v(.*)"\n'
    )
    (tmp_path / "bad.toml").write_text('name = "bad"\ntitle = "B"\n[[recognise]]\nget = "/x"\nbody = "("\n')
    with AnsweringServer({"/about": {"kind": "mine", "release": "v3"}}) as server:
        found, warnings = await probed(server.url, families=tmp_path)
    assert (found.told, found.family) == ("Mine 3", "mine")
    assert warnings == [
        f"{tmp_path}/bad.toml: recognise[0].body: '(' is no regular expression "
        "(missing ), unterminated subpattern at position 0)."
    ]


@given(st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["data", "id", "version", "owned_by", "info", "router", "paths"]), inner, max_size=4)), st.binary(max_size=20))  # fmt: skip
def test_any_answer_is_borne(value: Any, noise: bytes) -> None:
    import asyncio

    async def ask(path: str) -> Exchange:
        body = noise if len(path) % 3 == 0 else json.dumps(value).encode()
        return Exchange(request=Request(method="GET", url="http://h" + path), response=Response(status=200, body=body))

    found = asyncio.run(probe(load_families().by_name.values(), ask))
    assert found.family or found.problem
