from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused_requests import CHAT, COMPLETIONS, GENERATE, Refused, bodies, make_ground

from llmdebug.diagnosis.finding import Spot
from llmdebug.diagnosis.remedies.build import MAKERS
from llmdebug.jsontext.patch import apply

USER = {"role": "user", "content": "Hello there"}


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Refused:
    return Refused(make_ground(tmp_path_factory.mktemp("server")))


def chat(**fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [USER], **fields}


def completion(**fields: Any) -> dict[str, Any]:
    return {"model": "m", "prompt": "Once", **fields}


# the founding cases


def test_ids_in_a_field_that_is_none_are_sent_as_the_missing_one_or_to_the_route_that_takes_ids(
    refused: Refused,
) -> None:
    sent = {"model": "m", "prompt_token_ids": [8, 5, 3], "max_tokens": 8, "temperature": 0}
    first, second, *_ = refused.remedies(
        "missing_field", COMPLETIONS, sent, "Field required", "/prompt", ignored=("/prompt_token_ids",)
    )
    assert first.requests[0].body == {"model": "m", "prompt": [8, 5, 3], "max_tokens": 8, "temperature": 0}
    assert first.requests[0].url == "http://localhost:8000/v1/completions"
    assert first.patch == ({"op": "move", "from": "/prompt_token_ids", "path": "/prompt"},)
    assert second.requests[0].url == "http://localhost:8000/generate"
    assert second.requests[0].body == {
        "input_ids": [8, 5, 3],
        "sampling_params": {"max_new_tokens": 8, "temperature": 0},
    }


def test_a_list_of_prompts_becomes_one_request_each(refused: Refused) -> None:
    first = refused.remedies(
        "unsupported", COMPLETIONS, completion(prompt=["Hello", "World"]), "Batches are not supported.", "/prompt"
    )[0]
    assert [request.body["prompt"] for request in first.requests] == ["Hello", "World"]


# each kind: what the first remedy, or one of the first, sends


