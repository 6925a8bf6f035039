"""A value of the wrong type, or one that is not among those admitted: the nearest that is."""

from __future__ import annotations

import re
from difflib import SequenceMatcher, get_close_matches
from typing import Any

from llmdebug.diagnosis.locate import walk
from llmdebug.diagnosis.remedies.admitted import literals, quoted, shown
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.coerce import Shapes, wanted_by
from llmdebug.diagnosis.remedies.containers import default_source, taken_below
from llmdebug.diagnosis.remedies.drop import dropped
from llmdebug.diagnosis.remedies.elements import MAX_ELEMENTS, key_at_fault, part_dropped, without_element
from llmdebug.diagnosis.remedies.example import NOT_GIVEN, Examples, default_of
from llmdebug.diagnosis.remedies.malformed import mended_string
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.diagnosis.remedies.rename import nearest_fields
from llmdebug.index.python.types import ANYTHING, Type
from llmdebug.jsontext import pointer as pointers

MAX_BLAMED = 3
MAX_SOURCES = 40
HOLDS_JSON = re.compile(r"json|schema|arguments|parameters|kwargs|processor", re.I)
REFERRING = frozenset({"name", "id", "tool_call_id"})
REPEATS = re.compile(r"duplicat|repeat|unique|distinct", re.I)


def converted(case: Case) -> list[Proposal]:
    """For a wrong type: the same value in the shape that is wanted, then an example, then without it."""
    found: list[Proposal] = []
    blamed = case.present[:MAX_BLAMED] or ([""] if case.body is not None and "" in case.pointers else [])
    for rank, pointer in enumerate(blamed):
        weight = 0.9 - 0.1 * rank
        found += [*_shaped(case, pointer, weight), *_shaped_around(case, pointer, weight - 0.1)]
        found += by_example(case, pointer, 0.7 * weight)
        found += without_element(case, pointer, weight)
        found += dropped(case, pointer)
        found += nearest_fields(case, pointer)[:1]
    return found


def wanted(case: Case, pointer: str) -> Type:
    """What is wanted at a pointer: by the declaration, by the class a free-form object goes into, by the words."""
    kind = case.type_at(pointer)
    if kind != ANYTHING or not pointer:
        return kind
    holder = pointers.parse(pointers.parent(pointer))
    if holder and case.ground is not None:
        kind = taken_below(case.ground, holder[-1], None, case.handler_file).get(pointers.parse(pointer)[-1], ANYTHING)
    if kind != ANYTHING:
        return kind
    error = next((item.complaint.type for item in case.complaints if item.pointer == pointer), "")
    return wanted_by(error, case.text)


def _shaped(case: Case, pointer: str, odds: float) -> list[Proposal]:
    kind, value = wanted(case, pointer), case.value(pointer)
    is_admitted = case.ground is not None and kind != ANYTHING and case.admits(kind, value)
    if is_admitted and case.finding.kind != "wrong_type":
        return []
    shapes = Shapes(case.ground.checker if case.ground else None).of(value, kind)
    at = pointer or "the body"
    return [
        Proposal(
            f"send {at} as {shown(made)}",
            _told(value, made),
            (case.changed(pointer, made),),
            odds - 0.08 * rank,
            _kept(pointer, value, made),
        )
        for rank, made in enumerate(shapes[:3])
    ]


def _shaped_around(case: Case, pointer: str, odds: float) -> list[Proposal]:
    """The list or object around a bad element in another shape: all of it as texts, or without what does not fit."""
    parent = pointers.parent(pointer)
    holder = case.value(parent)
    if not parent or not isinstance(holder, list) or len(holder) > MAX_ELEMENTS:
        return []
    return _shaped(case, parent, odds)


def _kept(pointer: str, value: Any, made: Any) -> float:
    """JSON written into a text is what was meant only where a text holds JSON."""
    written = isinstance(value, dict | list) and isinstance(made, str) and made[:1] in {"{", "["}
    if _is_ids(value) and isinstance(made, list) and not _is_ids(made):
        return 0.3
    return 1.0 if not written or HOLDS_JSON.search(pointer) else 0.45


