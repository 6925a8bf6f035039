from __future__ import annotations

import itertools
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from refusals import REFUSALS, Refusal

from llmdebug.demo.server import REQUESTS, SOURCE, DemoServer

USER = {"role": "user", "content": "Who are you?"}
SERVE = """
from llmdebug.demo.server import serve
serve(api_key="k", on_ready=lambda url, source: print(url, source, sep="\\n", flush=True))
"""
STATUS_OF_SHIPPED_REQUESTS = {
    "models": 200,
    "prompt-token-ids": 400,
    "prompt-as-ids": 200,
    "ids-of-another-model": 422,
    "batch-stream": 501,
    "chat-stream": 200,
    "greedy-n": 400,
    "context-length": 400,
    "tools-without-parser": 400,
    "broken-arguments": 400,
    "roles": 400,
    "top-logprobs": 400,
    "wrong-param-name": 400,
    "error-in-stream": 200,
    "bare-500": 500,
    "unknown-model": 404,
    "ignored-field": 200,
    "misspelt-path": 404,
}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with DemoServer() as server, httpx.Client(base_url=server.base_url, timeout=30) as client:
        yield client


def post(client: httpx.Client, path: str, **body: Any) -> Any:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def complete(client: httpx.Client, prompt: Any = "The White Rabbit", **fields: Any) -> Any:
    return post(client, "/v1/completions", model="alice", prompt=prompt, **fields)


def events(client: httpx.Client, path: str, **body: Any) -> list[Any]:
    answer = client.post(path, json={"model": "alice", "stream": True, **body})
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = answer.text.split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]


def test_usage_counts_the_tokens(client: httpx.Client) -> None:
    answer = complete(client, seed=1, logprobs=0, max_tokens=40)
    counted = post(client, "/tokenize", prompt="The White Rabbit")
    assert answer["usage"]["prompt_tokens"] == counted["count"] == len(counted["tokens"])
    tokens = answer["choices"][0]["logprobs"]["tokens"]
    assert answer["usage"]["completion_tokens"] == len(tokens)
    assert answer["usage"]["total_tokens"] == counted["count"] + len(tokens)
    assert "".join(tokens) == answer["choices"][0]["text"]


def test_chat_usage_counts_the_template(client: httpx.Client) -> None:
    answer = post(client, "/v1/chat/completions", model="alice", messages=[USER], max_tokens=5)
    rendered = "<|im_start|>user\nWho are you?<|im_end|>\n<|im_start|>assistant\n"
    assert answer["usage"]["prompt_tokens"] == post(client, "/tokenize", prompt=rendered)["count"]


def test_ids_come_back_as_the_text(client: httpx.Client) -> None:
    text = "Off with her head! naïve 🐇 日本"
    tokens = post(client, "/tokenize", prompt=text)["tokens"]
    assert post(client, "/detokenize", tokens=tokens) == {"prompt": text}


def test_ids_are_as_good_as_their_text(client: httpx.Client) -> None:
    tokens = post(client, "/tokenize", prompt="The White Rabbit")["tokens"]
    by_text = complete(client, temperature=0)["choices"]
    assert complete(client, tokens, temperature=0)["choices"] == by_text
    native = post(client, "/generate", input_ids=tokens, sampling_params={"temperature": 0})
    assert native["text"] == by_text[0]["text"]
    assert post(client, "/detokenize", tokens=native["output_ids"])["prompt"] == native["text"]


def test_lists_of_prompts_give_a_choice_each(client: httpx.Client) -> None:
    prompts = ["The Queen", "The King", "The Hatter"]
    ids = [post(client, "/tokenize", prompt=prompt)["tokens"] for prompt in prompts]
    choices = complete(client, prompts, temperature=0)["choices"]
    assert [choice["index"] for choice in choices] == [0, 1, 2]
    assert complete(client, ids, temperature=0)["choices"] == choices
    assert complete(client, "The King", temperature=0)["choices"][0]["text"] == choices[1]["text"]


def test_a_seed_fixes_the_text(client: httpx.Client) -> None:
    texts = [complete(client, seed=seed, max_tokens=30)["choices"][0]["text"] for seed in (7, 7, 8)]
    assert texts[0] == texts[1] != texts[2]
    with DemoServer() as other, httpx.Client(base_url=other.base_url) as second:
        assert complete(second, seed=7, max_tokens=30)["choices"][0]["text"] == texts[0]


def test_choices_of_one_request_differ(client: httpx.Client) -> None:
    choices = complete(client, seed=7, n=4, max_tokens=30)["choices"]
    assert len({choice["text"] for choice in choices}) == 4


