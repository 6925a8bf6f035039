"""Sixty good requests to the demo's server: all are taken, and neither before nor after is there an alarm."""

from __future__ import annotations

import json
from typing import Any

import httpx

from llmdebug.demo.server import SOURCE, DemoServer
from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.preflight import preflight
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree

SAMPLING: tuple[dict[str, Any], ...] = (
    {},
    {"temperature": 0},
    {"temperature": 2.0},
    {"top_p": 0.5, "top_k": 4},
    {"n": 2},
    {"seed": 7, "frequency_penalty": -2.0},
    {"stop": "the"},
    {"stop": ["the", "a"], "presence_penalty": 2.0},
    {"logit_bias": {"7": -100, "8": 3.5}},
    {"ignore_eos": True, "min_tokens": 2},
    {"seed": None, "stop": None, "logit_bias": None, "stream_options": None},
    {"stream": True},
    {"stream": True, "stream_options": {"include_usage": True}},
)
PROMPTS: tuple[Any, ...] = ("Alice was", ["Alice", "was"], [361, 836], [[361], [836, 603]])
MESSAGES: tuple[Any, ...] = (
    [{"role": "user", "content": "Who are you?"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
)


def good() -> list[tuple[str, dict[str, Any]]]:
    completions = [{"prompt": prompt, **fields} for fields in SAMPLING for prompt in PROMPTS[: 3 if fields else 4]]
    chats = [{"messages": messages, **fields} for messages in MESSAGES for fields in SAMPLING[:9]]
    named = [{"model": "alice", "max_tokens": 4, **body} for body in completions[:40]]
    talks = [{"model": "alice", "max_tokens": 4, **body} for body in chats]
    found = [("/v1/completions", body) for body in named] + [("/v1/chat/completions", body) for body in talks]
    found.append(("/generate", {"text": "Alice", "sampling_params": {"max_new_tokens": 3}}))
    found.append(("/generate", {"input_ids": [361, 836], "sampling_params": {"max_new_tokens": 3, "temperature": 0}}))
    return found


def test_no_alarm() -> None:
    index = open_index(open_tree(str(SOURCE)), keep=False)
    alarms: list[str] = []
    with DemoServer() as server, httpx.Client(base_url=server.base_url) as client:
        requests = good()
        assert len(requests) >= 60
        for path, body in requests:
            answer = client.post(path, json=body)
            assert answer.status_code == 200, (path, body, answer.text)
            request = Request(method="POST", url=server.base_url + path, body=json.dumps(body).encode())
            response = Response(status=200, headers=tuple(answer.headers.items()), body=answer.content)
            told = diagnose(Exchange(request=request, response=response), [index])
            foreseen = preflight(request, [index])
            if told.kind != "none" or foreseen.kind != "none":
                alarms.append(f"{path} {body}: {told.summary}; {foreseen.summary}")
    assert not alarms
