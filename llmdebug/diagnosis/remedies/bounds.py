"""A number, length or count outside its limits: the nearest inside."""

from __future__ import annotations

import re
from typing import Any

from llmdebug.diagnosis.locate import walk
from llmdebug.diagnosis.remedies import limits
from llmdebug.diagnosis.remedies.admitted import shown
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.drop import dropped
from llmdebug.diagnosis.remedies.elements import key_at_fault, without_element
from llmdebug.diagnosis.remedies.example import bounded
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.diagnosis.remedies.values import by_example, wanted
from llmdebug.index.python.types import Either, Limited, ListOf, Scalar, Type
from llmdebug.jsontext import pointer as pointers

MAX_BLAMED = 3
MAX_BITS = 1_000
"""Larger whole numbers are no floats."""
DECLARED = "It is the nearest value inside the declared bounds."
ADMITTED = "It is the nearest value that the refusal admits."
WHOLE = re.compile(r"-?\d{1,18}")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w])")
OF_TEXTS = re.compile(r"\bcharacters?\b|\blength\b|\blong\b|\bshort", re.I)


def brought_in(case: Case) -> list[Proposal]:
    """For each blamed field: declared bounds, then what the text says, then the default, then without it."""
    found: list[Proposal] = []
    for rank, pointer in enumerate(_blamed(case)):
        weight = 0.92 - 0.12 * rank
        value = case.value(pointer)
        if key_at_fault(case, pointer):
            found += dropped(case, pointer, "The refusal names the key, not its value.", weight)
            continue
        if isinstance(value, int | float) and not isinstance(value, bool):
            found += _numbers(case, pointer, value, weight)
        elif isinstance(value, str | list | dict):
            found += _lengths(case, pointer, value, weight)
            found += _entries(case, pointer, value, weight)
            found += without_element(case, pointer, weight - 0.05)
        parent = pointers.parent(pointer)
        if isinstance(case.value(parent), list):
            found += without_element(case, parent, weight - 0.1) or without_element(case, pointer, weight - 0.1)
        found += by_example(case, pointer, 0.6)
        found += dropped(case, pointer)
    return found


def numbers_brought_in(case: Case) -> list[Proposal]:
    """The blamed numbers alone."""
    found: list[Proposal] = []
    for pointer in case.present[:MAX_BLAMED]:
        value = case.value(pointer)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and not key_at_fault(case, pointer):
            found += _numbers(case, pointer, value, 0.8)
    return found[:3]


def _blamed(case: Case) -> list[str]:
    """The blamed fields; where they hold no quantity, the fields whose number the text quotes."""
    blamed = case.present[:MAX_BLAMED]
    if any(not isinstance(case.value(pointer), bool) for pointer in blamed):
        return blamed
    spoken = {match[0] for match in NUMBER.finditer(case.text)}
    quoted = [
        place
        for place, value in walk(case.body)
        if isinstance(value, int | float) and not isinstance(value, bool) and repr(value) in spoken
    ]
    return [*quoted[:2], *blamed]


def _numbers(case: Case, pointer: str, value: float, weight: float) -> list[Proposal]:
    if not limits.is_finite(value):
        return []
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        value = 2**MAX_BITS if value > 0 else -(2**MAX_BITS)
    kind = wanted(case, pointer)
    whole = is_whole(kind, value)
    text = limits.named_numbers(case.text, case.value(pointers.parent(pointer)))
    exact = value if whole else float(value)
    tried = [(limits.as_number(bounded(exact, b), whole), DECLARED, weight) for b in _declared(kind)]
    tried += [(made, ADMITTED, weight) for made in limits.candidates(value, text, whole)]
    if not tried and case.finding.kind != "bad_value":
        tried += [(made, "The refusal names it.", weight - 0.35) for made in limits.mentioned(value, text, whole)]
    found: list[Proposal] = []
    seen: list[Any] = [value, *(int(step) for step in pointers.parse(pointer) if WHOLE.fullmatch(step))]
    for made, why, odds in tried[:8]:
        if made in seen or not case.admits(kind, made):
            continue
        seen.append(made)
        body = case.changed(pointer, made)
        found.append(Proposal(f"set {pointer} to {shown(made)}", why, (body,), odds - 0.1 * len(found), 0.95))
    return found


def is_whole(kind: Type, value: Any) -> bool:
    """Whether whole numbers are wanted: by the declaration, else by what was sent."""
    names = _scalars(kind)
    if "float" in names:
        return False
    return "int" in names or isinstance(value, int)


def _scalars(kind: Type) -> set[str]:
    match kind:
        case Scalar(name):
            return {name}
        case Limited(inner, _):
            return _scalars(inner)
        case Either(options, _):
            return {name for option in options for name in _scalars(option)}
    return set()


def _declared(kind: Type) -> list[tuple[tuple[str, object], ...]]:
    match kind:
        case Limited(inner, bounds):
            return [bounds, *_declared(inner)]
        case Either(options, _):
            return [bounds for option in options for bounds in _declared(option)]
    return []


def _lengths(case: Case, pointer: str, value: str | list[Any] | dict[str, Any], weight: float) -> list[Proposal]:
    """A list or text cut to, or filled up to, the admitted length."""
    if isinstance(value, dict):
        return []
    found = []
    kind = wanted(case, pointer)
    for bounds in _declared(kind):
        made = bounded(value, bounds)
        if made != value and len(made) < len(value):
            found.append(_cut(case, pointer, made, "declared", weight))
    counted = isinstance(value, list) or OF_TEXTS.search(case.text) is not None
    lengths = limits.candidates(len(value), case.text, True)[:2] if counted else []
    found += [
        _cut(case, pointer, value[: int(length)], "admitted", weight - 0.05)
        for length in lengths
        if 0 < length < len(value)
    ]
    if not value and isinstance(kind, ListOf | Limited | Either):
        found += by_example(case, pointer, 0.85)
    return found


def _cut(case: Case, pointer: str, made: Any, word: str, odds: float) -> Proposal:
    unit = "characters" if isinstance(made, str) else "elements"
    title = f"keep {len(made)} {unit} of {pointer}"
    return Proposal(title, f"That is the {word} length.", (case.changed(pointer, made),), odds, 0.8)


def _entries(case: Case, pointer: str, value: Any, weight: float) -> list[Proposal]:
    """The numbers inside a list or object brought inside what the text admits."""
    if not isinstance(value, list | dict):
        return []
    for given in limits.ranges_in(case.text)[:3]:

        def change(number: float, given: limits.Range = given) -> float | None:
            made = limits.nearest(number, given, False)
            return None if made is None else limits.as_number(made, isinstance(number, int))

        made = limits.clamped(value, change)
        if made != value:
            why = "Each number is brought inside what the refusal admits."
            return [
                Proposal(
                    f"bring the numbers of {pointer} inside the limits",
                    why,
                    (case.changed(pointer, made),),
                    weight,
                    0.9,
                )
            ]
    return []
