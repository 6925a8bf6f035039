"""Which earlier steps a request refers to: `{{login.response.body.$.id}}` stands for what only a replay knows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llmdebug.http.exchange import Request

REFERENCE = re.compile(
    r"\{\{\s*([A-Za-z_][\w-]*)\.(request|response)\.(?:headers\.([\w-]+)|body(?:\.(\*|\$[^\s{}]*))?)\s*\}\}"
)


def references_in(request: Request) -> tuple[str, ...]:
    """As they are written, each once."""
    return tuple(dict.fromkeys(match[0] for match in _found(request)))


def names_in(request: Request) -> frozenset[str]:
    """The steps that a request refers to."""
    return frozenset(match[1] for match in _found(request))


def _found(request: Request) -> Iterator[re.Match[str]]:
    body = request.body.decode("utf-8", "surrogateescape") if b"{{" in request.body else ""
    for text in (request.url, *(value for _, value in request.headers), body):
        if "{{" in text:
            yield from REFERENCE.finditer(text)
