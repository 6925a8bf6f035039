"""Variables that stand for earlier steps: `{{login.response.body.$.id}}`, as VS Code's REST Client writes them.

    {{NAME.response.body.$.choices[0].message.content}}   a JSONPath of names and indices
    {{NAME.response.body.*}}                              the whole body
    {{NAME.response.headers.X-Request-Id}}                a header
    {{NAME.request.…}}                                    the same of the request

In a JSON body a value that stands inside a string is written as a part of that string, elsewhere as JSON.
A reference to a name that no step has is an error: nobody means to send it as it is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec

from llmdebug.formats.answerreferences import REFERENCE, names_in
from llmdebug.http.exchange import Exchange, Request, header
from llmdebug.jsontext.parse import JsonError, parse_json

_STEP = re.compile(r"\.([A-Za-z_$][\w$-]*)|\[(\d{1,9})\]|\['([^'\]]*)'\]")
_JSON_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)

Lookup = Callable[[str], Exchange | None]
"""A step's last exchange, by its name; None where it was not answered yet. KeyError: no step has this name."""


class VariableError(ValueError):
    """A reference cannot be filled; the message is a sentence for the user."""


def filled(request: Request, lookup: Lookup) -> Request:
    """The request with the values of earlier steps in it. Raises VariableError."""
    if not names_in(request):
        return request
    body = request.body
    if b"{{" in body:
        text = body.decode("utf-8", "surrogateescape")
        written = _json(text, lookup) if text.lstrip()[:1] in ("{", "[") else _plain(text, lookup)
        body = written.encode("utf-8", "surrogateescape")
    return msgspec.structs.replace(
        request,
        url=_plain(request.url, lookup),
        headers=tuple((name, _plain(value, lookup)) for name, value in request.headers),
        body=body,
    )


def _plain(text: str, lookup: Lookup) -> str:
    return _replaced(text, lookup, lambda value: value if isinstance(value, str) else json.dumps(value))


def _json(text: str, lookup: Lookup) -> str:
    """Strings first: what is left of the references stands outside of them."""

    def inside(value: Any) -> str:
        plain = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return json.dumps(plain, ensure_ascii=False)[1:-1]

    pieces: list[str] = []
    at = 0
    for match in _JSON_STRING.finditer(text):
        pieces += [_replaced(text[at : match.start()], lookup, _as_json), _replaced(match[0], lookup, inside)]
        at = match.end()
    return "".join([*pieces, _replaced(text[at:], lookup, _as_json)])


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _replaced(text: str, lookup: Lookup, written: Callable[[Any], str]) -> str:
    def value(match: re.Match[str]) -> str:
        try:
            exchange = lookup(match[1])
        except KeyError:
            raise VariableError(f"{match[0]} asks for a step named {match[1]}, which there is not.") from None
        if exchange is None or (match[2] == "response" and exchange.response is None):
            raise VariableError(f"{match[0]} needs the answer of the step {match[1]}: send that one first.")
        return written(_value(match, exchange))

    return REFERENCE.sub(value, text)


def _value(match: re.Match[str], exchange: Exchange) -> Any:
    message = exchange.request if match[2] == "request" or exchange.response is None else exchange.response
    if match[3] is not None:
        found = header(message.headers, match[3])
        if found is None:
            raise VariableError(f"{match[0]}: the {match[2]} of {match[1]} has no header {match[3]}.")
        return found
    if match[4] in (None, "*"):
        return message.body.decode("utf-8", "replace")
    try:
        document = parse_json(message.body).value
    except JsonError as error:
        raise VariableError(f"{match[0]}: the body of {match[1]} is no JSON ({error.message}).") from None
    return _at(document, match[4], match)


def _at(document: Any, path: str, match: re.Match[str]) -> Any:
    value, at = document, 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise VariableError(f"{match[0]}: only names and indices are read, not {path[at:]!r}.")
        key = next(group for group in step.groups() if group is not None)
        if isinstance(value, dict) and step[2] is None and key in value:
            value = value[key]
        elif isinstance(value, list) and step[2] is not None and int(key) < len(value):
            value = value[int(key)]
        else:
            raise VariableError(f"{match[0]}: the body of {match[1]} has nothing at {path[: step.end()]}.")
        at = step.end()
    return value
