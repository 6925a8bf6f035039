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
    """A remedy that was refused as the first request was refutes the kind that it was made for.

    Refused otherwise, it got past the first check: its request is not worth sending again, and no more is told.
    """

    def __init__(self) -> None:
        self._of: OrderedDict[str, Doubts] = OrderedDict()

    def of(self, exchange: Exchange) -> Doubts:
        return self._of.get(_refusal(exchange), NO_DOUBTS)

    def add(self, exchange: Exchange, diagnosis: Diagnosis, n: int, *, same: bool) -> None:
        """Remedy `n` of an exchange's diagnosis, from 1, was refused; `same`: as the exchange was."""
        known = self.of(exchange)
        requests = {request_key(request) for request in diagnosis.remedies[n - 1].requests}
        kinds = known.kinds | ({diagnosis.kind} if same else frozenset())
        self._of[_refusal(exchange)] = Doubts(kinds, known.requests | requests)
        if len(self._of) > MAX_KEPT:
            self._of.popitem(last=False)


def same_words(one: Exchange, other: Exchange) -> bool:
    return _words(one) == _words(other)


def same_place(one: Diagnosis, other: Diagnosis) -> bool:
    """Whether two diagnoses are of one check, whose words may hold a value that a remedy changed."""
    if one.kind != other.kind or not (one.sites or one.fields):
        return False
    return _first_site(one) == _first_site(other) and _blamed(one) == _blamed(other)


def _first_site(diagnosis: Diagnosis) -> tuple[str, str, int] | None:
    return next(((site.tree, site.file, site.line) for site in diagnosis.sites), None)


def _blamed(diagnosis: Diagnosis) -> set[str]:
    return {f"{field.place} {_NUMBER.sub('#', field.pointer)}" for field in diagnosis.fields}


def _refusal(exchange: Exchange) -> str:
    """One name for the same refusal of the same route."""
    address = exchange.request.url.partition("?")[0]
    return f"{exchange.request.method} {address} {_words(exchange)}"


def _words(exchange: Exchange) -> str:
    """The status and what the answer says of which fields, numbers left out: a remedy may change those."""
    if exchange.response is None:
        return ""
    answer = read_answer(exchange.response)
    places = " ".join(".".join(map(str, complaint.loc)) for complaint in answer.complaints)
    return f"{exchange.response.status} {_NUMBER.sub('#', f'{answer.text} {places}')}"
