"""/v1/completions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from . import generation
from .engine import Step
from .errors import ErrorResponse
from .generation import Sequence
from .logprobs import completion_logprobs
from .protocol import CompletionRequest, now, response_id
from .sampling import SamplingParams
from .serving import OpenAIServing, usage

JSON = dict[str, Any]
DEFAULT_MAX_TOKENS = 16


class CompletionServing(OpenAIServing):
    async def create_completion(self, request: CompletionRequest) -> JSON | AsyncIterator[JSON] | ErrorResponse:
        if (error := self.check_model(request.model)) is not None:
            return error
        if request.suffix is not None:
            raise NotImplementedError("suffix is not currently supported")
        prompts = self._prompt_ids(request)
        max_tokens = DEFAULT_MAX_TOKENS if request.max_tokens is None else request.max_tokens
        params = request.to_sampling_params(max_tokens, request.logprobs)
        params.verify()
        for prompt_ids in prompts:
            self.check_context(prompt_ids, max_tokens)
        if request.stream:
            return self._stream(request, prompts, params)
        return await self._full(request, prompts, params)

    def _prompt_ids(self, request: CompletionRequest) -> list[list[int]]:
        prompt = request.prompt
        prompts: list[Any] = [prompt] if isinstance(prompt, str) or _flat(prompt) else list(prompt)
        if not prompts:
            raise ValueError("You must pass at least one prompt")
        result = []
        for item in prompts:
            ids = self.tokenizer.encode(item) if isinstance(item, str) else item
            self.tokenizer.validate_ids(ids)
            if not ids:
                raise ValueError("The prompt must contain at least one token")
            result.append(ids)
        return result

    async def _full(self, request: CompletionRequest, prompts: list[list[int]], params: SamplingParams) -> JSON:
        choices: list[JSON] = []
        completion_tokens = 0
        for number, prompt_ids in enumerate(prompts):
            wanted = max(request.best_of or 0, params.n)
            sequences = [
                await generation.collect(self.engine, prompt_ids, params, number * wanted + index)
                for index in range(wanted)
            ]
            completion_tokens += sum(len(sequence.steps) for sequence in sequences)
            if wanted > params.n:
                sequences.sort(key=lambda sequence: -sequence.mean_logprob)
            for sequence in sequences[: params.n]:
                choices.append(self._choice(request, len(choices), prompt_ids, sequence))
        prompt_tokens = sum(map(len, prompts))
        return self._body(request, choices) | {"usage": usage(prompt_tokens, completion_tokens).model_dump()}

    async def _stream(
        self, request: CompletionRequest, prompts: list[list[int]], params: SamplingParams
    ) -> AsyncIterator[JSON]:
        head = self._body(request, [])
        completion_tokens = 0
        for number, prompt_ids in enumerate(prompts):
            for index in range(number * params.n, (number + 1) * params.n):
                offset = 0
                if request.echo:
                    start = self._choice(request, index, prompt_ids, Sequence())
                    offset = len(start["text"])
                    yield head | {"choices": [start]}
                async for piece in generation.stream(self.engine, prompt_ids, params, index):
                    completion_tokens += piece.step is not None
                    choice: JSON = {
                        "index": index,
                        "text": piece.text,
                        "logprobs": self._logprobs(request, [piece.step] if piece.step else [], offset),
                        "finish_reason": piece.finish_reason,
                    }
                    offset += len(piece.text)
                    yield head | {"choices": [choice]}
        if request.stream_options is not None and request.stream_options.include_usage:
            totals = usage(sum(map(len, prompts)), completion_tokens)
            yield head | {"choices": [], "usage": totals.model_dump()}

    def _choice(self, request: CompletionRequest, index: int, prompt_ids: list[int], sequence: Sequence) -> JSON:
        text = sequence.text
        logprobs = self._logprobs(request, sequence.steps, 0)
        if request.echo:
            prompt_text = self.tokenizer.decode(prompt_ids, skip_special_tokens=False)
            text = prompt_text + text
            if request.logprobs is not None:
                scored = list(zip(prompt_ids, self.engine.score(prompt_ids, request.logprobs), strict=True))
                generated = [(step.token_id, step) for step in sequence.steps]
                logprobs = completion_logprobs(self.tokenizer, [*scored, *generated], 0)
        return {
            "index": index,
            "text": text,
            "logprobs": logprobs,
            "finish_reason": sequence.finish_reason,
        }

    def _logprobs(self, request: CompletionRequest, steps: list[Step], offset: int) -> JSON | None:
        if request.logprobs is None:
            return None
        pairs: list[tuple[int, Step | None]] = [(step.token_id, step) for step in steps]
        return completion_logprobs(self.tokenizer, pairs, offset)

    def _body(self, request: CompletionRequest, choices: list[JSON]) -> JSON:
        return {
            "id": response_id("cmpl"),
            "object": "text_completion",
            "created": now(),
            "model": request.model,
            "choices": choices,
        }


def _flat(prompt: list[Any]) -> bool:
    """Whether the list is one prompt's ids rather than several prompts."""
    return bool(prompt) and isinstance(prompt[0], int)
