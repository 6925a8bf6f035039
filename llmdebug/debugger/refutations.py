"""What the experiments of one session have refuted, by the refusal that they were about."""

from __future__ import annotations

import re
from collections import OrderedDict

from llmdebug.diagnosis.complaint import read_answer
from llmdebug.diagnosis.doubts import NO_DOUBTS, Doubts, request_key
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.exchange import Exchange

MAX_KEPT = 200
_NUMBER = re.compile(r"\d+")


class Refutations:
    """A remedy that was refused with the very words of the first refusal refutes the kind that it was made for.

    Refused with other words, it got past the first check: its request is not worth sending again, and no more is told.
    """

    def __init__(self) -> None:
        self._of: OrderedDict[str, Doubts] = OrderedDict()

    def of(self, exchange: Exchange) -> Doubts:
        return self._of.get(_refusal(exchange), NO_DOUBTS)

    def add(self, exchange: Exchange, diagnosis: Diagnosis, n: int, refused: Exchange) -> None:
        """Remedy `n` of an exchange's diagnosis, from 1, was refused as in the exchange `refused`."""
        known = self.of(exchange)
        requests = {request_key(request) for request in diagnosis.remedies[n - 1].requests}
        same = _words(exchange) == _words(refused)
        kinds = known.kinds | ({diagnosis.kind} if same else frozenset())
        self._of[_refusal(exchange)] = Doubts(kinds, known.requests | requests)
        if len(self._of) > MAX_KEPT:
            self._of.popitem(last=False)


def _refusal(exchange: Exchange) -> str:
    """One name for the same refusal of the same route."""
    address = exchange.request.url.partition("?")[0]
    return f"{exchange.request.method} {address} {_words(exchange)}"


def _words(exchange: Exchange) -> str:
    """The status and what the answer says, numbers left out: a remedy may change those."""
    if exchange.response is None:
        return ""
    return f"{exchange.response.status} {_NUMBER.sub('#', read_answer(exchange.response).text)}"
