"""Dropping what is refused: it passes easily, and keeps the least."""

from __future__ import annotations

from typing import Any

from llmdebug.diagnosis.prompts import LONG_TEXT
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.example import MESSAGE
from llmdebug.diagnosis.remedies.names import words
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.jsontext import pointer as pointers

DEFAULT_TAKEN = "The server does not need it: its default is taken."
NOT_TOLD = "Without the server's source it cannot be told whether it is needed."


def dropped(case: Case, pointer: str, why: str = "", odds: float = 0.7) -> list[Proposal]:
    """The request without the value at a pointer; nothing where it must be there."""
    if not pointer or not pointers.has(case.body, pointer):
        return []
    declared = case.declared(pointer)
    if declared is not None and declared.required and declared.field.annotation:
        return []
    if _is_content(case, pointer):
        return []
    gone = [pointer, *dependents(case, pointer)]
    told = why or (DEFAULT_TAKEN if case.ground is not None else NOT_TOLD)
    return [Proposal(f"drop {' and '.join(gone)}", told, (emptied(case.without(*gone), pointer),), odds, 0.4)]


def without_holder(case: Case) -> list[Proposal]:
    """For something missing inside an optional object: the request without that object."""
    found: list[Proposal] = []
    for pointer in case.pointers[:1]:
        way = pointers.parse(pointer)
        if len(way) > 1:
            held = pointers.join(way[0])
            found += dropped(case, held, f"{held} is not needed; nothing can be missing in it then.", 0.6)
    return found


def _is_content(case: Case, pointer: str) -> bool:
    """Whether it is all that the model is asked."""
    held = [key for key in case.body if key in LONG_TEXT] if isinstance(case.body, dict) else []
    return held == [pointer[1:]]


def dependents(case: Case, pointer: str) -> list[str]:
    """Fields beside it that mean nothing without it: named after it (`tools`, `tool_choice`)."""
    holder = case.value(pointers.parent(pointer))
    last = pointers.parse(pointer)[-1]
    name = words(last)
    if not isinstance(holder, dict) or len(name) != 1 or not last.endswith("s"):
        return []
    beside = [key for key in holder if len(words(key)) > 1 and words(key)[0] == name[0]]
    return [pointers.parent(pointer) + pointers.join(key) for key in beside]


def emptied(body: Any, pointer: str) -> Any:
    """The body where dropping left nothing behind that should hold something: its holder goes too, or gets words."""
    parent = pointers.parent(pointer)
    if not parent or not pointers.has(body, parent) or pointers.get(body, parent) not in ([], {}):
        return body
    *way, last = pointers.parse(parent)
    if last == "messages":
        return pointers.set(body, parent, [dict(MESSAGE)])
    if last == "content":
        return pointers.set(body, parent, MESSAGE["content"])
    holder = pointers.get(body, pointers.join(*way))
    if isinstance(holder, dict) and pointers.index_of(pointer.rpartition("/")[2]) is not None and len(way) == 0:
        return body
    return pointers.remove(body, parent) if isinstance(holder, dict) and way else body
