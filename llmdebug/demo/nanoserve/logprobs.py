"""Log probabilities in the two formats of the OpenAI API."""

from __future__ import annotations

from typing import Any

from .engine import Step
from .tokenizer import Tokenizer

JSON = dict[str, Any]


def completion_logprobs(tokenizer: Tokenizer, steps: list[tuple[int, Step | None]], offset: int) -> JSON:
    """`steps` pairs each token with what the model thought of it; `offset` is where its text begins."""
    tokens: list[str] = []
    offsets: list[int] = []
    for token_id, _ in steps:
        offsets.append(offset)
        tokens.append(_text(tokenizer, token_id))
        offset += len(tokens[-1])
    return {
        "tokens": tokens,
        "token_logprobs": [step.logprob if step else None for _, step in steps],
        "top_logprobs": [
            {_text(tokenizer, token): logprob for token, logprob in step.top} if step else None for _, step in steps
        ],
        "text_offset": offsets,
    }


def chat_logprobs(tokenizer: Tokenizer, steps: list[Step]) -> JSON:
    content = [
        {
            **_entry(tokenizer, step.token_id, step.logprob),
            "top_logprobs": [_entry(tokenizer, token, logprob) for token, logprob in step.top],
        }
        for step in steps
    ]
    return {"content": content}


def _entry(tokenizer: Tokenizer, token_id: int, logprob: float) -> JSON:
    text = _text(tokenizer, token_id)
    return {"token": text, "logprob": logprob, "bytes": list(text.encode())}


def _text(tokenizer: Tokenizer, token_id: int) -> str:
    return tokenizer.decode([token_id], skip_special_tokens=False)
