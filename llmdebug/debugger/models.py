"""The models that a live server lists, asked for where a model's name is to blame or a remedy gives one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from llmdebug.diagnosis.verdict import Diagnosis, Remedy
from llmdebug.http.baseurl import join, split
from llmdebug.http.exchange import Exchange, Request

if TYPE_CHECKING:
    from llmdebug.debugger.session import Session

LISTING = "/v1/models"
SECONDS = 5.0
MAX_BYTES = 2_000_000
MAX_MODELS = 200
_AUTHORIZING = frozenset({"authorization", "api-key", "x-api-key"})


def models_in(exchange: Exchange) -> tuple[str, ...]:
    """The names in an answer to LISTING; none where it is no such list."""
    response = exchange.response
    if response is None or response.status != 200 or len(response.body) > MAX_BYTES:
        return ()
    try:
        listing = msgspec.json.decode(response.body)
    except (msgspec.DecodeError, RecursionError):
        return ()
    data = listing.get("data") if isinstance(listing, dict) else None
    entries = data[:MAX_MODELS] if isinstance(data, list) else []
    return tuple(entry["id"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str))


def wants_models(diagnosis: Diagnosis, refused: Request) -> bool:
    """Whether remedies would be the better for knowing what is served: a model is to blame, or given by one."""
    if diagnosis.kind == "model_not_found":
        return True
    if any(field.pointer == "/model" and field.place == "body" for field in diagnosis.fields):
        return True
    return any(_gives_model(remedy, b'"model"' in refused.body) for remedy in diagnosis.remedies)


def _gives_model(remedy: Remedy, has_model: bool) -> bool:
    """Whether a remedy's model is another than the refused request's; there is no patch of a body that is no JSON."""
    if any(step.get("path") == "/model" and step.get("op") != "remove" for step in remedy.patch):
        return True
    return not has_model and any(isinstance(r.body, dict) and "model" in r.body for r in remedy.requests)


async def served_models(session: Session, refused: Request) -> tuple[str, ...]:
    """What the server of a refused request lists; none where it lists nothing within SECONDS."""
    base_url = split(refused.url, session.base_url)[0]
    headers = tuple(pair for pair in refused.headers if pair[0].lower() in _AUTHORIZING)
    try:
        async with asyncio.timeout(SECONDS):
            return models_in(await session.fetch(Request(method="GET", url=join(base_url, LISTING), headers=headers)))
    except TimeoutError:
        return ()
