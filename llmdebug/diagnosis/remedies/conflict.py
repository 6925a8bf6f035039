"""Fields that exclude or need each other: one dropped, or what is needed set."""

from __future__ import annotations

import re
from typing import Any

from llmdebug.diagnosis.blame import names_in
from llmdebug.diagnosis.remedies.admitted import shown
from llmdebug.diagnosis.remedies.bounds import numbers_brought_in
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.drop import dropped, emptied
from llmdebug.diagnosis.remedies.example import NOT_GIVEN, Examples, default_of, is_flag
from llmdebug.diagnosis.remedies.names import in_words
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.diagnosis.remedies.repair import repaired
from llmdebug.jsontext import pointer as pointers

MAX_FIELDS = 5
MAX_KEYS = 200
_VALUE = r"[`'\"]?(true|false|none|null|enabled|-?\d+(?:\.\d+)?|\"[^\"]{1,40}\"|'[^']{1,40}')"
_DEMAND = re.compile(
    rf"[`'\"]?\b([A-Za-z_]\w*)[`'\"]?\s*(?:={{1,2}}|must be(?: set to| equal to)?"
    rf"|needs? to be(?: set to)?|should be(?: set to)?"
    rf"|has to be(?: set to)?|to be(?: set to)?|is(?: set to)?|to)\s*{_VALUE}",
    re.I,
)
_MUST_BE_SET = re.compile(
    r"[`'\"]?\b([A-Za-z_]\w*)[`'\"]?\s+(?:must|should|has to|needs to) be "
    r"(?:set|provided|given|specified|present|enabled)\b",
    re.I,
)
_REQUIRES = re.compile(
    r"\b(?:requires?|needs?|without|when|if)\s+(?:a |an |the |using )?[`'\"]?([A-Za-z_]\w*)[`'\"]?", re.I
)


def resolved(case: Case) -> list[Proposal]:
    """What the text asks for, set; then each of the fields without the others; then numbers brought in."""
    found = demanded(case)
    blamed = suspects(case)
    for rank, pointer in enumerate(blamed[:MAX_FIELDS]):
        value = case.value(pointer)
        if isinstance(value, bool) and value:
            why = "The fields exclude each other."
            found.append(
                Proposal(f"set {pointer} to false", why, (case.changed(pointer, False),), 0.7 - 0.05 * rank, 0.55)
            )
            continue
        found += dropped(case, pointer, "The fields exclude or need each other.", 0.7 - 0.05 * rank)
    found += _defaults_off(case)
    found += numbers_brought_in(case)
    return found


def suspects(case: Case) -> list[str]:
    """The fields of the request that are blamed, or that the text speaks of."""
    found = list(case.present)
    holder = list(case.body)[:MAX_KEYS] if isinstance(case.body, dict) else []
    found += [
        p for key in holder if (p := pointers.join(key)) not in found and in_words(case.text, key) and key != "model"
    ]
    return [pointer for pointer in found if pointer != "/model"] or found


def demanded(case: Case) -> list[Proposal]:
    """Values that the text asks for."""
    found: list[Proposal] = []
    parents = list(dict.fromkeys([*(pointers.parent(p) for p in case.pointers if p), ""]))
    for match in _DEMAND.finditer(case.text):
        value = repaired_word(match[2])
        for parent in parents:
            found += _set(case, parent, match[1], value, 0.85)
    for match in [*_MUST_BE_SET.finditer(case.text), *_REQUIRES.finditer(case.text)]:
        for parent in parents:
            found += _set_something(case, parent, match[1])
    return found[:4]


def repaired_word(word: str) -> Any:
    """A literal as a message writes it."""
    if word.lower() == "enabled":
        return True
    made = repaired("[" + word + "]")
    return made[0] if isinstance(made, list) and made else word.strip("'\"")


def _set(case: Case, parent: str, name: str, value: Any, odds: float) -> list[Proposal]:
    """A field set to what is asked for, where it is one, and is not so already."""
    pointer = parent + pointers.join(name)
    holder = case.value(parent)
    if not isinstance(holder, dict) or not (name in holder or case.declared(pointer) is not None):
        return []
    if pointers.has(case.body, pointer) and case.value(pointer) == value:
        return []
    if not case.admits(case.type_at(pointer), value):
        return []
    why = "The refusal asks for it."
    return [Proposal(f"set {pointer} to {shown(value)}", why, (case.changed(pointer, value),), odds, 0.9)]


def _set_something(case: Case, parent: str, name: str) -> list[Proposal]:
    """A field that has to be there: true where it is a yes or no, an example else."""
    pointer = parent + pointers.join(name)
    holder, declared = case.value(parent), case.declared(pointer)
    if not isinstance(holder, dict) or case.ground is None or case.value(pointer) or declared is None:
        return []
    kind = case.type_at(pointer)
    value: Any = True if is_flag(kind) else Examples(case.ground.checker, holder, case.models).of(kind, name)
    if value is None:
        return []
    why = f"The refusal says that {name} must be there."
    return [
        Proposal(
            f"set {pointer} to {shown(value)}",
            why,
            (case.changed(pointer, value),),
            0.75,
            0.85 if value is True else 0.6,
        )
    ]


def _defaults_off(case: Case) -> list[Proposal]:
    """Fields that the text names, that the request leaves at a default of true: said false."""
    found = []
    for name, _ in names_in(case.text)[:30]:
        pointer = pointers.join(name)
        declared = case.declared(pointer)
        absent = isinstance(case.body, dict) and name not in case.body
        if declared is not None and absent and default_of(declared) is True and default_of(declared) is not NOT_GIVEN:
            why = f"{name} is true unless the request says otherwise."
            body = emptied(case.changed(pointer, False), pointer)
            found.append(Proposal(f"set {pointer} to false", why, (body,), 0.85, 0.95))
    return found[:2]
