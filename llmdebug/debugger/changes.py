"""What differs between a recorded answer and the one that came now."""

from __future__ import annotations

from typing import Any

from llmdebug.debugger.outcome import outcome
from llmdebug.http.exchange import Exchange
from llmdebug.jsontext import pointer as pointers
from llmdebug.jsontext.parse import JsonError, parse_json
from llmdebug.jsontext.patch import same

_NOTHING = object()


def is_recorded(exchange: Exchange) -> bool:
    """Whether there is an answer to compare with; a file of requests has none."""
    return exchange.response is not None or exchange.failure is not None


def changed(recorded: Exchange, now: Exchange, at: tuple[str, ...] = ()) -> bool:
    """Whether the status or the outcome is another one; or with pointers, whether a value at one of them is.

    Pointers lead into bodies that are JSON; of other bodies, streams among them, the text is compared.
    """
    if not is_recorded(recorded):
        return False
    if not at:
        return _status(recorded) != _status(now) or outcome(recorded) != outcome(now)
    before, after = _document(recorded), _document(now)
    return any(not _same(_value(before, pointer), _value(after, pointer)) for pointer in at)


def _status(exchange: Exchange) -> int | None:
    return None if exchange.response is None else exchange.response.status


def _document(exchange: Exchange) -> Any:
    if exchange.response is None:
        return _NOTHING
    try:
        return parse_json(exchange.response.body).value
    except JsonError:
        return exchange.response.body.decode("utf-8", "replace")


def _value(document: Any, pointer: str) -> Any:
    if document is _NOTHING or not isinstance(document, dict | list):
        return document
    try:
        return pointers.get(document, pointer)
    except pointers.PointerError:
        return _NOTHING


def _same(one: Any, other: Any) -> bool:
    return one is other if one is _NOTHING or other is _NOTHING else same(one, other)
