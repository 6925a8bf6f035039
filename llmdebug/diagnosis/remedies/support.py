"""What this server, its model or its flags do not offer: the request without it, in pieces, or another start."""

from __future__ import annotations

import re
from typing import Any

from llmdebug.diagnosis.prompts import LONG_TEXT
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.conflict import demanded, suspects
from llmdebug.diagnosis.remedies.drop import dropped
from llmdebug.diagnosis.remedies.elements import part_dropped
from llmdebug.diagnosis.remedies.proposal import Proposal, advice
from llmdebug.diagnosis.remedies.rename import nearest_fields
from llmdebug.diagnosis.remedies.values import nearest_values
from llmdebug.index.python.types import OneOf
from llmdebug.jsontext import pointer as pointers

MAX_SPLIT = 32
MAX_BLAMED = 4
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+){1,}\b")
BATCH = re.compile(r"\bbatch|\blists?\b|\bmultiple\b|\bmore than one\b|\bseveral\b|\barrays?\b", re.I)


def without_feature(case: Case) -> list[Proposal]:
    """One request a prompt where lists are not taken; the flag that is named; the request without the feature."""
    found = split(case) + flags(case) + demanded(case)
    blamed = suspects(case)
    for rank, pointer in enumerate(blamed[:MAX_BLAMED]):
        odds = 0.8 - 0.06 * rank
        found += repeated(case, pointer)
        found += _turned_off(case, pointer, odds)
        found += nearest_fields(case, pointer)[:1]
        found += part_dropped(case, pointer, odds)
        found += dropped(case, pointer, "Without it the server can serve the rest.", odds)
    found += [p for pointer in blamed[:1] for p in nearest_values(case, pointer, 0.6)]
    return found


def flags(case: Case) -> list[Proposal]:
    """What the text says the server has to be started with."""
    named = list(dict.fromkeys(FLAG.findall(case.text)))[:3]
    variables = [
        v for v in dict.fromkeys(VARIABLE.findall(case.text)) if f"{v}=" in case.text or "env" in case.text.lower()
    ][:1]
    if not named and not variables:
        return []
    what = " or ".join(named) or variables[0]
    return [
        advice(
            f"start the server with {what}",
            "The refusal names it. It cannot be sent: it is set where the server runs.",
            0.4,
        )
    ]


def split(case: Case) -> list[Proposal]:
    """One request for each element of a list that the server does not take at once."""
    found = []
    for pointer in _batches(case):
        values = case.value(pointer)
        bodies = tuple(case.changed(pointer, value) for value in values)
        if any(not case.admits(case.type_at(pointer), value) for value in values[:MAX_SPLIT]):
            continue
        why = f"The server does not take the {len(values)} at once; each gets its own request, in order."
        title = f"send one request for each of the {len(values)} in {pointer}"
        if len(values) == 1:
            title, why = f"send the only element of {pointer}", "The server does not take a list here."
        found.append(Proposal(title, why, bodies, 0.88, 1.0))
    return found[:1]


def _batches(case: Case) -> list[str]:
    """Pointers of lists of prompts that are blamed, or that the text speaks of."""
    if not isinstance(case.body, dict):
        return []
    speaks = BATCH.search(case.text) is not None
    found = []
    for key in case.body:
        pointer = pointers.join(key)
        is_blamed = any(p == pointer or p.startswith(pointer + "/") for p in case.pointers)
        is_blamed = is_blamed and case.finding.kind in {"unsupported", "wrong_type"}
        if (
            is_batch(case.body[key])
            and key in LONG_TEXT
            and key not in {"messages", "documents"}
            and (is_blamed or speaks)
        ):
            found.append(pointer)
    return found


def is_batch(value: Any) -> bool:
    """Whether a value is several prompts: texts, or lists of ids."""
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_SPLIT:
        return False
    return all(isinstance(item, str) for item in value) or all(isinstance(item, list) and item for item in value)


def repeated(case: Case, pointer: str) -> list[Proposal]:
    """`n` answers as that many requests."""
    name, count = pointers.parse(pointer)[-1], case.value(pointer)
    if name != "n" or isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MAX_SPLIT:
        return []
    body = case.without(pointer)
    why = f"Each of the {count} requests gives one answer."
    return [Proposal(f"send the request {count} times without {pointer}", why, (body,) * count, 0.85, 1.0)]


def _turned_off(case: Case, pointer: str, odds: float) -> list[Proposal]:
    """A yes said no; a choice set to the one that asks for nothing."""
    value = case.value(pointer)
    if value is True:
        why = "The server does not offer it."
        return [Proposal(f"set {pointer} to false", why, (case.changed(pointer, False),), odds, 0.5)]
    kind = case.type_at(pointer)
    options = [kind, *getattr(kind, "options", ())]
    neutral = [
        v for o in options if isinstance(o, OneOf) for v in o.values if v in ("none", "auto", "text") and v != value
    ]
    return [
        Proposal(
            f'set {pointer} to "{choice}"',
            "It is the choice that asks for less.",
            (case.changed(pointer, choice),),
            odds,
            0.5,
        )
        for choice in neutral[:2]
    ]