def _is_ids(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, int) for item in value[:50])


def _told(value: Any, made: Any) -> str:
    if isinstance(made, list) and not isinstance(value, list):
        return "A list is wanted here."
    if isinstance(value, list | dict) and isinstance(made, str):
        return "One text is wanted here."
    if isinstance(made, dict) and not isinstance(value, dict):
        return "An object is wanted here."
    words = {"str": "a text", "int": "an integer", "float": "a number", "bool": "true or false"}
    return f"It says the same as {words.get(type(made).__name__, 'a value of the declared type')}."


def by_example(case: Case, pointer: str, odds: float) -> list[Proposal]:
    """The declared default, or an example of the declared type."""
    if case.ground is None or not pointer:
        return []
    declared, kind = case.declared(pointer), wanted(case, pointer)
    found = []
    default = default_of(declared) if declared is not None else _container_default(case, pointer)
    if default is not NOT_GIVEN and default is not None and default != case.value(pointer):
        why = "It is the default that the server declares."
        found.append(
            Proposal(
                f"set {pointer} to its default {shown(default)}", why, (case.changed(pointer, default),), odds, 0.5
            )
        )
    holder = case.value(pointers.parent(pointer))
    value = (
        Examples(case.ground.checker, holder, case.models).of(kind, pointers.parse(pointer)[-1])
        if kind != ANYTHING
        else None
    )
    given = case.value(pointer)
    other_type = case.finding.kind in {"out_of_range", "bad_value"} and not _is_like(value, given)
    if value is not None and value != given and value != default and not other_type:
        why = "It is a smallest value of the declared type."
        found.append(Proposal(f"set {pointer} to {shown(value)}", why, (case.changed(pointer, value),), odds, 0.45))
    return found


def _is_like(value: Any, given: Any) -> bool:
    numbers = isinstance(value, int | float) and isinstance(given, int | float)
    return numbers or isinstance(value, type(given)) or given is None


def _container_default(case: Case, pointer: str) -> Any:
    holder = pointers.parse(pointers.parent(pointer))
    if not holder or case.ground is None:
        return NOT_GIVEN
    try:
        value = default_source(case.ground, holder[-1], pointers.parse(pointer)[-1], case.handler_file)
    except LookupError:
        return NOT_GIVEN
    return value if isinstance(value, str | int | float | bool) else NOT_GIVEN


def corrected(case: Case) -> list[Proposal]:
    """For a value that is not admitted: the nearest one that is."""
    found: list[Proposal] = []
    blamed = [pointer for pointer in case.present if pointer != "/model"] or case.present
    for rank, pointer in enumerate(blamed[:MAX_BLAMED]):
        odds = 0.85 - 0.1 * rank
        value = case.value(pointer)
        if key_at_fault(case, pointer):
            found += dropped(case, pointer, "The refusal names the key, not its value.", odds)
            continue
        found += nearest_values(case, pointer, odds)
        found += mended_string(case, pointer)
        found += _said_elsewhere(case, pointer, odds - 0.1)
        found += _made_distinct(case, pointer, odds)
        found += _shaped(case, pointer, odds - 0.1)
        found += without_element(case, pointer, odds - 0.05)
        if value in ("", [], {}):
            found += _not_empty(case, pointer, odds)
        found += by_example(case, pointer, 0.6)
        found += part_dropped(case, pointer, 0.6)
        found += dropped(case, pointer)
    return found


