"""How alike two names of fields are: by their words, in whatever way they are joined."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
MAX_NAME = 80
COMMON = frozenset({"max", "min", "is", "the", "of", "use", "enable", "return", "no"})
"""Words that say little of what a field is."""
ALIKE = 0.6


def words(name: str) -> list[str]:
    """The words of a name, lower case, a plural's s taken off."""
    found = [word.lower() for word in _WORD.findall(name[:MAX_NAME])]
    return [word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in found]


def likeness(one: str, other: str) -> float:
    """0..1: 1 for the same words, less for shared ones, and a spelling that is near counts too."""
    left, right = words(one), words(other)
    if not left or not right:
        return 0.0
    if left == right:
        return 1.0
    shared = set(left) & set(right)
    weight = sum(0.4 if word in COMMON else 1.0 for word in shared)
    whole = sum(0.4 if word in COMMON else 1.0 for word in set(left) | set(right))
    spelled = SequenceMatcher(None, "".join(left), "".join(right), autojunk=False).ratio()
    return max(weight / whole, 0.95 * spelled if spelled > 0.7 else 0.0, 0.75 if _contains(left, right) else 0.0)


def _contains(left: list[str], right: list[str]) -> bool:
    """Whether the words of one are all in the other, and they are not mere common ones."""
    short, long = sorted((set(left), set(right)), key=len)
    return short <= long and bool(short - COMMON)


def nearest(name: str, candidates: Iterable[str], least: float = ALIKE) -> list[str]:
    """Those alike enough, the most alike first."""
    rated = [(likeness(name, other), other) for other in candidates]
    return [other for rate, other in sorted(rated, key=lambda pair: -pair[0]) if rate >= least]


def in_words(text: str, name: str) -> bool:
    """Whether a text speaks of a name, written as it is or as words."""
    spoken = r"[\s_\-]?".join(re.escape(word) for word in _WORD.findall(name[:MAX_NAME]))
    return bool(spoken) and re.search(rf"(?<![A-Za-z]){spoken}(?:s|es|ed|ing)?(?![A-Za-z])", text, re.I) is not None
