"""Requests to begin with: one for each route that a server says it has, and the model it serves."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterable
from typing import Any

import msgspec

from llmdebug.debugger.models import LISTING, models_in
from llmdebug.debugger.session import Session
from llmdebug.diagnosis.ground import ground_of
from llmdebug.diagnosis.remedies.example import Examples
from llmdebug.http.baseurl import join
from llmdebug.http.exchange import Exchange, Request
from llmdebug.index.build import Cancelled, Index
from llmdebug.index.languages import ASIDE

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
MAX_DEPTH = 6
MAX_ROUTES = 200
MAX_BYTES = 20_000_000
HEADERS = (("Content-Type", "application/json"),)

_TEXTS = {
    "prompt": "Once upon a time",
    "text": "Once upon a time",
    "input": "Once upon a time",
    "content": "Say hello.",
}
_LIMITS = ("max_tokens", "max_completion_tokens")
"""Kept small in an example, so that its answer is soon there."""


class Offers(msgspec.Struct, frozen=True, kw_only=True):
    """What a server told of itself."""

    models: tuple[str, ...] = ()
    requests: tuple[Request, ...] = ()
    problem: str = ""
    """Why nothing was learnt: the server's own words, or the network's."""


async def ask_server(session: Session, base_url: str) -> Offers:
    """Asks /v1/models and /openapi.json; what a server lacks is left out."""
    listed = await session.fetch(Request(method="GET", url=join(base_url, LISTING)))
    if listed.response is None:
        return Offers(problem=listed.failure.message if listed.failure is not None else "")
    models = session.models = models_in(listed)
    described = await session.fetch(Request(method="GET", url=join(base_url, "/openapi.json")))
    document = _object(described)
    requests = requests_of(document, base_url, models[0] if models else "") if document else ()
    problem = f"the server answered {listed.response.status} to /v1/models" if listed.response.status >= 400 else ""
    return Offers(models=models, requests=requests, problem=problem)


async def ask_trees(session: Session, base_url: str, model: str) -> tuple[Request, ...]:
    """A request for each route that the linked trees register, for a server that does not describe itself."""
    stop = threading.Event()

    def routes(index: Index) -> list[Request]:
        return requests_of_tree(index, base_url, model)

    try:
        found = await asyncio.to_thread(session.trees.ask, routes, cancelled=stop.is_set)
    except Cancelled:
        return ()
    finally:
        stop.set()
    return tuple(request for requests in found for request in requests)


def requests_of_tree(index: Index, base_url: str, model: str) -> list[Request]:
    """Reads the files that register routes, which takes a while on a large tree."""
    index.load(index.base())
    ground = ground_of(index)
    found: dict[tuple[str, str], Request] = {}
    for registered in ground.routes.known:
        methods = [method for method in registered.route.methods if method in METHODS]
        if not registered.is_mounted or registered.is_comparison or ASIDE.search(registered.file):
            continue
        kind = ground.inputs(registered).body
        examples = Examples(ground.checker, models=(model,) if model else ())
        for method in methods:
            body = None if kind is None or method == "GET" else examples.of(kind)
            found.setdefault((method, registered.path), _request(method, registered.path, base_url, model, body))
    return _ranked(found.values())


def _request(method: str, path: str, base_url: str, model: str, body: Any) -> Request:
    return Request(
        method=method,
        url=join(base_url, _filled(path, model)),
        headers=HEADERS if body is not None else (),
        body=b"" if body is None else json.dumps(body, ensure_ascii=False, default=str).encode("utf-8", "replace"),
        name=f"{method} {path}",
    )


def _ranked(requests: Iterable[Request]) -> list[Request]:
    """Those with a body first: they are what is debugged."""
    return sorted(requests, key=lambda request: (request.method == "GET", not request.body))[:MAX_ROUTES]


def _object(exchange: Exchange) -> dict[str, Any]:
    response = exchange.response
    if response is None or response.status != 200 or len(response.body) > MAX_BYTES:
        return {}
    try:
        value = msgspec.json.decode(response.body)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def requests_of(document: dict[str, Any], base_url: str, model: str) -> tuple[Request, ...]:
    """A request for each route of an OpenAPI document, with the smallest body its schema takes."""
    found: list[Request] = []
    paths = document.get("paths")
    for path, methods in paths.items() if isinstance(paths, dict) else ():
        for method, operation in methods.items() if isinstance(methods, dict) else ():
            if method.upper() not in METHODS or not isinstance(operation, dict):
                continue
            found.append(_request(method.upper(), path, base_url, model, _body(operation, document, model)))
    return tuple(_ranked(found))


def _filled(path: str, model: str) -> str:
    return path.replace("{model_id}", model or "model").replace("{model}", model or "model")


def _body(operation: dict[str, Any], document: dict[str, Any], model: str) -> Any:
    content = (_followed(operation.get("requestBody"), document) or {}).get("content")
    described = content.get("application/json") if isinstance(content, dict) else None
    schema = described.get("schema") if isinstance(described, dict) else None
    if not isinstance(schema, dict):
        return None
    return _Example(document, model).of(schema, "", 0)


def _followed(schema: Any, document: dict[str, Any]) -> dict[str, Any] | None:
    """What a `$ref` inside the document points to."""
    for _ in range(20):
        if not isinstance(schema, dict):
            return None
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        schema = document
        for part in reference[2:].split("/"):
            schema = schema.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(schema, dict) else None
    return None


class _Example:
    """The smallest value that fits a schema, with words that fit its names."""

    def __init__(self, document: dict[str, Any], model: str) -> None:
        self._document = document
        self._model = model

    def of(self, schema: Any, name: str, depth: int) -> Any:
        found = _followed(schema, self._document)
        if found is None or depth > MAX_DEPTH:
            return None
        if name == "model" and self._model:
            return self._model
        for key in ("const", "default", "example"):
            if found.get(key) is not None:
                return found[key]
        if isinstance(found.get("enum"), list) and found["enum"]:
            return "user" if "user" in found["enum"] else found["enum"][0]
        for key in ("anyOf", "oneOf", "allOf"):
            listed = found.get(key)
            given = listed if isinstance(listed, list) else ()
            options = [o for o in given if isinstance(o, dict) and o.get("type") != "null"]
            if options:
                return self.of(options[0], name, depth + 1)
        return self._typed(found, name, depth)

    def _typed(self, schema: dict[str, Any], name: str, depth: int) -> Any:
        kind = schema.get("type")
        if kind == "object" or "properties" in schema:
            return self._object(schema, depth)
        if kind == "array":
            return [self.of(schema.get("items") or {}, name, depth + 1)]
        if kind in ("integer", "number"):
            low = schema.get("minimum", schema.get("exclusiveMinimum"))
            return int(low) + 1 if isinstance(low, int | float) and low >= 1 else 1
        if kind == "boolean":
            return False
        return _TEXTS.get(name, name or "text")

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        names = [name for name in known if name in (required if isinstance(required, list) else ())]
        if depth and "role" in known and "content" in known and "content" not in names:
            names.append("content")
        body = {name: self.of(known[name], name, depth + 1) for name in names}
        if not depth:
            for name in ("model", "prompt", "text", "input"):
                if name in known and name not in body and len(body) < 2:
                    body[name] = self.of(known[name], name, depth + 1) or _TEXTS.get(name, self._model)
            limit = next((name for name in _LIMITS if name in known), "")
            return body | ({limit: 64} if limit else {})
        return body
