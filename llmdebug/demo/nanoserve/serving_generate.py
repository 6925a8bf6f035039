"""/generate, the native route."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from . import generation
from .errors import ContextLengthError, RequestError
from .generation import Sequence
from .protocol import GenerateRequest, response_id
from .sampling import SamplingParams
from .serving import OpenAIServing

JSON = dict[str, Any]


class GenerateServing(OpenAIServing):
    async def generate(self, request: GenerateRequest) -> JSON | list[JSON] | AsyncIterator[JSON]:
        prompts, batched = self._prompt_ids(request)
        params = self._sampling_params(request)
        for prompt_ids in prompts:
            if len(prompt_ids) >= self.settings.max_model_len:
                raise ContextLengthError(len(prompt_ids), params.max_new_tokens, self.settings.max_model_len)
        if request.stream:
            if batched:
                raise NotImplementedError("a batch of prompts cannot be streamed")
            return self._stream(prompts[0], self._clamped(prompts[0], params))
        answers = [await self._answer(request, prompt_ids, self._clamped(prompt_ids, params)) for prompt_ids in prompts]
        return answers if batched else answers[0]

    def _clamped(self, prompt_ids: list[int], params: SamplingParams) -> SamplingParams:
        """No more tokens than the context has room for."""
        room = self.settings.max_model_len - len(prompt_ids)
        return replace(params, max_new_tokens=min(params.max_new_tokens, room))

    def _prompt_ids(self, request: GenerateRequest) -> tuple[list[list[int]], bool]:
        inputs: Any = request.text if request.text is not None else request.input_ids
        batched = isinstance(inputs, list) and not (inputs and isinstance(inputs[0], int))
        prompts = []
        for item in inputs if batched else [inputs]:
            ids = self.tokenizer.encode(item) if isinstance(item, str) else item
            if not ids:
                raise ValueError("The prompt must contain at least one token")
            self.tokenizer.validate_ids(ids)
            prompts.append(ids)
        return prompts, batched

    def _sampling_params(self, request: GenerateRequest) -> SamplingParams:
        try:
            params = SamplingParams(**request.sampling_params)
            params.verify()
        except (TypeError, ValueError) as exc:
            raise RequestError(f"Invalid sampling parameters: {exc}", param="sampling_params") from exc
        if params.n != 1:
            raise RequestError("n is not supported here, send the prompt n times", param="sampling_params")
        return params

    async def _answer(self, request: GenerateRequest, prompt_ids: list[int], params: SamplingParams) -> JSON:
        sequence = await generation.collect(self.engine, prompt_ids, params)
        answer = self._body(prompt_ids, sequence)
        if request.return_logprob:
            answer["meta_info"]["output_token_logprobs"] = [[step.logprob, step.token_id] for step in sequence.steps]
        return answer

    async def _stream(self, prompt_ids: list[int], params: SamplingParams) -> AsyncIterator[JSON]:
        """Each event holds all of the text so far."""
        sequence = Sequence()
        async for piece in generation.stream(self.engine, prompt_ids, params):
            sequence.add(piece)
            yield self._body(prompt_ids, sequence)

    def _body(self, prompt_ids: list[int], sequence: Sequence) -> JSON:
        return {
            "text": sequence.text,
            "output_ids": [step.token_id for step in sequence.steps],
            "meta_info": {
                "id": response_id("gen"),
                "finish_reason": sequence.finish_reason,
                "prompt_tokens": len(prompt_ids),
                "completion_tokens": len(sequence.steps),
            },
        }
