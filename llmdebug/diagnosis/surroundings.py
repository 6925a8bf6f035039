"""Words around a refusal, where the tests before it can't be evaluated: which of them the request speaks."""

from __future__ import annotations

import re
from typing import Any

from llmdebug.diagnosis.locate import walk
from llmdebug.index.build import Index
from llmdebug.index.facts import Rejection

LINES = 6
"""So many lines before a refusal may tell what it is about."""
MAX_SPOKEN = 5_000
_QUOTED = re.compile(rb'"([a-z][a-z0-9_]{1,40})"')


def words_of(body: Any) -> frozenset[str]:
    """The keys and the short string values of a body."""
    found: set[str] = set()
    for pointer, value in walk(body):
        found.add(pointer.rpartition("/")[2])
        if isinstance(value, str) and len(value) <= 40:
            found.add(value)
        if len(found) > MAX_SPOKEN:
            break
    return frozenset(found)


def word_before(index: Index, path: str, rejection: Rejection) -> str:
    """The quoted word nearest before a refusal, a few lines up at most and not in another refusal; empty for none."""
    facts = index.facts(path)
    others = {r.line for r in facts.rejections if r.line < rejection.line} if facts else set()
    lines = index.lines(path)
    for number in range(rejection.line - 1, max(rejection.line - 1 - LINES, 0), -1):
        if number in others:
            return ""
        quoted = _QUOTED.findall(lines[number - 1]) if number <= len(lines) else []
        if quoted:
            return str(quoted[-1], "ascii")
    return ""