def _not_empty(case: Case, pointer: str, odds: float) -> list[Proposal]:
    """Something where nothing is not enough; from a field that nobody takes, where one fits."""
    kind, name = wanted(case, pointer), pointers.parse(pointer)[-1]
    found = []
    for source in case.ignored_below(pointers.parent(pointer))[:MAX_SOURCES]:
        value = case.value(source)
        if isinstance(value, str | list) and value and case.admits(kind, value):
            body = pointers.set(case.without(source), pointer, value)
            why = f"{source} is no field here, and {name} takes its value."
            found.append(Proposal(f"send {source} as {name}", why, (body,), odds, 1.0))
    value = Examples(case.ground.checker, None, case.models).of(kind, name) if case.ground else None
    for made in (value, "Hello", ["Hello"]):
        if made and case.admits(kind, made):
            why = "It must not be empty."
            found.append(Proposal(f"set {pointer} to {shown(made)}", why, (case.changed(pointer, made),), 0.75, 0.5))
            break
    return found


def nearest_values(case: Case, pointer: str, odds: float) -> list[Proposal]:
    """The admitted values most like the refused one: declared, or quoted in the text."""
    value = case.value(pointer)
    if isinstance(value, dict | list):
        return []
    admitted = list(dict.fromkeys([*literals(wanted(case, pointer)), *quoted(case.text)]))
    inside = value if isinstance(value, str) else ""
    admitted = [k for k in admitted if k != pointers.parse(pointer)[-1] and not (isinstance(k, str) and k in inside)]
    ranked = _most_alike(value, admitted)
    declared = default_of(known) if (known := case.declared(pointer)) is not None else NOT_GIVEN
    if declared in ranked:
        ranked.sort(key=lambda known: known != declared and not _is_alike(value, known))
    kind = case.type_at(pointer)
    if kind != ANYTHING and case.admits(kind, value) and case.ground is not None:
        odds -= 0.3  # it is one of them already: something else is wrong with it
    fitting = [known for known in ranked if case.admits(kind, known)]
    why = "It is one of the admitted values."
    found = []
    for rank, known in enumerate(fitting[:3]):
        keeps = 0.9 if _is_alike(value, known) else 0.7
        body = case.changed(pointer, known)
        found.append(Proposal(f"set {pointer} to {shown(known)}", why, (body,), odds - 0.06 * rank, keeps))
    return found


def _said_elsewhere(case: Case, pointer: str, odds: float) -> list[Proposal]:
    """A name that refers to something of the request: the names that are there under the same key."""
    value, key = case.value(pointer), pointers.parse(pointer)[-1]
    if not isinstance(value, str) or key not in REFERRING:
        return []
    others = [v for p, v in walk(case.body) if p != pointer and p.endswith("/" + key) and isinstance(v, str)]
    return [
        Proposal(
            f"set {pointer} to {shown(other)}",
            "It is there in the request.",
            (case.changed(pointer, other),),
            odds,
            0.8,
        )
        for other in list(dict.fromkeys(o for o in others if o != value))[:2]
    ]


def _made_distinct(case: Case, pointer: str, odds: float) -> list[Proposal]:
    """A list whose elements must differ: repeated ones are numbered."""
    value = case.value(pointer)
    if not isinstance(value, list) or len(value) > MAX_ELEMENTS or not REPEATS.search(case.text):
        return []
    seen: dict[str, int] = {}
    made: list[Any] = []
    for item in value:
        name = item.get("id") if isinstance(item, dict) else item
        if not isinstance(name, str):
            return []
        seen[name] = seen.get(name, 0) + 1
        other = name if seen[name] == 1 else f"{name}-{seen[name]}"
        made.append({**item, "id": other} if isinstance(item, dict) else other)
    why = "Each of them then has its own name."
    return [Proposal(f"number what is repeated in {pointer}", why, (case.changed(pointer, made),), odds, 0.95)]


def _is_alike(value: Any, known: Any) -> bool:
    return bool(get_close_matches(str(value).lower()[:80], [str(known).lower()], 1, 0.6))


def _most_alike(value: Any, admitted: list[Any]) -> list[Any]:
    spelled = str(value).lower()[:80]

    def distance(known: Any) -> float:
        ratio = SequenceMatcher(None, spelled, str(known).lower()[:80], autojunk=False).ratio()
        return -ratio if ratio >= 0.3 else 0.0

    return sorted(admitted[:200], key=distance)
