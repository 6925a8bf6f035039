"""An exchange as JSON: what `--json` prints."""

from __future__ import annotations

from typing import Any

import msgspec

from llmdebug.debugger.outcome import Outcome
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.formats.errors import FormatError
from llmdebug.formats.jsonlines import (
    AnswerRecord,
    RequestRecord,
    WrittenRequest,
    WrittenResponse,
    answer_record,
    exchange_of,
    written_request,
)
from llmdebug.http.exchange import Exchange, Failure, Request, Timing

SCHEMA = "llmdebug.exchange/1"


MARK = b'"schema":"llmdebug.exchange/1"'
HEAD = 200
"""Bytes in which the mark stands."""


class PrintedExchange(msgspec.Struct, frozen=True):
    """What is read back of an exchange that was printed."""

    request: WrittenRequest
    response: WrittenResponse | None = None
    failure: Failure | None = None
    timing: Timing | None = None


class ExchangeJson(msgspec.Struct, frozen=True, kw_only=True):
    """A body is `{"text": …}`, or `{"base64": …}` where it is not UTF-8."""

    schema: str = SCHEMA
    id: str
    outcome: Outcome
    request: WrittenRequest
    response: WrittenResponse | None
    failure: Failure | None
    timing: Timing | None
    diagnosis: Diagnosis | None = None


def exchange_json(
    exchange: Exchange, outcome: Outcome, *, id_: str = "", diagnosis: Diagnosis | None = None
) -> ExchangeJson:
    written = written_request(exchange.request)
    record = answer_record(id_, exchange, written)
    return ExchangeJson(
        id=id_,
        outcome=outcome,
        request=written,
        response=record.response,
        failure=record.failure,
        timing=record.timing,
        diagnosis=diagnosis,
    )


def printed_exchanges(data: bytes, path: str) -> list[Exchange] | None:
    """The exchanges of what `--json` printed; None for anything else. Raises FormatError for a line that is damaged."""
    if MARK not in data[:HEAD]:
        return None
    found = []
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            printed = msgspec.json.decode(line, type=PrintedExchange)
            request = RequestRecord(id="", at=0.0, request=printed.request)
            answer = AnswerRecord(id="", response=printed.response, failure=printed.failure, timing=printed.timing)
            found.append(exchange_of(request, answer))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise FormatError(path, f"This line is no exchange that llmdebug printed: {error}.", line=number) from None
    return found


def request_json(request: Request) -> dict[str, Any]:
    return {"schema": SCHEMA, "request": written_request(request)}
