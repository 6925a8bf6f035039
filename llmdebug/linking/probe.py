"""Asking a server what it is: GET only, a second each, few bytes, and nobody but the server itself."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any
from urllib.parse import urljoin, urlsplit

from llmdebug.families.family import Family, Place
from llmdebug.families.reading import Answer, certainty, texts_at, values_at
from llmdebug.http.exchange import Exchange, header
from llmdebug.http.secretnames import is_secret_field
from llmdebug.linking.server import Server

SECONDS = 1.0
"""For each answer."""
MAX_BODY = 8_000_000
AT_ONCE = 4
MAX_MODELS = 100
MAX_FLAGS = 400
MAX_FLAG_TEXT = 300
DESCRIPTION = "/openapi.json"
"""Asked last and alone: frameworks make it when it is first asked for, and do nothing else meanwhile."""
_SLOW = frozenset({"first_byte_timeout", "total_timeout"})

Ask = Callable[[str], Awaitable[Exchange]]
"""Sends GET to a path of the server, or to a URL of it."""


async def probe(families: Iterable[Family], ask: Ask) -> Server:
    """What runs behind `ask`. Never raises for what a server answers or does not."""
    known = list(families)
    counted = Counter(sign.get for family in known for sign in family.recognise)
    paths = [path for path, _ in counted.most_common() if path != DESCRIPTION]
    asking = _Asking(ask)
    await asking.all(paths[:AT_ONCE])
    if not asking.answers:
        return Server(problem=asking.problem or "The server gave no answer that tells what it is.", silent=True)
    await asking.all(paths[AT_ONCE:])
    await asking.all([DESCRIPTION])
    await asking.again(DESCRIPTION)
    description = asking.answers.get(DESCRIPTION)
    openapi = description.json if description is not None and description.response.status == 200 else None
    sure = {family.name: certainty(family, asking.answers) for family in known}
    family = max(known, key=lambda each: sure[each.name], default=None)
    if family is None or not sure[family.name]:
        return Server(problem="The server is of no family that is known.", openapi=openapi)
    places = (*family.version, *family.models, *family.limits, *family.flags, *family.tokenizer)
    await asking.all([place.get for place in places])
    return _server(family, asking.answers, openapi)


def _server(family: Family, answers: dict[str, Answer], openapi: Any) -> Server:
    limits: dict[str, str] = {}
    for place in family.limits:
        found = texts_at(place, answers)
        if found and found[0] != "null":
            limits.setdefault(place.name or place.json, found[0][:MAX_FLAG_TEXT])
    return Server(
        family=family.name,
        title=family.title,
        version=next(iter(_first(family.version, answers)), "")[:MAX_FLAG_TEXT],
        models=tuple(_first(family.models, answers)[:MAX_MODELS]),
        limits=limits,
        flags=_flags(family.flags, answers),
        tokenizers=tuple(dict.fromkeys(found for place in family.tokenizer for found in texts_at(place, answers)))[:8],
        tokenize=family.tokenize,
        openapi=openapi,
    )


def _first(places: Sequence[Place], answers: dict[str, Answer]) -> list[str]:
    return next((found for place in places if (found := texts_at(place, answers))), [])


def _flags(places: Sequence[Place], answers: dict[str, Answer]) -> dict[str, Any]:
    for place in places:
        answer = answers.get(place.get)
        found = values_at(answer.json, place.json) if answer is not None and answer.response.status == 200 else []
        if found and isinstance(found[0], dict):
            plain = [(name, value) for name, value in found[0].items() if _is_plain(value)][:MAX_FLAGS]
            return {name: "(hidden)" if value and is_secret_field(name) else value for name, value in plain}
    return {}


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= MAX_FLAG_TEXT)


class _Asking:
    """Answers by the path that was asked, each asked once."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._asked: set[str] = set()
        self._turn = asyncio.Semaphore(AT_ONCE)
        self.answers: dict[str, Answer] = {}
        self._refused: set[str] = set()
        self.problem = ""

    async def all(self, paths: Iterable[str]) -> None:
        new = [path for path in dict.fromkeys(paths) if path not in self._asked]
        self._asked.update(new)
        await asyncio.gather(*map(self._one, new))

    async def again(self, path: str) -> None:
        """Asks once more where no answer came in time."""
        if path in self._asked and path not in self.answers and path not in self._refused:
            await self._one(path)

    async def _one(self, path: str) -> None:
        async with self._turn:
            exchange = await self._ask(path)
            target = _redirected(exchange)
            if target:
                exchange = await self._ask(target)
        response = exchange.response
        if exchange.failure is not None and exchange.failure.kind not in _SLOW:
            self._refused.add(path)
        if exchange.failure is not None or response is None:
            self.problem = self.problem or (exchange.failure.message if exchange.failure is not None else "")
        elif 300 <= response.status < 400:
            self.problem = self.problem or f"{path} redirects elsewhere, which is not followed."
        else:
            self.answers[path] = Answer(response)


def _redirected(exchange: Exchange) -> str:
    """Where the server itself sends a GET to; empty for another host."""
    response = exchange.response
    if response is None or response.status not in (301, 302, 307, 308):
        return ""
    asked = exchange.request.url
    try:
        target = urljoin(asked, header(response.headers, "Location") or "")
        same = urlsplit(target)[:2] == urlsplit(asked)[:2] and target != asked
    except ValueError:
        return ""
    return target if same else ""
