"""/v1/chat/completions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from . import generation
from .chat_template import ChatTemplate
from .engine import Engine
from .errors import ErrorResponse, create_error_response
from .generation import Sequence
from .logprobs import chat_logprobs
from .protocol import ChatCompletionRequest, ChatMessage, ContentPart, now, response_id
from .sampling import SamplingParams
from .serving import OpenAIServing, usage
from .settings import Settings
from .tool_parsers import TOOL_CALL_PARSERS

JSON = dict[str, Any]


class ChatServing(OpenAIServing):
    def __init__(self, engine: Engine, settings: Settings) -> None:
        super().__init__(engine, settings)
        self.template = ChatTemplate()

    async def create_chat_completion(
        self, request: ChatCompletionRequest
    ) -> JSON | AsyncIterator[JSON] | ErrorResponse:
        if (error := self.check_model(request.model)) is not None:
            return error
        if (message := self._check_features(request)) is not None:
            return create_error_response(message)
        prompt_ids = self.tokenizer.encode(self._render(request))
        max_tokens = request.max_completion_tokens or request.max_tokens
        if max_tokens is None:
            max_tokens = self.settings.max_model_len - len(prompt_ids)
        params = request.to_sampling_params(max_tokens, request.top_logprobs if request.logprobs else None)
        params.verify()
        self.check_context(prompt_ids, max_tokens)
        if request.stream:
            return self._stream(request, prompt_ids, params)
        return await self._full(request, prompt_ids, params)

    def _check_features(self, request: ChatCompletionRequest) -> str | None:
        """What of the request this server was not started for."""
        if request.tools and request.tool_choice != "none" and self.settings.tool_call_parser is None:
            return "tool choice requires --tool-call-parser to be set"
        if request.response_format is not None and request.response_format.type != "text":
            return f"response_format {request.response_format.type!r} needs a grammar backend, there is none"
        return None

    def _render(self, request: ChatCompletionRequest) -> str:
        tools = [tool.model_dump(exclude_unset=True) for tool in request.tools or []]
        return self.template.render(
            [self._template_message(message) for message in request.messages],
            tools=tools if request.tool_choice != "none" else [],
            add_generation_prompt=request.add_generation_prompt,
            continue_final_message=request.continue_final_message,
        )

    def _template_message(self, message: ChatMessage) -> JSON:
        if message.role == "tool" and message.tool_call_id is None:
            raise ValueError("a message of role tool needs the `tool_call_id` that it answers")
        calls = []
        for call in message.tool_calls or []:
            arguments = json.loads(call.function.arguments)
            calls.append({"function": {"name": call.function.name, "arguments": arguments}})
        if isinstance(message.content, list):
            content = "\n".join(self._part_text(part) for part in message.content)
        else:
            content = message.content or ""
        return {"role": message.role, "content": content, "tool_calls": calls}

    def _part_text(self, part: ContentPart) -> str:
        if part.type in ("image_url", "input_audio"):
            raise ValueError(f"{self.settings.served_model_name} is not a multimodal model")
        if part.type != "text":
            raise ValueError(f"Unknown part type: {part.type}")
        if part.text is None:
            raise ValueError("a content part of type text must have a `text`")
        return part.text

    async def _full(self, request: ChatCompletionRequest, prompt_ids: list[int], params: SamplingParams) -> JSON:
        sequences = [await generation.collect(self.engine, prompt_ids, params, index) for index in range(params.n)]
        totals = usage(len(prompt_ids), sum(len(sequence.steps) for sequence in sequences))
        return {
            **self._head("chat.completion", request),
            "choices": [self._choice(request, index, sequence) for index, sequence in enumerate(sequences)],
            "usage": totals.model_dump(),
        }

    def _choice(self, request: ChatCompletionRequest, index: int, sequence: Sequence) -> JSON:
        message: JSON = {"role": "assistant", "content": sequence.text}
        finish_reason = sequence.finish_reason
        if request.tools and self.settings.tool_call_parser is not None:
            content, calls = TOOL_CALL_PARSERS[self.settings.tool_call_parser](sequence.text)
            if calls:
                message = {"role": "assistant", "content": content or None, "tool_calls": calls}
                finish_reason = "tool_calls"
        return {
            "index": index,
            "message": message,
            "logprobs": chat_logprobs(self.tokenizer, sequence.steps) if request.logprobs else None,
            "finish_reason": finish_reason,
        }

    async def _stream(
        self, request: ChatCompletionRequest, prompt_ids: list[int], params: SamplingParams
    ) -> AsyncIterator[JSON]:
        head = self._head("chat.completion.chunk", request)
        completion_tokens = 0
        for index in range(params.n):
            yield head | {"choices": [_delta(index, {"role": "assistant", "content": ""})]}
            async for piece in generation.stream(self.engine, prompt_ids, params, index):
                completion_tokens += piece.step is not None
                choice = _delta(index, {"content": piece.text}, piece.finish_reason)
                if request.logprobs and piece.step is not None:
                    choice["logprobs"] = chat_logprobs(self.tokenizer, [piece.step])
                yield head | {"choices": [choice]}
        if request.stream_options is not None and request.stream_options.include_usage:
            totals = usage(len(prompt_ids), completion_tokens)
            yield head | {"choices": [], "usage": totals.model_dump()}

    def _head(self, kind: str, request: ChatCompletionRequest) -> JSON:
        return {"id": response_id("chatcmpl"), "object": kind, "created": now(), "model": request.model}


def _delta(index: int, delta: JSON, finish_reason: str | None = None) -> JSON:
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
