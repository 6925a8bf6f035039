"""The server's own tokenizer, over the routes that its family has for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from llmdebug.families.family import Tokenize
from llmdebug.http.baseurl import join, root_of
from llmdebug.http.exchange import Exchange, Request
from llmdebug.tokens.values import NoAnswerError, TokenizerError

Ask = Callable[[Request], Awaitable[Exchange]]

JSON_TYPE = (("Content-Type", "application/json"),)
MAX_ANSWER = 64_000_000
MAX_QUOTED = 200
ANSWER_S = 15.0
"""Longest the server may take for one question; the longest texts take a few."""


class ServerTokenizer:
    """Asks the server with POST, one request a question."""

    def __init__(self, ask: Ask, base_url: str, routes: Tokenize, model: str = "") -> None:
        self._ask = ask
        self._base_url = base_url
        self._routes = routes
        self._model = model

    async def encode(self, text: str, *, special: bool = False) -> tuple[int, ...]:
        """The ids of a text. Raises TokenizerError."""
        flags = {self._routes.special: special} if self._routes.special else {}
        answer = await self._asked(self._routes.encode, {self._routes.text: text, **flags})
        found = _ids_in(answer, self._routes.ids)
        if found is None:
            raise TokenizerError(f"The server's answer to POST {self._routes.encode} holds no ids.")
        return found

    async def decode(self, ids: Sequence[int]) -> str:
        """The text of ids. Raises TokenizerError."""
        if not self._routes.decode:
            raise TokenizerError("The server has no route that turns ids into text.")
        answer = await self._asked(self._routes.decode, {self._routes.ids: list(ids)})
        text = answer.get(self._routes.answer) if isinstance(answer, dict) else None
        if not isinstance(text, str):
            raise TokenizerError(f"The server's answer to POST {self._routes.decode} holds no text.")
        return text

    async def _asked(self, path: str, body: dict[str, Any]) -> Any:
        try:
            async with asyncio.timeout(ANSWER_S):
                exchange = await self._ask(self._request(path, body))
        except TimeoutError as error:
            told = f"The server gives no tokens: POST {path} was not answered within {ANSWER_S:g} s."
            raise NoAnswerError(told) from error
        response = exchange.response
        if response is None:
            failure = exchange.failure.message if exchange.failure else "no answer came."
            raise NoAnswerError(f"The server gives no tokens: {failure}")
        said = " ".join(response.body[:MAX_QUOTED].decode("utf-8", "replace").split())
        if response.status != 200 or len(response.body) > MAX_ANSWER:
            raise TokenizerError(f"The server gives no tokens: POST {path} answered {response.status}: {said}")
        try:
            return msgspec.json.decode(response.body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise TokenizerError(f"The server gives no tokens: POST {path} answered with no JSON: {said}") from error

    def _request(self, path: str, body: dict[str, Any]) -> Request:
        complete = {**({"model": self._model} if self._model else {}), **body}
        try:
            data = json.dumps(complete, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            raise TokenizerError("The text holds half a surrogate pair: no UTF-8.") from error
        return Request(method="POST", url=join(root_of(self._base_url), path), headers=JSON_TYPE, body=data)


def _ids_in(value: Any, key: str) -> tuple[int, ...] | None:
    """Ids as a list of integers, or of objects with an `id`."""
    found = value.get(key) if isinstance(value, dict) else value
    if not isinstance(found, list):
        return None
    ids: list[Any] = [item.get("id") if isinstance(item, dict) else item for item in found]
    whole = all(isinstance(id_, int) and not isinstance(id_, bool) for id_ in ids)
    return tuple(ids) if whole else None
