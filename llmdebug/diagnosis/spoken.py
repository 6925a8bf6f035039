"""Fields that a text speaks of by their role: "`x` field is missing", "x parameter is required"."""

from __future__ import annotations

import re
from collections.abc import Iterator

ROLE = r"(?:parameter|field|argument|key|property|param)"
BEFORE = re.compile(rf"[`'\"]?\b([A-Za-z_][\w.]*)[`'\"]? {ROLE}\b")
BEHIND = re.compile(rf"\b{ROLE}s?[: ]+[`'\"]?([A-Za-z_][\w.]*)\b")
ALONE = re.compile(
    r"^\W*(?:missing[: ]+)?[`'\"]([A-Za-z_]\w*)[`'\"] (?:is|are|must be|not) (?:required|provided|missing|set)\b", re.I
)
NO_NAMES = frozenset(
    re.findall(
        r"\w+",
        "required missing the a an this that following input request body query json form one any some each no of and"
        " or is are was were must be unknown invalid unexpected extra additional mandatory optional valid"
        " first last same other another in by with for to not both either such named"
        " called",
    )
)


def spoken_fields(text: str) -> Iterator[str]:
    """Names that a text gives to fields, in the order of how surely it does."""
    text = text[:4_000]
    for pattern in (ALONE, BEFORE, BEHIND):
        for match in pattern.finditer(text):
            if pattern is ALONE or match[1].lower() not in NO_NAMES:
                yield match[1]
