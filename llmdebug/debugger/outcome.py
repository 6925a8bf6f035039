"""How an exchange ended, as the user counts it."""

from __future__ import annotations

from typing import Literal

from llmdebug.diagnosis.complaint import read_answer
from llmdebug.http.exchange import Exchange

Outcome = Literal["answered", "refused", "no_answer"]


def outcome(exchange: Exchange) -> Outcome:
    """`answered` is a complete 2xx without an error inside; a redirect is not followed, so it is a refusal."""
    response = exchange.response
    if response is None:
        return "no_answer"
    if not 200 <= response.status < 300 or read_answer(response).refused:
        return "refused"
    return "answered" if exchange.failure is None else "no_answer"
