"""One request for every refusal that the demo's server can make.

Data, no tests: `truth.true_site` finds out from the running server which line refuses each of them.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A request that is refused, or that fails inside a stream."""

    name: str
    path: str
    status: int
    method: str = "POST"
    body: Any = None
    """A JSON value; None: no body."""
    raw_body: bytes | None = None
    """Sent instead of `body` where the body is no JSON."""
    headers: dict[str, str] = {}
    """Beside the content type, which is application/json wherever there is a body and none is given."""
    flags: dict[str, Any] = {}
    """What the server must be started with to refuse so, as keyword arguments of `DemoServer`."""
    says: str
    """A piece of the answer."""
    in_tree: bool = True
    """Whether a line of the server refuses; a path that nobody serves has none."""

    @property
    def content(self) -> bytes:
        if self.raw_body is not None:
            return self.raw_body
        return b"" if self.body is None else json.dumps(self.body).encode()

    @property
    def all_headers(self) -> dict[str, str]:
        return {"content-type": "application/json", **self.headers} if self.content else self.headers


def completion(name: str, says: str, status: int = 400, **fields: Any) -> Refusal:
    body = {"model": "alice", "prompt": "Alice was", **fields}
    return Refusal(name=name, path="/v1/completions", status=status, says=says, body=body)


def chat(name: str, says: str, status: int = 400, **fields: Any) -> Refusal:
    body = {"model": "alice", "messages": [{"role": "user", "content": "Who are you?"}], **fields}
    return Refusal(name=name, path="/v1/chat/completions", status=status, says=says, body=body)


def native(name: str, says: str, path: str = "/generate", status: int = 400, **fields: Any) -> Refusal:
    return Refusal(name=name, path=path, status=status, says=says, body=fields)


USER = {"role": "user", "content": "Who are you?"}
ASSISTANT = {"role": "assistant", "content": "A caterpillar."}
TOOL = {"type": "function", "function": {"name": "weather"}}
CALL = {"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Oxford" "unit": "C"}'}}

SCHEMA = (
    Refusal(
        name="completion-token-ids-in-a-field-of-their-own",
        path="/v1/completions",
        status=400,
        body={"model": "alice", "prompt_token_ids": [372, 291, 261]},
        says="Field required",
    ),
    completion("completion-prompt-object", "valid string", prompt={"text": "Alice"}),
    completion("completion-prompt-mixed", "valid integer", prompt=[372, "Alice"]),
    completion("completion-max-tokens-text", "unable to parse string as an integer", max_tokens="many"),
    completion("completion-temperature-high", "less than or equal to 2", temperature=3),
    completion("completion-seed-negative", "greater than or equal to 0", seed=-1),
    completion("completion-logprobs-negative", "greater than or equal to 0", logprobs=-1),
    completion("completion-bias-text", "valid number", logit_bias={"372": "low"}),
    Refusal(
        name="completion-model-missing",
        path="/v1/completions",
        status=400,
        body={"prompt": "Alice was"},
        says="'model'",
    ),
    Refusal(name="completion-no-body", path="/v1/completions", status=400, says="Field required",
            headers={"content-type": "application/json"}),
    Refusal(name="completion-body-list", path="/v1/completions", status=400, body=["Alice"],
            says="valid dictionary"),
    Refusal(name="completion-broken-json", path="/v1/completions", status=400,
            raw_body=b'{"model": "alice", "prompt": "Alice",}', says="JSON decode error"),
    Refusal(
        name="chat-messages-missing",
        path="/v1/chat/completions",
        status=400,
        body={"model": "alice", "prompt": "Who are you?"},
        says="'messages'",
    ),
    chat("chat-messages-text", "valid list", messages="Who are you?"),
    chat("chat-unknown-role", "'system', 'user', 'assistant' or 'tool'",
         messages=[{"role": "developer", "content": "Be brief."}]),
    chat("chat-role-missing", "'role'", messages=[{"content": "Who are you?"}]),
    chat("chat-part-without-type", "'type'", messages=[{"role": "user", "content": [{"text": "Hi"}]}]),
    chat("chat-tool-without-name", "'name'", tools=[{"type": "function", "function": {}}]),
    chat("chat-tool-flat", "'function'", tools=[{"type": "function", "name": "weather"}]),
    chat("chat-tool-choice-unknown", "'none', 'auto' or 'required'", tools=[TOOL], tool_choice="always"),
    chat("chat-response-format-unknown", "'json_object'", response_format={"type": "json"}),
    chat("chat-arguments-object", "valid string", messages=[
        USER,
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {}}}]},
    ]),
    chat("chat-top-logprobs-negative", "greater than or equal to 0", logprobs=True, top_logprobs=-1),
    chat("chat-stream-options-text", "valid dictionary", stream=True, stream_options="usage"),
    native("generate-params-list", "valid dictionary", status=422, text="Alice", sampling_params=[]),
    native("generate-ids-text", "valid integer", status=422, input_ids=["Alice"]),
    native("tokenize-text-instead-of-prompt", "Field required", path="/tokenize", status=422, text="Alice"),
    native("tokenize-prompt-list", "valid string", path="/tokenize", status=422, prompt=["Alice"]),
    native("detokenize-empty", "at least 1 item", path="/detokenize", status=422, tokens=[]),
    Refusal(name="tokenize-broken-json", path="/tokenize", status=422, raw_body=b"{'prompt': 'Alice'}",
            says="JSON decode error"),
    Refusal(name="server-info-format", method="GET", path="/server_info?config_format=yaml", status=422,
            says="'json' or 'text'"),
)  # fmt: skip

