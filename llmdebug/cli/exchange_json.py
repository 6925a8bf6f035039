"""An exchange as JSON: what `--json` prints."""

from __future__ import annotations

from typing import Any

import msgspec

from llmdebug.debugger.outcome import Outcome
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.formats.jsonlines import WrittenRequest, WrittenResponse, answer_record, written_request
from llmdebug.http.exchange import Exchange, Failure, Request, Timing

SCHEMA = "llmdebug.exchange/1"


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


def request_json(request: Request) -> dict[str, Any]:
    return {"schema": SCHEMA, "request": written_request(request)}