@pytest.mark.parametrize(
    ("kind", "path", "body", "text", "fields", "expected"),
    [
        (
            "missing_field",
            CHAT,
            {"model": "m"},
            "Field required",
            ["/messages"],
            {"messages": [{"role": "user", "content": "Hello"}]},
        ),
        (
            "missing_field",
            CHAT,
            chat(messages=[{"content": "Hi"}]),
            "Field required",
            ["/messages/0/role"],
            {"messages": [{"role": "user", "content": "Hi"}]},
        ),
        (
            "missing_field",
            CHAT,
            chat(tools=[{"type": "function", "name": "f", "parameters": {}}]),
            "Field required",
            ["/tools/0/function"],
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]},
        ),
        (
            "unknown_field",
            GENERATE,
            {"text": "a", "sampling_params": {"max_tokens": 5}},
            "unexpected keyword argument",
            ["/sampling_params/max_tokens"],
            {"sampling_params": {"max_new_tokens": 5}},
        ),
        ("wrong_type", COMPLETIONS, completion(max_tokens="5"), "valid integer", ["/max_tokens"], {"max_tokens": 5}),
        ("wrong_type", COMPLETIONS, completion(max_tokens=4.2), "valid integer", ["/max_tokens"], {"max_tokens": 4}),
        ("wrong_type", COMPLETIONS, completion(stream="yes please"), "valid boolean", ["/stream"], {"stream": False}),
        (
            "wrong_type",
            COMPLETIONS,
            completion(prompt={"text": "Once"}),
            "valid string",
            ["/prompt"],
            {"prompt": "Once"},
        ),
        (
            "wrong_type",
            COMPLETIONS,
            completion(prompt={"ids": [1, 2]}),
            "valid string",
            ["/prompt"],
            {"prompt": [1, 2]},
        ),
        (
            "wrong_type",
            COMPLETIONS,
            completion(stream_options="usage"),
            "object",
            ["/stream_options"],
            {"stream_options": {"include_usage": True}},
        ),
        (
            "wrong_type",
            CHAT,
            chat(messages="Hi"),
            "valid list",
            ["/messages"],
            {"messages": [{"role": "user", "content": "Hi"}]},
        ),
        (
            "wrong_type",
            CHAT,
            chat(messages=[{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]),
            "string",
            ["/messages/0/content"],
            {"messages": [{"role": "user", "content": "Hi"}]},
        ),
        ("wrong_type", CHAT, chat(logprobs=5), "valid boolean", ["/logprobs"], {"logprobs": True}),
        (
            "out_of_range",
            COMPLETIONS,
            completion(temperature=3),
            "less than or equal to 2",
            ["/temperature"],
            {"temperature": 2},
        ),
        ("out_of_range", COMPLETIONS, completion(n=0), "n must be at least 1, got 0", ["/n"], {"n": 1}),
        (
            "out_of_range",
            COMPLETIONS,
            completion(top_p=0.0),
            "top_p must be in (0, 1], got 0.0",
            ["/top_p"],
            {"top_p": 0.01},
        ),
        (
            "out_of_range",
            COMPLETIONS,
            completion(logprobs=50),
            "50 is greater than max allowed: 20",
            ["/logprobs"],
            {"logprobs": 20},
        ),
        (
            "out_of_range",
            COMPLETIONS,
            completion(stop=["a", "b", "c"]),
            "at most 2 stop sequences, got 3",
            ["/stop"],
            {"stop": ["a", "b"]},
        ),
        (
            "out_of_range",
            COMPLETIONS,
            completion(prompt=[5, 99999]),
            "Token id 99999 is out of vocabulary",
            ["/prompt/1"],
            {"prompt": [5]},
        ),
        (
            "out_of_range",
            COMPLETIONS,
            completion(logit_bias={"99999": 1, "5": 1}),
            "token_id 99999 is out of vocabulary",
            ["/logit_bias/99999"],
            {"logit_bias": {"5": 1}},
        ),
        (
            "bad_value",
            CHAT,
            chat(tool_choice="Auto"),
            "Input should be 'none' or 'auto'",
            ["/tool_choice"],
            {"tool_choice": "auto"},
        ),
        (
            "bad_value",
            COMPLETIONS,
            completion(stop=["a", ""]),
            "stop cannot contain an empty string",
            ["/stop"],
            {"stop": ["a"]},
        ),
        (
            "bad_value",
            CHAT,
            chat(messages=[USER, {"role": "system", "content": "Brief."}]),
            "System message must be at the beginning",
            ["/messages"],
            {"messages": [{"role": "system", "content": "Brief."}, USER]},
        ),
        (
            "conflict",
            CHAT,
            chat(top_logprobs=3),
            "when using `top_logprobs`, `logprobs` must be set to true",
            ["/top_logprobs"],
            {"logprobs": True},
        ),
        (
            "conflict",
            COMPLETIONS,
            completion(stream_options={"include_usage": True}),
            "can only be defined when `stream=True`",
            ["/stream_options"],
            {"stream": True},
        ),
        (
            "conflict",
            CHAT,
            chat(continue_final_message=True),
            "Cannot set both `continue_final_message` and `add_generation_prompt` to true",
            ["/continue_final_message"],
            {"add_generation_prompt": False},
        ),
        (
            "conflict",
            COMPLETIONS,
            completion(n=2, temperature=0),
            "n must be 1 when using greedy sampling",
            ["/n"],
            {"n": 1},
        ),
        (
            "context_length",
            COMPLETIONS,
            completion(max_tokens=300),
            "maximum context length is 256 tokens, you requested 302 tokens (2 in the prompt, 300 in the completion)",
            ["/prompt"],
            {"max_tokens": 254},
        ),
        (
            "context_length",
            COMPLETIONS,
            completion(prompt=[7] * 300),
            "maximum context length is 256 tokens, got 300 input tokens",
            ["/prompt"],
            {"prompt": [7] * 240},
        ),
        (
            "malformed_json",
            COMPLETIONS,
            b"{'model': 'm', 'prompt': 'Once',}",
            "JSON decode error",
            [],
            {"prompt": "Once"},
        ),
        (
            "malformed_json",
            CHAT,
            chat(
                messages=[
                    USER,
                    {
                        "role": "assistant",
                        "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": '{"a": 1 "b": 2}'}}],
                    },
                ]
            ),
            "Expecting ',' delimiter",
            [],
            {
                "messages": [
                    USER,
                    {
                        "role": "assistant",
                        "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": '{"a": 1, "b": 2}'}}],
                    },
                ]
            },
        ),
        (
            "model_not_found",
            COMPLETIONS,
            completion(model="gpt"),
            "The model `gpt` does not exist. Available: tiny.",
            ["/model"],
            {"model": "tiny"},
        ),
        (
            "ignored_field",
            GENERATE,
            {"text": "a", "max_new_tokens": 5},
            "",
            [],
            {"sampling_params": {"max_new_tokens": 5}},
        ),
    ],
)
def test_the_first_remedy_changes_what_it_must(
    refused: Refused,
    kind: Any,
    path: str,
    body: Any,
    text: str,
    fields: list[str],
    expected: dict[str, Any],
) -> None:
    ignored = ("/max_new_tokens",) if kind == "ignored_field" else ()
    found = bodies(refused.remedies(kind, path, body, text, *fields, ignored=ignored))
    assert any(expected.items() <= made.items() for made in found[:2]), found


