"""JSON that does not parse: the body, or a string inside it that must hold JSON."""

from __future__ import annotations

import json
import math
import re
from typing import Any
from urllib.parse import parse_qsl

from llmdebug.diagnosis.locate import walk
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.diagnosis.remedies.repair import repaired
from llmdebug.jsontext import pointer as pointers

MAX_STRINGS = 2_000
SPEAKS_OF_JSON = re.compile(r"json|expecting|delimiter|unmarshal|unterminated", re.I)


def mended(case: Case) -> list[Proposal]:
    """The body repaired; where it is JSON, without NaN, and the strings in it that should be JSON repaired."""
    if case.body is None:
        return _whole(case)
    found = without_infinities(case)
    for pointer in case.present:
        found += mended_string(case, pointer)
    if not found:
        for pointer in broken_strings(case.body):
            found += mended_string(case, pointer)
    return found[:4]


def _whole(case: Case) -> list[Proposal]:
    data = case.question.request.body
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    if case.question.content_type == "application/x-www-form-urlencoded":
        return from_form(case)
    value = repaired(text)
    if not isinstance(value, dict | list) or not (value or case.root):
        return []
    problem = case.question.body_problem or "it does not parse"
    return [Proposal("repair the JSON", f"The body is no JSON: {problem}.", (value,), 0.9, 1.0)]


def from_form(case: Case) -> list[Proposal]:
    """A form's fields as JSON."""
    text = case.question.request.body[:1_000_000].decode("utf-8", "replace")
    fields = parse_qsl(text, keep_blank_values=True, max_num_fields=None)
    if not fields:
        return []
    made: dict[str, Any] = {}
    for key, value in fields[:200]:
        made[key] = _typed(case, key, value)
    why = "The route reads a JSON body."
    return [Proposal("send the form's fields as JSON", why, (made,), 0.8, 1.0, headers=JSON_TYPE)]


JSON_TYPE = (("Content-Type", "application/json"),)


def _typed(case: Case, key: str, value: str) -> Any:
    """A form's text as the type that the field has: a number or a yes only where no text is taken."""
    kind = case.type_at(pointers.join(key))
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return value
    takes_words = case.admits(kind, "any words")
    return value if takes_words or not case.admits(kind, parsed) else parsed


def without_infinities(case: Case) -> list[Proposal]:
    """NaN and Infinity are no JSON: the fields that hold them left out."""
    places = infinities(case.body)
    if not places:
        return []
    body = case.without(*places)
    why = "JSON has no NaN and no Infinity; left out, the server's default is taken."
    return [Proposal(f"leave out {', '.join(places[:3])}", why, (body,), 0.9, 0.7)]


def infinities(body: Any) -> list[str]:
    """Pointers of numbers that JSON cannot write, in order."""
    try:
        json.dumps(body, allow_nan=False)
    except (ValueError, RecursionError):
        return sorted(_infinities(body))
    return []


def _infinities(body: Any) -> list[str]:
    found = []
    waiting: list[tuple[str, Any]] = [("", body)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, float) and not math.isfinite(value):
            found.append(place)
        elif isinstance(value, dict):
            waiting += [(place + pointers.join(key), item) for key, item in value.items() if _may_hold(item)]
        elif isinstance(value, list):
            waiting += [(f"{place}/{index}", item) for index, item in enumerate(value) if _may_hold(item)]
    return found


def _may_hold(value: Any) -> bool:
    return isinstance(value, float | dict | list)


def broken_strings(body: Any) -> list[str]:
    """Pointers of strings that look like JSON and are none, deepest in the history first."""
    found = []
    for place, value in list(walk(body))[:MAX_STRINGS]:
        if isinstance(value, str) and value.lstrip()[:1] in {"{", "["} and not _is_json(value):
            found.append(place)
    return found[:8]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def mended_string(case: Case, pointer: str) -> list[Proposal]:
    """A string that must hold JSON, repaired; else an empty object in its place."""
    text = case.value(pointer)
    if not isinstance(text, str) or not pointer or _is_json(text):
        return []
    looks_so = text.strip()[:1] in {"{", "["} and SPEAKS_OF_JSON.search(case.text)
    if not looks_so and not pointer.endswith("/arguments"):
        return []
    value = repaired(text)
    found = []
    if isinstance(value, dict | list):
        body = case.changed(pointer, json.dumps(value, ensure_ascii=False))
        found.append(Proposal(f"repair the JSON in {pointer}", "The string must hold JSON.", (body,), 0.9, 1.0))
    body = case.changed(pointer, "{}")
    found.append(Proposal(f'set {pointer} to "{{}}"', "An empty object is JSON.", (body,), 0.85, 0.6))
    return found
