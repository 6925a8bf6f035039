"""The server's own tokenizer, over the routes that servers have for it; and what a server says that it serves."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import tomllib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from llmdebug.http.baseurl import join
from llmdebug.http.exchange import Exchange, Request
from llmdebug.tokens.values import TokenizerError

Ask = Callable[[Request], Awaitable[Exchange]]

JSON_TYPE = (("Content-Type", "application/json"),)
MAX_ANSWER = 64_000_000
MAX_QUOTED = 200
ABSENT = frozenset({404, 405, 501})
"""Statuses of a route that a server has not."""


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """One way to ask for tokens, of `dialects.toml`."""

    encode: str
    decode: str
    """Its path; empty where there is none."""
    text: str
    """The field that takes a text."""
    ids: str
    """The field that takes ids, and that holds them in the answer."""
    texts: tuple[str, ...]
    """Fields that may hold the text of ids."""
    extra: dict[str, bool]
    special: str
    """The flag that adds what stands around a text; empty where there is none."""


@functools.cache
def dialects() -> tuple[Dialect, ...]:
    data = tomllib.loads((Path(__file__).parent / "dialects.toml").read_text("utf-8"))
    return tuple(msgspec.convert(data["dialect"], list[Dialect]))


class ServerTokenizer:
    """Asks the server; the dialect that it understands is found with the first question."""

    def __init__(self, ask: Ask, base_url: str, model: str = "") -> None:
        self._ask = ask
        self._base_url = base_url
        self._model = model
        self._known: Dialect | None = None

    async def encode(self, text: str, *, special: bool = False) -> tuple[int, ...]:
        """The ids of a text. Raises TokenizerError."""

        def question(dialect: Dialect) -> tuple[str, dict[str, Any]]:
            flags = {**dialect.extra, **({dialect.special: special} if dialect.special else {})}
            return dialect.encode, {dialect.text: text, **flags}

        found: tuple[int, ...] = await self._first(question, lambda dialect, value: _ids_in(value, dialect.ids))
        return found

    async def decode(self, ids: Sequence[int]) -> str:
        """The text of ids. Raises TokenizerError."""

        def question(dialect: Dialect) -> tuple[str, dict[str, Any]]:
            return dialect.decode, {dialect.ids: list(ids)}

        text: str = await self._first(question, _text_in)
        return text

    async def _first(
        self,
        question: Callable[[Dialect], tuple[str, dict[str, Any]]],
        answer_of: Callable[[Dialect, Any], Any],
    ) -> Any:
        told = ""
        for dialect in (self._known,) if self._known else dialects():
            path, body = question(dialect)
            if not path:
                continue
            exchange = await self._ask(self._request(path, body))
            if exchange.response is None:
                failure = exchange.failure.message if exchange.failure else "no answer came."
                raise TokenizerError(f"The server was not asked for tokens: {failure}")
            answer = None
            if exchange.response.status == 200:
                answer = answer_of(dialect, _json(exchange.response.body))
            if answer is not None:
                self._known = dialect
                return answer
            if exchange.response.status not in ABSENT or not told:
                said = exchange.response.body[:MAX_QUOTED].decode("utf-8", "replace")
                told = f"POST {path} answered {exchange.response.status}: {' '.join(said.split())}"
        raise TokenizerError(f"The server gives no tokens. {told}")

    def _request(self, path: str, body: dict[str, Any]) -> Request:
        complete = {**({"model": self._model} if self._model else {}), **body}
        try:
            data = json.dumps(complete, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            raise TokenizerError("The text holds half a surrogate pair: no UTF-8.") from error
        url = join(_without_version(self._base_url), path)
        return Request(method="POST", url=url, headers=JSON_TYPE, body=data)


def _without_version(base_url: str) -> str:
    """The routes for tokens stand beside /v1, not below it."""
    trimmed = base_url.rstrip("/")
    return trimmed.removesuffix("/v1")


def _json(data: bytes) -> Any:
    if len(data) > MAX_ANSWER:
        return None
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None


def _ids_in(value: Any, key: str) -> tuple[int, ...] | None:
    """Ids as a list of integers, or of objects with an `id`."""
    found = value.get(key) if isinstance(value, dict) else value
    if not isinstance(found, list):
        return None
    ids: list[Any] = [item.get("id") if isinstance(item, dict) else item for item in found]
    whole = all(isinstance(id_, int) and not isinstance(id_, bool) for id_ in ids)
    return tuple(ids) if whole else None


def _text_in(dialect: Dialect, value: Any) -> str | None:
    texts = (value.get(key) for key in dialect.texts) if isinstance(value, dict) else ()
    return next((text for text in texts if isinstance(text, str)), None)


# what a server says that it serves

STATEMENTS = ("/v1/models", "/server_info", "/get_server_info", "/model_info", "/get_model_info", "/props", "/info")
FOLDER_KEYS = ("tokenizer_path", "tokenizer", "model_path", "root", "model_id", "id")
"""Fields that name what is served, the surest first."""
LIMIT_KEYS = ("max_model_len", "context_length", "context_len", "max_total_tokens", "n_ctx", "max_input_length")
MAX_DEPTH = 4
STATEMENT_S = 3.0
"""Longest that a server may take to say what it serves."""
MAX_LIMIT = 10**9


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says of the model behind it."""

    names: tuple[str, ...] = ()
    """Folders of this machine and Hugging Face ids, the likeliest first."""
    model: str = ""
    limit: int | None = None
    """Tokens of the context."""


async def ask_served(ask: Ask, base_url: str) -> Served:
    """Asks with GET only; what a server does not say is left out."""
    said: list[tuple[str, Any]] = []
    for path in STATEMENTS:
        try:
            async with asyncio.timeout(STATEMENT_S):
                exchange = await ask(Request(method="GET", url=join(_without_version(base_url), path)))
        except TimeoutError:
            break
        if exchange.response is None:
            break
        if exchange.response.status == 200:
            said += _pairs(_json(exchange.response.body))
    names = [str(value) for key in FOLDER_KEYS for found, value in said if found == key and isinstance(value, str)]
    folders = [name for name in names if os.path.isabs(name)]
    others = [name for name in names if name not in folders and "/" in name]
    limits = [value for key in LIMIT_KEYS for found, value in said if found == key and _is_limit(value)]
    models = [str(value) for found, value in said if found == "id" and isinstance(value, str)]
    return Served(
        names=tuple(dict.fromkeys([*folders, *others]))[:8],
        model=models[0] if models else "",
        limit=limits[0] if limits else None,
    )


def _is_limit(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < MAX_LIMIT


def _pairs(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """All keys with their values, the outer ones first."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value[:100]:
            yield from _pairs(item, depth + 1)
    if isinstance(value, dict):
        yield from value.items()
        for inner in value.values():
            if isinstance(inner, dict | list):
                yield from _pairs(inner, depth + 1)
