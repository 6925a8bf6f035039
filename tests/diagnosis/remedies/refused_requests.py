"""A small server's source, and requests that it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from llmdebug.diagnosis.finding import Finding, Spot, blamed
from llmdebug.diagnosis.ground import Ground, ground_of
from llmdebug.diagnosis.question import Question, ask
from llmdebug.diagnosis.remedies.build import remedies
from llmdebug.diagnosis.verdict import Kind, Remedy
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree

SERVER = """
from typing import Any, Literal
from fastapi import FastAPI
from pydantic import BaseModel, Field

app = FastAPI()


class Options(BaseModel):
    include_usage: bool = False


class Function(BaseModel):
    name: str
    parameters: dict | None = None


class Tool(BaseModel):
    type: Literal["function"] = "function"
    function: Function


class Message(BaseModel):
    role: Literal["system", "user", "assistant"]
    content: str | None = None


class Common(BaseModel):
    model: str = "default"
    max_tokens: int | None = None
    temperature: float = Field(default=1.0, ge=0, le=2)
    top_p: float = 1.0
    n: int = 1
    stream: bool = False
    stream_options: Options | None = None
    stop: str | list[str] | None = None
    logit_bias: dict[str, float] | None = None


class CompletionRequest(Common):
    prompt: str | list[str] | list[int]
    logprobs: int | None = None


class ChatRequest(Common):
    messages: list[Message]
    logprobs: bool = False
    top_logprobs: int | None = Field(default=None, ge=0)
    tools: list[Tool] | None = None
    tool_choice: Literal["none", "auto"] = "auto"
    add_generation_prompt: bool = True
    continue_final_message: bool = False


class GenerateRequest(BaseModel):
    text: str | None = None
    input_ids: list[int] | None = None
    sampling_params: dict[str, Any] | None = None


class SamplingParams:
    def __init__(self, max_new_tokens: int = 16, temperature: float = 1.0, n: int = 1) -> None:
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n}")


@app.post("/v1/completions")
def complete(request: CompletionRequest):
    return {}


@app.post("/v1/chat/completions")
def chat(request: ChatRequest):
    return {}


@app.post("/generate")
def generate(request: GenerateRequest):
    return SamplingParams(**(request.sampling_params or {}))


@app.get("/v1/models")
def models():
    return {}


@app.get("/v1/models/{model_id}")
def one_model(model_id: str):
    return {}


@app.get("/loads")
def loads(timeout: float = 1.0, format: Literal["json", "text"] = "json"):
    return {}
"""

COMPLETIONS, CHAT, GENERATE = "/v1/completions", "/v1/chat/completions", "/generate"


def make_ground(folder: Path) -> Ground:
    """The server's source, read."""
    (folder / "server.py").write_text(SERVER, encoding="utf-8")
    return ground_of(open_index(open_tree(str(folder)), keep=False))


class Refused:
    """A refused request with what a diagnosis found."""

    def __init__(self, ground: Ground | None) -> None:
        self.ground = ground

    def question(
        self,
        path: str,
        body: Any,
        text: str = "",
        *,
        method: str = "POST",
        status: int = 400,
        headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),),
    ) -> Question:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        request = Request(method=method, url=f"http://localhost:8000{path}", headers=headers, body=data)
        answer = json.dumps({"error": {"message": text}}).encode()
        found = ask(Exchange(request=request, response=Response(status=status, body=answer)))
        assert found is not None
        return found

    def remedies(
        self,
        kind: Kind,
        path: str,
        body: Any,
        text: str = "",
        *fields: str,
        ignored: tuple[str, ...] = (),
        query: tuple[str, ...] = (),
        spots: tuple[Spot, ...] = (),
        models: tuple[str, ...] = (),
        **request: Any,
    ) -> tuple[Remedy, ...]:
        question = self.question(path, body, text, **request)
        named = [blamed(pointer, "", 0.9) for pointer in fields]
        named += [blamed(pointer, "", 0.9, "query") for pointer in query]
        finding = Finding(kind, named, list(spots), ignored=list(ignored))
        matches = self.ground.resolve(question.method, question.path).matches if self.ground else ()
        return remedies(question, finding, self.ground, matches[0] if matches else None, models)


def bodies(found: tuple[Remedy, ...]) -> list[Any]:
    """The first body of each remedy that sends something."""
    return [remedy.requests[0].body for remedy in found if remedy.requests]
