"""Which exchanges of a list meet a condition. Takes CPU time and reads from the disk: off an event loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from llmdebug.debugger.attempts import Attempts
from llmdebug.debugger.condition import Condition, first_met
from llmdebug.debugger.facts import Judged, RowFacts, judged_note
from llmdebug.debugger.session import NOTE
from llmdebug.formats.exchanges import Exchanges
from llmdebug.formats.lines_index import RecordedLines
from llmdebug.http.exchange import Exchange
from llmdebug.source.search import never

_ASKED_EVERY = 256


def matching(
    condition: Condition,
    exchanges: Exchanges,
    *,
    attempts: Attempts | None = None,
    cancelled: Callable[[], bool] = never,
) -> list[int]:
    """The numbers of those that meet it, in order; those found so far where it was cancelled.

    Of a step that was sent, the last attempt counts. Raises SlowExpressionError.
    """
    found: list[int] = []
    sent = attempts.steps if attempts is not None else frozenset()
    for asked, number in enumerate(_candidates(condition, exchanges, sent)):
        if asked % _ASKED_EVERY == 0 and cancelled():
            break
        if attempts is not None and number in sent:
            facts = _attempted_facts(attempts, exchanges, number)
        else:
            facts = recorded_facts(exchanges, number)
        if first_met((condition,), facts, number) is not None:
            found.append(number)
    return found


def _attempted_facts(attempts: Attempts, exchanges: Exchanges, number: int) -> RowFacts:
    attempt = attempts.last(number)
    if attempt is None:
        return recorded_facts(exchanges, number)

    def now() -> Exchange:
        return attempts.exchange(number) or exchanges.exchange(number)

    return RowFacts(
        attempt.row,
        now,
        recorded=lambda: exchanges.exchange(number),
        diagnosed=lambda: attempt.judged,
        ended=attempt.outcome,
        differs=attempt.changed,
    )


def recorded_facts(exchanges: Exchanges, number: int) -> RowFacts:
    """The facts of a recorded exchange, with the diagnosis that was kept beside it."""

    def diagnosed() -> Judged | None:
        return judged_note(exchanges.note(number, NOTE))

    def bodies(name: str) -> str | None:
        return exchanges.request_text(number) if name == "request" else exchanges.answer_text(number)

    return RowFacts(
        exchanges.row(number),
        lambda: exchanges.exchange(number),
        bodies=bodies,
        answer=lambda: exchanges.answer(number),
        stream=lambda: exchanges.stream(number),
        diagnosed=diagnosed,
    )


def _candidates(condition: Condition, exchanges: Exchanges, sent: frozenset[int]) -> Iterable[int]:
    """Those that can meet it: a plain text in a body is looked for in the whole file at once."""
    if condition.plain and isinstance(exchanges, RecordedLines):
        holding = exchanges.holding(condition.plain)
        if holding is not None:
            return sorted(sent.union(holding)) if sent else holding
    return range(len(exchanges))