def test_streamed_completion_is_the_whole_one(client: httpx.Client) -> None:
    fields = {"prompt": "The White Rabbit", "seed": 3, "max_tokens": 30, "n": 2, "stop": ["Queen"]}
    whole = complete(client, **fields)
    chunks = events(client, "/v1/completions", stream_options={"include_usage": True}, **fields)
    for choice in whole["choices"]:
        pieces = [chunk["choices"][0] for chunk in chunks[:-1] if chunk["choices"][0]["index"] == choice["index"]]
        assert "".join(piece["text"] for piece in pieces) == choice["text"]
        assert pieces[-1]["finish_reason"] == choice["finish_reason"]
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"] == whole["usage"]
    assert "usage" not in events(client, "/v1/completions", **fields)[-1]


def test_streamed_chat_is_the_whole_one(client: httpx.Client) -> None:
    fields = {"messages": [USER], "seed": 1, "temperature": 0.6, "logprobs": True, "top_logprobs": 2}
    whole = post(client, "/v1/chat/completions", model="alice", **fields)["choices"][0]
    deltas = [chunk["choices"][0] for chunk in events(client, "/v1/chat/completions", **fields)]
    assert deltas[0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(delta["delta"]["content"] for delta in deltas) == whole["message"]["content"]
    content = [entry for delta in deltas if delta["logprobs"] for entry in delta["logprobs"]["content"]]
    assert content == whole["logprobs"]["content"]
    assert all(len(entry["top_logprobs"]) == 2 for entry in content)


def test_native_stream_repeats_the_text_so_far(client: httpx.Client) -> None:
    fields = {"text": "The White Rabbit", "sampling_params": {"temperature": 0, "max_new_tokens": 9}}
    chunks = events(client, "/generate", **fields)
    assert len(chunks) > 5
    assert all(later["text"].startswith(early["text"]) for early, later in itertools.pairwise(chunks))
    assert chunks[-1]["text"] == post(client, "/generate", **fields)["text"]


def test_stream_arrives_token_by_token() -> None:
    body = {"model": "alice", "prompt": "The", "stream": True, "max_tokens": 200, "ignore_eos": True}
    with (
        DemoServer(token_interval=0.05) as server,
        httpx.Client(base_url=server.base_url) as client,
        client.stream("POST", "/v1/completions", json=body) as answer,
    ):
        parts = list(itertools.islice(answer.iter_raw(), 3))
        assert client.get("/health").status_code == 200
    assert len(parts) == 3
    assert not any(b"[DONE]" in part for part in parts)


@pytest.mark.parametrize("stop", ["Rabbit", ["zzz", "abb"], "R"])
def test_stop_sequences_end_the_text(client: httpx.Client, stop: Any) -> None:
    ids = {str(token): 100 for token in post(client, "/tokenize", prompt=" Rabbit")["tokens"]}
    choice = complete(client, temperature=0, logit_bias=ids, stop=stop)["choices"][0]
    assert choice["finish_reason"] == "stop"
    assert choice["text"] in (" ", " R")


def test_echo_and_logprobs_cover_the_prompt(client: httpx.Client) -> None:
    choice = complete(client, echo=True, logprobs=2, temperature=0, max_tokens=4)["choices"][0]
    logprobs = choice["logprobs"]
    assert choice["text"].startswith("The White Rabbit")
    assert "".join(logprobs["tokens"]) == choice["text"]
    assert logprobs["token_logprobs"][0] is None
    assert all(value < 0 for value in logprobs["token_logprobs"][1:])
    assert logprobs["text_offset"][:3] == [0, 3, 9]


def test_sampling_fields_are_obeyed(client: httpx.Client) -> None:
    greedy = complete(client, temperature=0, max_tokens=20)["choices"][0]["text"]
    assert complete(client, top_k=1, seed=5, max_tokens=20)["choices"][0]["text"] == greedy
    assert complete(client, top_p=1e-9, seed=5, max_tokens=20)["choices"][0]["text"] == greedy
    repeated = complete(client, temperature=0, max_tokens=60, frequency_penalty=2)["choices"][0]["text"]
    assert repeated != complete(client, temperature=0, max_tokens=60)["choices"][0]["text"]
    assert complete(client, seed=1, best_of=4, logprobs=0)["usage"]["completion_tokens"] > 16
    assert complete(client, seed=1, max_tokens=99, ignore_eos=True)["usage"]["completion_tokens"] == 99


def test_unknown_fields_are_ignored(client: httpx.Client) -> None:
    plain = complete(client, temperature=0)["choices"]
    assert complete(client, temperature=0, prompt_token_ids=[1], max_new_tokens=1)["choices"] == plain


def test_native_route_stops_at_the_context(client: httpx.Client) -> None:
    params = {"max_new_tokens": 10**9, "ignore_eos": True, "temperature": 0}
    answer = post(client, "/generate", input_ids=[372] * 250, sampling_params=params)
    assert answer["meta_info"]["completion_tokens"] == 6


def test_tools_are_taken_with_a_parser() -> None:
    tool = {"type": "function", "function": {"name": "weather"}}
    with (
        DemoServer(tool_call_parser="tagged") as server,
        httpx.Client(base_url=server.base_url) as client,
    ):
        answer = post(client, "/v1/chat/completions", model="alice", messages=[USER], tools=[tool], max_tokens=5)
    assert answer["choices"][0]["message"]["role"] == "assistant"


def test_key_opens_the_door() -> None:
    with DemoServer(api_key="k") as server, httpx.Client(base_url=server.base_url) as client:
        assert client.get("/v1/models").status_code == 401
        assert client.get("/v1/models", headers={"authorization": "Bearer k"}).status_code == 200
        assert client.get("/health").status_code == 200
        assert "api_key" not in client.get("/server_info").json()


def test_server_describes_itself(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {"/v1/completions", "/v1/chat/completions", "/v1/models", "/generate", "/tokenize"} <= set(paths)
    assert client.get("/v1/models").json()["data"][0]["max_model_len"] == 256
    assert client.get("/v1/models/alice").json()["id"] == "alice"
    assert client.get("/version").json() == {"version": client.get("/server_info").json()["version"]}


@pytest.mark.parametrize("refusal", [refusal for refusal in REFUSALS if not refusal.flags], ids=lambda r: r.name)
def test_refusal_over_the_wire(client: httpx.Client, refusal: Refusal) -> None:
    answer = client.request(refusal.method, refusal.path, content=refusal.content, headers=refusal.all_headers)
    assert answer.status_code == refusal.status
    assert refusal.says in answer.text.replace('\\"', '"')


def test_shipped_requests_answer_as_they_say(client: httpx.Client) -> None:
    text = REQUESTS.read_text(encoding="utf-8").replace("{{base_url}}", str(client.base_url).rstrip("/"))
    statuses = {}
    for part in re.split(r"^###.*\n", text, flags=re.MULTILINE)[1:]:
        name, method, url, body = re.fullmatch(  # type: ignore[union-attr]
            r"# @name (\S+)\n(\w+) (\S+)\n(?:Content-Type: application/json\n\n(.*))?\s*", part, re.DOTALL
        ).groups()
        headers = {"content-type": "application/json"} if body else {}
        statuses[name] = client.request(method, url, content=body, headers=headers).status_code
    assert statuses == STATUS_OF_SHIPPED_REQUESTS


def test_server_ends_with_its_block() -> None:
    threads = threading.enumerate()
    with DemoServer() as server:
        assert server.source == SOURCE
        assert (server.source / "protocol.py").is_file()
    assert threading.enumerate() == threads
    with pytest.raises(httpx.ConnectError):
        httpx.get(server.base_url)


def test_server_ends_while_a_stream_runs() -> None:
    threads = threading.enumerate()
    body = {"model": "alice", "prompt": "The", "stream": True, "max_tokens": 200, "ignore_eos": True}
    with httpx.Client() as client:
        with DemoServer(token_interval=1.0) as server:
            request = client.build_request("POST", f"{server.base_url}/v1/completions", json=body)
            answer = client.send(request, stream=True)
        with pytest.raises(httpx.RemoteProtocolError):
            answer.read()
    assert threading.enumerate() == threads


def test_taken_port_is_an_os_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        DemoServer(port=taken.getsockname()[1]).__enter__()


def test_unknown_flag_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="tensor_parallel_size"):
        DemoServer(tensor_parallel_size=2).__enter__()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_ends_quietly_on_a_signal(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SERVE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            base_url = process.stdout.readline().strip()
            assert process.stdout.readline().strip() == str(SOURCE)
            assert httpx.get(f"{base_url}/v1/models").status_code == 401
            process.send_signal(number)
            rest, errors = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (process.returncode, rest, errors) == (0, "", "")


def test_importing_the_demo_is_cheap() -> None:
    code = (
        "import sys, llmdebug.demo.server; print({'fastapi', 'uvicorn', 'pydantic', 'tokenizers'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