VALIDATORS = (
    completion("completion-stream-options-alone", "can only be defined when",
               stream_options={"include_usage": True}),
    completion("completion-many-stops", "at most 4 stop sequences", stop=["a", "b", "c", "d", "e"]),
    completion("completion-bias-large", "must be in [-100, 100]", logit_bias={"372": 101}),
    completion("completion-best-of-below-n", "best_of must be at least n", n=3, best_of=2),
    completion("completion-best-of-stream", "cannot be streamed", best_of=2, stream=True),
    chat("chat-stream-options-alone", "can only be defined when", stream_options={"include_usage": True}),
    chat("chat-many-stops", "at most 4 stop sequences", stop=["a", "b", "c", "d", "e"]),
    chat("chat-top-logprobs-alone", "`logprobs` must be set", top_logprobs=2),
    chat("chat-no-messages", "at least one message", messages=[]),
    chat("chat-continue-and-prompt", "Cannot set both", messages=[USER, ASSISTANT],
         continue_final_message=True),
    chat("chat-tool-choice-without-tools", "`tools` must be set", tool_choice="required"),
    chat("chat-json-schema-missing", "needs a `json_schema`", response_format={"type": "json_schema"}),
    chat("chat-response-format-text", "Internal Server Error", status=500, response_format="json_object"),
    native("generate-nothing", "exactly one of `text` and `input_ids`", status=422, prompt="Alice"),
    native("generate-both", "exactly one of `text` and `input_ids`", status=422, text="a", input_ids=[372]),
)  # fmt: skip

SAMPLING = (
    completion("completion-n-zero", "n must be at least 1, got 0", n=0),
    completion("completion-n-many", "n must be at most 8, got 9", n=9),
    completion("completion-n-greedy", "n must be 1 when using greedy sampling, got 2", n=2, temperature=0),
    completion("completion-top-p-zero", "top_p must be in (0, 1], got 0.0", top_p=0),
    completion("completion-top-k-zero", "top_k must be -1", top_k=0),
    completion("completion-max-tokens-zero", "max_tokens must be at least 1, got 0", max_tokens=0),
    completion("completion-min-above-max", "min_tokens must be between 0 and max_tokens=4, got 9",
               min_tokens=9, max_tokens=4),
    completion("completion-logprobs-many", "sample logprobs of 6", logprobs=6),
    completion("completion-stop-empty", "stop cannot contain an empty string", stop=""),
    chat("chat-n-greedy", "n must be 1 when using greedy sampling, got 2", n=2, temperature=0),
    chat("chat-top-logprobs-many", "sample logprobs of 20", logprobs=True, top_logprobs=20),
    native("generate-temperature-negative", "temperature must be in [0, 2.0], got -1", text="Alice",
           sampling_params={"temperature": -1}),
    native("generate-temperature-text", "not supported between instances", text="Alice",
           sampling_params={"temperature": "hot"}),
    native("generate-max-new-tokens-fraction", "max_new_tokens must be an integer", text="Alice",
           sampling_params={"max_new_tokens": 5.5}),
    native("generate-penalty-high", "penalties must be in [-2, 2], got 3", text="Alice",
           sampling_params={"frequency_penalty": 3}),
    native("generate-bias-list", "logit_bias must map", text="Alice", sampling_params={"logit_bias": [372]}),
    native("generate-unknown-param", "unexpected keyword argument 'max_tokens'", text="Alice",
           sampling_params={"max_tokens": 5}),
    native("generate-n", "n is not supported here", text="Alice", sampling_params={"n": 2}),
)  # fmt: skip

