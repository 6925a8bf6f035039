"""What Rust's `validator` says of a broken rule: `top_p: Validation error: range [{"max": Number(1.0), …}]`.

A rule with words of its own prints `top_p: the words`; those are looked for in the tree as any text is.
"""

from __future__ import annotations

import re

from llmdebug.diagnosis.validation_text import Entry, loc_of

MAX_TEXT = 200_000
MAX_ENTRIES = 50
_SAID = re.compile(
    r"^(?P<path>[\w.\[\]]{1,300}): Validation error: (?P<code>[^\n\[]{1,400}) \[\{(?P<told>[^\n]{0,4000})", re.MULTILINE
)
_NUMBER = re.compile(r'"(min|max|value|exclusive_min|exclusive_max)": Number\((-?[\d.]{1,30}(?:e[-+]?\d{1,3})?)\)')
WHOLE = "__all__"
"""Stands for the whole body where a rule concerns several fields."""


def rule_entries(text: str) -> list[Entry]:
    """The broken rules that a text tells of; empty where it is no such text."""
    found = []
    for match in list(_SAID.finditer(text[:MAX_TEXT]))[:MAX_ENTRIES]:
        loc = () if match["path"] == WHOLE else loc_of(match["path"])
        told = {name: float(value) for name, value in _NUMBER.findall(match["told"])}
        code = match["code"].strip()
        found.append(Entry(match[0] if code in {"range", "length"} else code, loc, _kind(code, told), speaker="rust"))
    return found


def _kind(code: str, told: dict[str, float]) -> str:
    """pydantic's name for a broken rule; empty for one with a name of its own."""
    value = told.get("value")
    below = value is not None and value < told.get("min", told.get("exclusive_min", value))
    if code == "range":
        return "greater_than_equal" if below else "less_than_equal"
    if code == "length":
        return "too_short" if "max" not in told else "too_long"
    return "missing" if code == "required" else ""