def test_what_was_wanted_is_dropped_last(refused: Refused) -> None:
    found = bodies(
        refused.remedies("out_of_range", COMPLETIONS, completion(temperature=3), "at most 2", "/temperature")
    )
    assert found[0]["temperature"] == 2
    assert "temperature" not in found[-1]


def test_several_mistakes_are_put_right_together(refused: Refused) -> None:
    sent = completion(max_tokens="5", temperature=7)
    found = bodies(refused.remedies("wrong_type", COMPLETIONS, sent, "valid integer", "/max_tokens"))
    assert found[0]["max_tokens"] == 5
    assert found[0]["temperature"] == 2


def test_a_body_that_the_refusing_check_refuses_again_comes_last(refused: Refused) -> None:
    check = Spot("server.py", 72, 72, "SamplingParams.__init__", "raises", 0.9)
    sent = {"text": "a", "sampling_params": {"n": 0}}
    found = refused.remedies(
        "out_of_range", GENERATE, sent, "n must be at least 1, got 0", "/sampling_params/n", spots=(check,)
    )
    assert bodies(found)[0]["sampling_params"] == {"n": 1}


def test_a_flag_is_advice_beside_the_request_without_the_feature(refused: Refused) -> None:
    found = refused.remedies(
        "unsupported",
        CHAT,
        chat(tools=[{"function": {"name": "f"}}], tool_choice="auto"),
        "tool choice requires --tool-call-parser to be set",
        "/tools",
    )
    flag = next(remedy for remedy in found if not remedy.requests)
    assert "--tool-call-parser" in flag.title
    assert any(remedy.requests and not {"tools", "tool_choice"} & remedy.requests[0].body.keys() for remedy in found)


def test_several_answers_become_several_requests(refused: Refused) -> None:
    first = refused.remedies("unsupported", COMPLETIONS, completion(n=3), "n is not supported", "/n")[0]
    assert [request.body for request in first.requests] == [completion()] * 3


# what is not in the body


def test_a_misspelt_path_is_corrected_and_the_gateway_prefix_stays(refused: Refused) -> None:
    first = refused.remedies("no_route", "/v1/completion?x=1", completion(), "Not Found", status=404)[0]
    assert first.requests[0].url == "http://localhost:8000/v1/completions?x=1"
    assert first.requests[0].body == completion()


def test_the_method_that_the_path_takes(refused: Refused) -> None:
    first = refused.remedies("wrong_method", GENERATE, None, "Method Not Allowed", method="GET", status=405)[0]
    assert first.requests[0].method == "POST"


def test_one_thing_that_is_not_there_leads_to_the_list(refused: Refused) -> None:
    found = refused.remedies("model_not_found", "/v1/models/gpt", None, "no such model", method="GET", status=404)
    assert found[0].requests[0].url == "http://localhost:8000/v1/models"


def test_a_key_is_never_written_down(refused: Refused) -> None:
    headers = (("Authorization", "Basic c2VjcmV0"), ("Content-Length", "9"), ("Host", "x"), ("X-Trace", "1"))
    first = refused.remedies("auth", COMPLETIONS, completion(), "Unauthorized", status=401, headers=headers)[0]
    assert first.requests[0].headers == {
        "X-Trace": "1", "Content-Type": "application/json", "Authorization": "Bearer {{secret:API_KEY}}",
    }  # fmt: skip
    assert first.requests[0].body == completion()