SERVING = (
    completion("completion-unknown-model", "does not exist", status=404, model="gpt-4"),
    completion("completion-suffix", "suffix is not currently supported", status=501, suffix="!"),
    completion("completion-no-prompts", "at least one prompt", prompt=[]),
    completion("completion-prompt-empty", "at least one token", prompt=""),
    completion("completion-ids-empty", "at least one token", prompt=[[372], []]),
    completion("completion-id-out-of-vocabulary", "Token id 16331 is out of vocabulary", status=422,
               prompt=[1008, 507, 16331]),
    completion("completion-context", "you requested 302 tokens (2 in the prompt", max_tokens=300),
    completion("completion-bias-out-of-vocabulary", "token_id 99999 in logit_bias",
               logit_bias={"99999": 1}),
    completion("completion-bias-not-a-number", "invalid literal for int()", logit_bias={"Alice": 1}),
    completion("completion-bias-in-stream", "token_id 99999 in logit_bias", status=200, stream=True,
               logit_bias={"99999": 1}),
    chat("chat-unknown-model", "does not exist", status=404, model="gpt-4"),
    chat("chat-tools", "--tool-call-parser", tools=[TOOL]),
    chat("chat-json-object", "needs a grammar backend", response_format={"type": "json_object"}),
    chat("chat-arguments-broken", "Expecting ',' delimiter",
         messages=[USER, {"role": "assistant", "tool_calls": [CALL]}, USER]),
    chat("chat-tool-result-of-nothing", "`tool_call_id`", messages=[{"role": "tool", "content": "12"}]),
    chat("chat-image", "not a multimodal model", messages=[{
        "role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}],
    }]),
    chat("chat-part-unknown", "Unknown part type: video", messages=[
        {"role": "user", "content": [{"type": "video"}]},
    ]),
    chat("chat-part-without-text", "must have a `text`", messages=[
        {"role": "user", "content": [{"type": "text"}]},
    ]),
    chat("chat-two-users", "roles must alternate", messages=[USER, USER]),
    chat("chat-system-late", "System message must be at the beginning",
         messages=[USER, {"role": "system", "content": "Be brief."}]),
    chat("chat-context", "you requested", max_tokens=250),
    chat("chat-prompt-longer-than-context", "max_tokens must be at least 1, got -",
         messages=[{"role": "user", "content": "Alice " * 300}]),
    chat("chat-bias-in-stream", "token_id -1 in logit_bias", status=200, stream=True, logit_bias={"-1": 1}),
    native("generate-prompt-empty", "at least one token", text=""),
    native("generate-id-out-of-vocabulary", "Token id 16331", status=422, input_ids=[16331]),
    native("generate-context", "you requested 316 tokens (300 in the prompt", input_ids=[372] * 300),
    native("generate-batch-stream", "cannot be streamed", status=501, text=["a", "b"], stream=True),
    native("detokenize-out-of-vocabulary", "cannot decode: Token id", path="/detokenize", tokens=[99999]),
    Refusal(name="model-unknown", method="GET", path="/v1/models/gpt-4", status=404, says="No model is called"),
)  # fmt: skip

DOORS = (
    Refusal(name="key-missing", method="GET", path="/v1/models", status=401, flags={"api_key": "k"},
            says="Unauthorized"),
    Refusal(name="key-wrong", path="/v1/completions", status=401, flags={"api_key": "k"},
            headers={"authorization": "Bearer other"}, body={"model": "alice", "prompt": "Alice"},
            says="Unauthorized"),
    Refusal(name="body-too-large", path="/v1/completions", status=413, flags={"max_body_bytes": 64},
            body={"model": "alice", "prompt": "Alice" * 20}, says="the limit is 64"),
    Refusal(name="form-instead-of-json", path="/v1/completions", status=415,
            headers={"content-type": "application/x-www-form-urlencoded"}, raw_body=b"prompt=Alice",
            says="Unsupported Media Type"),
    Refusal(name="generate-as-text", path="/generate", status=415, headers={"content-type": "text/plain"},
            raw_body=b'{"text": "Alice"}', says="Unsupported Media Type"),
    Refusal(name="completions-by-get", method="GET", path="/v1/completions", status=405,
            says="Method Not Allowed"),
    Refusal(name="tokenize-by-put", method="PUT", path="/tokenize", status=405, body={"prompt": "a"},
            says="Method Not Allowed"),
    Refusal(name="tokenizer-info-not-enabled", method="GET", path="/tokenizer_info", status=404,
            says="Not Found"),
    Refusal(name="path-misspelt", path="/v1/completion", status=404,
            body={"model": "alice", "prompt": "Alice"}, says="Not Found", in_tree=False),
    Refusal(name="path-without-version", path="/chat/completions", status=404,
            body={"model": "alice", "messages": [USER]}, says="Not Found", in_tree=False),
)  # fmt: skip

REFUSALS: tuple[Refusal, ...] = SCHEMA + VALIDATORS + SAMPLING + SERVING + DOORS
