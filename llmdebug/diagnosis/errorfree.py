"""Which good answers surely hold no error, told without reading them whole: lists of 100,000 answers are asked so."""

from __future__ import annotations

import msgspec

from llmdebug.http.exchange import Response

_Field = msgspec.Raw | msgspec.UnsetType


class _Top(msgspec.Struct):
    """The fields of an object in which read_answer() looks for an error; whatever stands below is passed over."""

    error: _Field = msgspec.UNSET
    errors: _Field = msgspec.UNSET
    error_message: _Field = msgspec.UNSET
    detail: _Field = msgspec.UNSET
    message: _Field = msgspec.UNSET
    msg: _Field = msgspec.UNSET
    reason: _Field = msgspec.UNSET
    title: _Field = msgspec.UNSET
    description: _Field = msgspec.UNSET
    json: _Field = msgspec.UNSET
    object: _Field = msgspec.UNSET
    type: _Field = msgspec.UNSET


_decoder = msgspec.json.Decoder(_Top)
_NO_FIELDS = _Top()
_OF_RESULTS = ("object", "type")
"""Fields of results as well; an error says `error` in them."""


def is_error_free(response: Response) -> bool:
    """Whether a 2xx is a JSON object without a field that could hold an error; of anything else False."""
    if not 200 <= response.status < 300:
        return False
    try:
        top = _decoder.decode(response.body)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return False
    if top == _NO_FIELDS:
        return True
    told = [name for name in top.__struct_fields__ if getattr(top, name) is not msgspec.UNSET]
    return all(name in _OF_RESULTS and not _may_say_error(getattr(top, name)) for name in told)


def _may_say_error(value: msgspec.Raw) -> bool:
    written = bytes(value)
    return b"error" in written or b"\\" in written
