"""Conditions: one small language for breakpoints, for filtering a list and for searching the history.

    status >= 400 and path ~ "/completions"      latency > 2s or ttft > 500ms
    kind == missing_field                        site ~ "protocol.py"
    changed(/choices/0/finish_reason)            not (outcome == answered)

A text is compared with `==`, `!=`, or with `~` and `!~` against a regular expression that may match anywhere.
A fact that is not there (the status where no answer came) fails every test but `!=` and `!~`.
An expression that runs out of time raises SlowExpressionError: it neither matches nor fails to.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, Protocol

import msgspec

from llmdebug.debugger.conditiontext import (
    ConditionError,
    SlowExpressionError,
    Token,
    required_text,
    tokens_of,
    unquoted,
)
from llmdebug.jsontext import pointer as pointers

__all__ = ["Condition", "ConditionError", "Facts", "SlowExpressionError", "first_met", "parse_condition"]

Number = Literal["status", "latency", "ttft", "size", "events"]
Text = Literal["method", "url", "path", "name", "request", "body", "event", "kind", "site", "outcome", "failure"]

NUMBERS: dict[str, str] = {
    "status": "the answer's status",
    "latency": "from sending to the answer's last byte: 2s, 500ms",
    "ttft": "from sending to the first byte of the answer",
    "size": "bytes of the answer's body",
    "events": "events of a stream so far",
}
TEXTS: dict[str, str] = {
    "method": "the request's method",
    "url": "the request's URL",
    "path": "its path, without the query",
    "name": "what its file calls it",
    "request": "the request's body",
    "body": "the answer's body",
    "event": "the data of a stream's last event",
    "kind": "of the diagnosis: missing_field, wrong_type, …",
    "site": "file:line of the server's source that refused",
    "outcome": "answered, refused or no_answer",
    "failure": "why no answer came: refused, dns, tls, …",
}
CHANGED = "changed"
_OF_THE_REQUEST = frozenset({"method", "url", "path", "name", "request"})
_OF_A_DIAGNOSIS = frozenset({"kind", "site"})
_OF_A_STREAM = frozenset({"event", "events"})
_OF_BODIES = frozenset({"size", "events", "request", "body", "event", "kind", "site", "outcome"})
_MAX_DEPTH = 50
_MAX_PATTERN = 1_000
MATCH_SECONDS = 2.0
"""A regular expression may take so long on one text."""

_NUMBER = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)([A-Za-z]*)")
_TIMES = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
_SIZES = {"": 1.0, "B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9}
_UNITS = {"latency": _TIMES, "ttft": _TIMES, "size": _SIZES}
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_SAME_OPERATOR = {"=": "==", "=~": "~", "&&": "and", "||": "or", "!": "not"}


class Facts(Protocol):
    """What conditions ask of an exchange. Whatever costs is found only when asked for."""

    def number(self, name: Number) -> float | None: ...

    def text(self, name: Text) -> str | None: ...

    def sites(self) -> tuple[str, ...]:
        """`file:line` of each site of the diagnosis, best first."""

    def changed(self, at: tuple[str, ...]) -> bool:
        """Against the recording: the status and the outcome; or the values at these pointers into the body."""


Test = Callable[[Facts], bool]


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """A condition that was read."""

    source: str
    test: Test
    words: frozenset[str]
    """The facts it asks for."""
    plain: str | None = None
    """A text that stands in a body of whatever meets it, for a quick search; None where none is known."""

    def __call__(self, facts: Facts) -> bool:
        return self.test(facts)

    @property
    def of_request(self) -> bool:
        """Whether it can be decided before the request is sent."""
        return self.words <= _OF_THE_REQUEST

    @property
    def of_diagnosis(self) -> bool:
        return bool(self.words & _OF_A_DIAGNOSIS)

    @property
    def of_stream(self) -> bool:
        """Whether it is asked again for each event of a stream."""
        return bool(self.words & _OF_A_STREAM)


def parse_condition(source: str) -> Condition:
    """Raises ConditionError."""
    parser = _Parser(source)
    term = parser.either(0)
    parser.end()
    return Condition(source=source.strip(), test=term.test, words=frozenset(parser.words), plain=term.plain)


def first_met(conditions: Iterable[Condition], facts: Facts, step: int) -> Condition | None:
    """The first that this step meets. Raises SlowExpressionError, which names the step, where it cannot be told."""
    try:
        return next((one for one in conditions if one(facts)), None)
    except SlowExpressionError as error:
        raise SlowExpressionError(error.expression, step) from None


class _Term(NamedTuple):
    """A part of a condition."""

    test: Test
    cost: int = 0
    """Where parts are joined, the cheap ones are asked first."""
    plain: str | None = None


class _Parser:
    """Recursive descent; `words` are gathered on the way."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens = list(tokens_of(source))
        self._at = 0
        self.words: set[str] = set()

    def either(self, depth: int) -> _Term:
        terms = [self.both(depth)]
        while self._taken("or"):
            terms.append(self.both(depth))
        if len(terms) == 1:
            return terms[0]
        tests = _cheapest_first(terms)
        return _Term(lambda facts: any(test(facts) for test in tests), sum(term.cost for term in terms))

    def both(self, depth: int) -> _Term:
        terms = [self.negated(depth)]
        while self._taken("and"):
            terms.append(self.negated(depth))
        if len(terms) == 1:
            return terms[0]
        tests = _cheapest_first(terms)
        plain = max((term.plain for term in terms if term.plain), key=len, default=None)
        return _Term(lambda facts: all(test(facts) for test in tests), sum(term.cost for term in terms), plain)

    def negated(self, depth: int) -> _Term:
        if depth > _MAX_DEPTH:
            raise self._error("fewer parentheses: this is nested too deeply")
        if self._taken("not"):
            inner = self.negated(depth + 1)
            return _Term(lambda facts: not inner.test(facts), inner.cost)
        if self._taken("("):
            inner = self.either(depth + 1)
            if not self._taken(")"):
                raise self._error("and, or, or the closing )")
            return inner
        return self._one()

    def end(self) -> None:
        if self._at < len(self._tokens) - 1:
            raise self._error("and, or, or the end")

    def _one(self) -> _Term:
        token = self._next
        name = token.text if token.kind == "word" else ""
        if name not in NUMBERS and name not in TEXTS and name != CHANGED:
            raise self._error(f"a fact: {', '.join((*NUMBERS, *TEXTS, CHANGED))}")
        self._at += 1
        self.words.add(name)
        if name == CHANGED:
            return _Term(self._changed(), 2)
        return _Term(self._number(name), int(name in _OF_BODIES)) if name in NUMBERS else self._text(name)

    def _changed(self) -> Test:
        found: list[str] = []
        if self._taken("("):
            while not found or self._taken(","):
                found.append(self._pointer())
            if not self._taken(")"):
                raise self._error("a comma, or the closing )")
        at = tuple(found)
        return lambda facts: facts.changed(at)

    def _pointer(self) -> str:
        token = self._next
        text = unquoted(token) if token.kind == "string" else token.text
        if token.kind not in ("pointer", "string"):
            raise self._error("a JSON Pointer into the answer's body, as /choices/0/text")
        try:
            pointers.parse(text)
        except pointers.PointerError as error:
            raise self._error(str(error)) from None
        self._at += 1
        return text

    def _number(self, name: str) -> Test:
        compare = _COMPARE.get(self._operator())
        if compare is None:
            raise self._error(f"one of {' '.join(_COMPARE)}: {name} is a number")
        self._at += 1
        wanted = self._amount(name)
        negative = compare is operator.ne
        return lambda facts: _compared(facts.number(name), compare, wanted, negative)  # type: ignore[arg-type]

    def _amount(self, name: str) -> float:
        """A number in the unit that its fact has."""
        token = self._next
        match = _NUMBER.fullmatch(token.text)
        units = _UNITS.get(name, {"": 1.0})
        if token.kind != "number" or match is None:
            raise self._error("a time, as 2s or 500ms" if units is _TIMES else "a number")
        digits, unit = match.groups()
        if unit not in units:
            raise self._error(_told_units(name, digits, unit, units))
        self._at += 1
        return float(digits) * units[unit]

    def _text(self, name: str) -> _Term:
        sign = self._operator()
        if sign not in ("==", "!=", "~", "!~"):
            raise self._error(f"one of == != ~ !~: {name} is a text")
        self._at += 1
        token = self._next
        if token.kind not in ("string", "word", "number", "pointer"):
            raise self._error('a text in quotes, as "…"')
        wanted = unquoted(token) if token.kind == "string" else token.text
        holds = self._pattern(wanted) if sign in ("~", "!~") else lambda text: text == wanted
        self._at += 1
        test = _site_test(holds) if name == "site" else _text_test(name, holds)
        cost = int(name in _OF_BODIES)
        if sign in ("!=", "!~"):
            return _Term(lambda facts: not test(facts), cost)
        return _Term(test, cost, required_text(wanted) if sign == "~" and name in ("body", "request") else None)

    def _pattern(self, wanted: str) -> Callable[[str], bool]:
        import regex

        if len(wanted) > _MAX_PATTERN:
            raise self._error(f"a regular expression of at most {_MAX_PATTERN:,} characters")
        try:
            compiled = regex.compile(wanted)
        except (regex.error, RecursionError, OverflowError) as error:
            raise self._error(f"a regular expression ({error})") from None

        def holds(text: str) -> bool:
            try:
                return compiled.search(text, timeout=MATCH_SECONDS) is not None
            except TimeoutError:
                raise SlowExpressionError(wanted) from None

        return holds

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _operator(self) -> str:
        token = self._next
        return _SAME_OPERATOR.get(token.text, token.text) if token.kind == "operator" else ""

    def _taken(self, wanted: str) -> bool:
        token = self._next
        text = _SAME_OPERATOR.get(token.text, token.text) if token.kind == "operator" else token.text
        if token.kind not in ("word", "operator") or text != wanted:
            return False
        self._at += 1
        return True

    def _error(self, expected: str) -> ConditionError:
        return ConditionError(self._source, self._next.offset, f"expected {expected}")


def _told_units(name: str, digits: str, unit: str, units: dict[str, float]) -> str:
    if units is _TIMES and unit == "m":
        return f"a time: {digits}m may be minutes or milliseconds, write {digits}min or {digits}ms"
    if units is _TIMES:
        return f"a time with its unit (ms, s, min, h), as {digits}s or {digits}ms"
    if units is _SIZES:
        return f"bytes, as {digits} or {digits}kB: {unit} is no unit of {name}"
    return f"a plain number, as {digits}: {name} has no unit"


def _cheapest_first(terms: list[_Term]) -> list[Test]:
    return [term.test for term in sorted(terms, key=lambda term: term.cost)]


def _compared(value: float | None, compare: Callable[[float, float], bool], wanted: float, negative: bool) -> bool:
    return negative if value is None else compare(value, wanted)


def _text_test(name: str, holds: Callable[[str], bool]) -> Test:
    def test(facts: Facts) -> bool:
        text = facts.text(name)  # type: ignore[arg-type]
        return text is not None and holds(text)

    return test


def _site_test(holds: Callable[[str], bool]) -> Test:
    """A diagnosis may name several sites: one that fits is enough."""
    return lambda facts: any(holds(site) for site in facts.sites())
