"""How an exchange ended, as the user counts it."""

from __future__ import annotations

from typing import Literal

from llmdebug.diagnosis.complaint import read_answer
from llmdebug.diagnosis.errorfree import is_error_free
from llmdebug.http.exchange import Exchange, Response

Outcome = Literal["answered", "refused", "no_answer"]


def outcome(exchange: Exchange) -> Outcome:
    """`answered` is a 2xx that is complete, or was stopped by a breakpoint, and has no error inside.

    A redirect is not followed, so it is a refusal.
    """
    return outcome_of(exchange.response, failed=is_failed("" if exchange.failure is None else exchange.failure.kind))


def is_failed(failure: str) -> bool:
    """Whether this kind of failure, empty for none, kept an answer from being complete."""
    return failure not in ("", "stopped")


def outcome_of(response: Response | None, *, failed: bool) -> Outcome:
    """As outcome(); the events of a stream need not be there."""
    if response is None:
        return "no_answer"
    if not 200 <= response.status < 300 or (not is_error_free(response) and read_answer(response).refused):
        return "refused"
    return "no_answer" if failed else "answered"
