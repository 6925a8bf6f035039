"""Limits that a message speaks of, and the values nearest to a refused one that keep them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

_NUMBER = r"[-+]?(?:\d[\d,_]*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?"
_INTERVAL = re.compile(rf"([\[(])\s*({_NUMBER}|-?inf\w*)\s*,\s*({_NUMBER}|\+?inf\w*)\s*([\])])", re.I)
_BETWEEN = re.compile(rf"between\s+(?:\w+\s*=\s*)?({_NUMBER})\s+and\s+(?:\w+\s*=\s*)?({_NUMBER})", re.I)
_FILLER = r"(?:\s+(?:or equal to|to|than|of|is|the|a|be|allowed|value|limit|maximum|minimum|max|min|number)|[:=(])*\s*"
_LOW = re.compile(
    r"(?P<closed>at least|no less than|not less than|greater than or equal to|>=|minimum|\bmin\b)"
    rf"{_FILLER}(?P<a>{_NUMBER})"
    rf"|(?P<open>greater than|larger than|more than|above|(?<![<>=])>(?!=)){_FILLER}(?P<b>{_NUMBER})",
    re.I,
)
_HIGH = re.compile(
    r"(?P<closed>at most|no more than|not more than|not exceed|cannot exceed|exceeds?|up to|less than or equal to|<="
    r"|maximum|\bmax\b|limit(?:ed)?)"
    rf"(?:\s+\w+){{0,3}}?{_FILLER}(?P<a>{_NUMBER})"
    rf"|(?P<open>less than|smaller than|fewer than|below|(?<![<>=])<(?!=)){_FILLER}(?P<b>{_NUMBER})",
    re.I,
)
_LOOSE = re.compile(rf"(?<![\w.]){_NUMBER}(?![\w]|\.\d)", re.I)
_SIGN = ((r"non-?negative|not be negative|negative", 0.0, True), (r"positive", 0.0, False))
MAX_NUMBERS = 24
VOCABULARY = re.compile(r"vocab", re.I)
"""Its size is one more than the largest id."""

Range = tuple[float, float, bool, bool]
"""Low, high, and whether each end itself is admitted."""


def number_of(text: str) -> float:
    """A number as a message writes it; infinite where it says so."""
    text = text.replace(",", "").replace("_", "")
    if "inf" in text.lower():
        return -math.inf if text.startswith("-") else math.inf
    return int(text) if re.fullmatch(r"[-+]?\d{1,30}", text) else float(text)


def is_finite(number: float) -> bool:
    """Also of whole numbers too large for a float."""
    return isinstance(number, int) or math.isfinite(number)


def ranges_in(text: str) -> list[Range]:
    """What a message says a number has to lie in; descriptions ("is greater than the maximum 5") among them."""
    text = text[:4_000]
    found: list[Range] = [
        (number_of(m[2]), number_of(m[3]), m[1] == "[", m[4] == "]") for m in _INTERVAL.finditer(text)
    ]
    found += [(number_of(m[1]), number_of(m[2]), True, True) for m in _BETWEEN.finditer(text)]
    lows = [(number_of(m["a"] or m["b"]), bool(m["a"])) for m in _LOW.finditer(text)]
    highs = [(number_of(m["a"] or m["b"]), bool(m["a"])) for m in _HIGH.finditer(text)]
    found += [(low, math.inf, closed, True) for low, closed in lows]
    found += [(-math.inf, high, True, closed) for high, closed in highs]
    for pattern, low, closed in _SIGN:
        if re.search(pattern, text, re.I):
            found.append((low, math.inf, closed, True))
            break
    return found


def inside(value: float, limits: Range) -> bool:
    low, high, low_closed, high_closed = limits
    return (low <= value if low_closed else low < value) and (value <= high if high_closed else value < high)


def nearest(value: float, limits: Range, whole: bool) -> float | None:
    """The admitted value nearest to one outside; None where there is none."""
    low, high, low_closed, high_closed = limits
    if inside(value, limits) or low > high:
        return None
    if value <= low:
        step: float = 1 if whole else 0.01 if not is_finite(high) else min(0.01, (high - low) / 2)
        made = low if low_closed else low + step
        made = math.ceil(made) if whole else made
    else:
        step = 1 if whole else 0.01 if not is_finite(low) else min(0.01, (high - low) / 2)
        made = high if high_closed else high - step
        made = math.floor(made) if whole else made
    return made if inside(made, limits) and is_finite(made) else None


def candidates(value: float, text: str, whole: bool) -> list[float]:
    """Values that a message may mean to admit, most likely first."""
    found: list[float] = []
    for limits in ranges_in(text):
        made = nearest(value, limits, whole)
        if made is None and inside(value, limits):
            made = _turned(value, limits, whole)
        if made is not None:
            found.append(made)
    return [as_number(number, whole) for number in dict.fromkeys(found) if number != value]


def mentioned(value: float, text: str, whole: bool) -> list[float]:
    """The other numbers in a message, in order."""
    below = 1 if whole and VOCABULARY.search(text) else 0
    found = [number_of(match[0]) - below for match in list(_LOOSE.finditer(text[:4_000]))[:MAX_NUMBERS]]
    fitting = [n for n in found if is_finite(n) and n != value and (not whole or n == int(n))]
    return [as_number(number, whole) for number in dict.fromkeys(fitting)]


def _turned(value: float, limits: Range, whole: bool) -> float | None:
    """A message that says what is wrong rather than what is right: the other side of its number."""
    low, high, _, _ = limits
    if is_finite(low) and not is_finite(high):
        return nearest(value, (-math.inf, low, True, True), whole)
    if is_finite(high) and not is_finite(low):
        return nearest(value, (high, math.inf, True, True), whole)
    return None


def as_number(number: float, whole: bool) -> float:
    """An int where ints are wanted; no 0.30000000000000004."""
    if whole or isinstance(number, int) or (number.is_integer() and abs(number) < 1e15):
        return int(number)
    return round(number, 6)


def named_numbers(text: str, holder: Any) -> str:
    """The text with names of the holder's numbers that follow a bound ("at least n") replaced by the numbers."""
    if not isinstance(holder, dict):
        return text
    numbers = {k: v for k, v in holder.items() if isinstance(v, int | float) and not isinstance(v, bool)}

    def put(match: re.Match[str]) -> str:
        known = numbers.get(match[2])
        return match[0] if known is None else match[1] + repr(known)

    return re.sub(r"((?:than|least|most|to|exceed|[<>]=?)\s+)[`'\"]?([A-Za-z_]\w*)[`'\"]?", put, text[:4_000])


def clamped(value: Any, change: Callable[[float], float | None], depth: int = 0) -> Any:
    """A container in which each number is changed where `change` gives another one."""
    if depth > 4:
        return value
    if isinstance(value, dict):
        return {key: clamped(item, change, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [clamped(item, change, depth + 1) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        made = change(value)
        return value if made is None else made
    return value
