"""What the OpenAI routes have in common."""

from __future__ import annotations

from http import HTTPStatus

from .engine import Engine
from .errors import ContextLengthError, ErrorResponse, create_error_response
from .protocol import Usage
from .settings import Settings


class OpenAIServing:
    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.engine = engine
        self.settings = settings
        self.tokenizer = engine.tokenizer

    def check_model(self, model: str) -> ErrorResponse | None:
        if model == self.settings.served_model_name:
            return None
        return create_error_response(
            f"The model `{model}` does not exist.",
            err_type="NotFoundError",
            status_code=HTTPStatus.NOT_FOUND,
            param="model",
        )

    def check_context(self, prompt_ids: list[int], max_tokens: int) -> None:
        limit = self.settings.max_model_len
        if len(prompt_ids) + max_tokens > limit:
            raise ContextLengthError(len(prompt_ids), max_tokens, limit)


def usage(prompt_tokens: int, completion_tokens: int) -> Usage:
    return Usage(
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        total_tokens=prompt_tokens + completion_tokens,
    )
