"""How an exchange ended, as the user counts it."""

from __future__ import annotations

from typing import Literal

from llmdebug.diagnosis.complaint import read_answer
from llmdebug.diagnosis.errorfree import is_error_free
from llmdebug.http.exchange import Exchange, Response

Outcome = Literal["answered", "refused", "no_answer"]


def outcome(exchange: Exchange) -> Outcome:
    """`answered` is a complete 2xx without an error inside; a redirect is not followed, so it is a refusal."""
    return outcome_of(exchange.response, failed=exchange.failure is not None)


def outcome_of(response: Response | None, *, failed: bool) -> Outcome:
    """As outcome(); the events of a stream need not be there."""
    if response is None:
        return "no_answer"
    if not 200 <= response.status < 300 or (not is_error_free(response) and read_answer(response).refused):
        return "refused"
    return "no_answer" if failed else "answered"