def test_a_form_becomes_json(refused: Refused) -> None:
    headers = (("Content-Type", "application/x-www-form-urlencoded"),)
    first = refused.remedies(
        "content_type", COMPLETIONS, b"prompt=Once&max_tokens=4&model=m", "Unsupported", status=415, headers=headers
    )[0]
    assert first.requests[0].body == {"prompt": "Once", "max_tokens": 4, "model": "m"}
    assert first.requests[0].headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("kind", "query", "text", "blamed", "expected"),
    [
        ("bad_value", "format=yaml", "Input should be 'json' or 'text'", "/format", "format=json"),
        ("out_of_range", "timeout=-1&format=text", "greater than or equal to 0", "/timeout", "timeout=0&format=text"),
    ],
)
def test_parameters_of_the_query(
    refused: Refused, kind: Any, query: str, text: str, blamed: str, expected: str
) -> None:
    first = refused.remedies(kind, f"/loads?{query}", None, text, method="GET", query=(blamed,))[0]
    assert first.requests[0].url == f"http://localhost:8000/loads?{expected}"
    assert first.requests[0].body is None


def test_a_busy_server_is_to_be_asked_again_later(refused: Refused) -> None:
    found = refused.remedies("upstream", COMPLETIONS, completion(), "overloaded", status=503)
    assert [remedy.requests for remedy in found] == [()]


def test_the_models_that_a_live_server_lists_come_first(refused: Refused) -> None:
    found = refused.remedies("model_not_found", COMPLETIONS, completion(), "no such model", "/model", models=("tiny",))
    assert bodies(found)[0]["model"] == "tiny"


# what holds for all of them


def test_without_a_tree_the_words_are_enough() -> None:
    found = bodies(
        Refused(None).remedies("out_of_range", COMPLETIONS, completion(n=9), "n must be at most 8, got 9", "/n")
    )
    assert found[0]["n"] == 8


def test_a_remedy_is_json_also_where_the_request_was_not(refused: Refused) -> None:
    sent = b'{"model": "m", "prompt": "Once", "temperature": Infinity, "n": 0}'
    for body in bodies(refused.remedies("out_of_range", COMPLETIONS, sent, "n must be at least 1", "/n")):
        json.dumps(body, allow_nan=False)


def test_a_body_too_large_to_work_on_has_only_remedies_that_leave_it_alone(refused: Refused) -> None:
    sent = completion(prompt="x" * 2_100_000)
    assert refused.remedies("wrong_type", COMPLETIONS, sent, "valid string", "/prompt") == ()
    assert refused.remedies("auth", COMPLETIONS, sent, "Unauthorized", status=401) != ()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    ["model", "prompt", "messages", "max_tokens", "temperature", "n", "stop", "logit_bias", "tools", "x", "input_ids"]
)
TEXTS = st.sampled_from(
    [
        "at most 4, got 9",
        "must be in (0, 1]",
        "'a' or 'b'",
        "`prompt` must be set",
        "requires --flag",
        "Expecting ','",
        "maximum context length is 5 tokens, got 9",
        "role must alternate",
        "duplicate",
        "",
        "n must be 1 when",
    ]
)


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from(sorted(MAKERS)),
    body=st.dictionaries(NAMES, VALUES, max_size=5) | VALUES,
    fields=st.lists(
        st.sampled_from(["", "/prompt", "/messages/0/content", "/stop/1", "/n", "/x/y", "/logit_bias/5"]), max_size=3
    ),
    text=TEXTS,
    path=st.sampled_from([COMPLETIONS, CHAT, GENERATE, "/nowhere", "/v1/models/x"]),
)
def test_no_body_breaks_it(refused: Refused, kind: Any, body: Any, fields: list[str], text: str, path: str) -> None:
    before = json.dumps(body)
    found = refused.remedies(kind, path, body, text, *fields, ignored=("/x",))
    assert json.dumps(body) == before
    assert len(found) <= 6
    for remedy in found:
        assert remedy.title and remedy.why
        for request in remedy.requests:
            json.dumps(request.body, allow_nan=False)


@settings(max_examples=100, deadline=None)
@given(body=st.dictionaries(NAMES, VALUES, min_size=1, max_size=5), text=TEXTS)
def test_the_patch_leads_to_the_body(refused: Refused, body: Any, text: str) -> None:
    if "NaN" in json.dumps(body) or "Infinity" in json.dumps(body):
        return
    for remedy in refused.remedies("bad_value", COMPLETIONS, body, text, *(f"/{key}" for key in body)):
        if remedy.requests:
            assert apply(remedy.patch, body) == remedy.requests[0].body
