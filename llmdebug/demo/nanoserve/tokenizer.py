"""Text to ids and back."""

from __future__ import annotations

from pathlib import Path

import tokenizers

from .errors import TokenIdError

REPLACEMENT = "\ufffd"


class Tokenizer:
    def __init__(self, path: Path) -> None:
        self._tokenizer = tokenizers.Tokenizer.from_file(str(path))
        self.vocab_size = self._tokenizer.get_vocab_size()
        self.eos_token_id = self.token_to_id("<|im_end|>")

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: list[int], skip_special_tokens: bool = True) -> str:
        self.validate_ids(ids)
        text: str = self._tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)
        return text

    def token_to_id(self, token: str) -> int:
        token_id = self._tokenizer.token_to_id(token)
        if token_id is None:
            raise KeyError(token)
        return int(token_id)

    def validate_ids(self, ids: list[int]) -> None:
        for token_id in ids:
            if not 0 <= token_id < self.vocab_size:
                raise TokenIdError(f"Token id {token_id} is out of vocabulary, ids are below {self.vocab_size}")


class TextStream:
    """Decodes tokens one by one, and keeps back bytes that are no whole character yet."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._ids: list[int] = []
        self._text = ""

    def push(self, token_id: int) -> str:
        self._ids.append(token_id)
        text = self._tokenizer.decode(self._ids)
        if text.endswith(REPLACEMENT):
            return ""
        fresh = text[len(self._text) :]
        self._text = text
        return fresh

    def finish(self) -> str:
        return self._tokenizer.decode(self._ids)[len(self._text) :]
