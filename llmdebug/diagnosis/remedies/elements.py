"""Lists and objects without the elements that are refused."""

from __future__ import annotations

import re
from typing import Any

from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.drop import emptied
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.jsontext import pointer as pointers

MAX_ELEMENTS = 2_000
HOLLOW: tuple[Any, ...] = ("", None, [], {})


def key_at_fault(case: Case, pointer: str) -> bool:
    """Whether it is the key of a free-form object that the text names, as an id that is none."""
    parent = pointers.parent(pointer)
    holder = case.value(parent)
    if not parent or not isinstance(holder, dict) or case.declared(pointer) is not None:
        return False
    key = pointers.parse(pointer)[-1]
    spoken = re.search(rf"(?<![\w.]){re.escape(key)}(?![\w])", case.text) is not None
    return (
        spoken
        and (re.fullmatch(r"-?\d+", key) is not None or f"'{key}'" in case.text)
        and not _spoken_of(case, holder, key)
    )


def _spoken_of(case: Case, holder: dict[str, Any], key: str) -> bool:
    """Whether the text names the value too."""
    value = holder[key]
    return (
        isinstance(value, int | float | str)
        and re.search(rf"(?<![\w.]){re.escape(str(value))}(?![\w.])", case.text) is not None
    )


def without_element(case: Case, pointer: str, odds: float) -> list[Proposal]:
    """The list without a bad element, or the object without a bad entry that the text quotes."""
    parent, last = pointers.parent(pointer), pointers.parse(pointer)[-1] if pointer else ""
    holder = case.value(parent) if pointer else None
    if isinstance(holder, list) and len(holder) > 1 and pointers.index_of(last) is not None:
        body = case.without(pointer)
        return [Proposal(f"drop {pointer}", "The rest of the list stays.", (body,), odds - 0.1, 0.6)]
    value = case.value(pointer)
    if isinstance(value, list | dict) and value:
        kept = _without_quoted(value, case.text)
        if kept is not None and kept:
            why = "The refusal names what was dropped."
            title = f"drop what is refused from {pointer}"
            return [Proposal(title, why, (case.changed(pointer, kept),), odds, 0.7)]
        if kept is not None:
            return [Proposal(f"drop {pointer}", "Nothing of it is admitted.", (case.without(pointer),), odds, 0.4)]
    return []


def _without_quoted(value: Any, text: str) -> Any:
    """The container without the entries that a text quotes; numbers beyond a refused one go too."""
    spoken = set(re.findall(r"[-+]?\w+(?:\.\d+)?", text[:4_000]))
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if key not in spoken}
        return kept if len(kept) < len(value) else None
    numbers = [v for v in value if isinstance(v, int | float) and not isinstance(v, bool)]
    bad = [v for v in numbers if repr(v) in spoken]
    if bad and len(numbers) == len(value):
        high, low = max(bad), min(bad)
        kept_numbers = [v for v in numbers if (v < high if high > 0 else v > low) and v >= 0]
        return kept_numbers if len(kept_numbers) < len(value) else None
    if "" in value or None in value:
        return [item for item in value if item not in ("", None)]
    kept_items = [item for item in value if not (isinstance(item, str) and item and item in spoken)]
    return kept_items if len(kept_items) < len(value) else None


def part_dropped(case: Case, pointer: str, odds: float) -> list[Proposal]:
    """A list without the element that holds what is blamed, as a message without a part of it."""
    steps = pointers.parse(pointer)
    places = [i for i, step in enumerate(steps) if pointers.index_of(step) is not None]
    if len(steps) < 3 or not places:
        return []
    part = pointers.join(*steps[: places[-1] + 1])
    if not isinstance(case.value(part), dict) or (len(places) < 2 and len(case.value(pointers.parent(part))) < 2):
        return []
    body = emptied(case.without(part), part)
    return [Proposal(f"drop {part}", "The rest of the list stays.", (body,), odds, 0.5)]


def without_hollow(case: Case) -> list[Proposal]:
    """Lists of the request without their empty elements, where those are what is complained of."""
    found = []
    for pointer in dict.fromkeys([*case.present, *map(pointers.parent, case.present)]):
        value = case.value(pointer)
        if isinstance(value, list) and len(value) <= MAX_ELEMENTS:
            kept = [item for item in value if item not in HOLLOW]
            if kept and len(kept) < len(value):
                why = "Its empty elements are left out."
                body = case.changed(pointer, kept)
                found.append(Proposal(f"drop the empty elements of {pointer}", why, (body,), 0.8, 0.8))
    return found
