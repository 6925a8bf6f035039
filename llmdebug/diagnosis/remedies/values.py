"""A value of the wrong type, or one that is not among those admitted: the nearest that is."""

from __future__ import annotations

import ast
import json
import re
from difflib import SequenceMatcher, get_close_matches
from typing import Any

from llmdebug.diagnosis.locate import walk
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.coerce import Shapes, wanted_by
from llmdebug.diagnosis.remedies.containers import default_source, taken_below
from llmdebug.diagnosis.remedies.drop import dropped, emptied
from llmdebug.diagnosis.remedies.example import NOT_GIVEN, Examples, default_of
from llmdebug.diagnosis.remedies.malformed import mended_string
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.diagnosis.remedies.rename import nearest_fields
from llmdebug.index.python.types import ANYTHING, Either, Limited, OneOf, Type
from llmdebug.jsontext import pointer as pointers

MAX_BLAMED = 3
HOLDS_JSON = re.compile(r"json|schema|arguments|parameters|kwargs|processor", re.I)
REFERRING = frozenset({"name", "id", "tool_call_id"})
REPEATS = re.compile(r"duplicat|repeat|unique|distinct", re.I)
MAX_ELEMENTS = 2_000
HOLLOW: tuple[Any, ...] = ("", None, [], {})
QUOTED = re.compile(r"'([^'\n]{1,60})'|\"([^\"\n]{1,60})\"|`([^`\n]{1,60})`")
ANNOUNCED = re.compile(
    r"(?:should be|must be|one of|expected (?:one of|tags?|values?)|allowed|(?<!not )(?<!un)supported"
    r"|(?<!in)valid (?:values?|options?)|available|choose)\b",
    re.I,
)
LISTED = re.compile(r"(\[[^\[\]]{1,400}\]|\{[^{}:]{1,400}\}|\([^()]{1,400}\))")


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


def without_element(case: Case, pointer: str, odds: float) -> list[Proposal]:
    """The list without a bad element, or the object without a bad entry that the text quotes."""
    parent, last = pointers.parent(pointer), pointers.parse(pointer)[-1] if pointer else ""
    holder = case.value(parent) if pointer else None
    if isinstance(holder, list) and len(holder) > 1 and last.isdigit():
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


def key_at_fault(case: Case, pointer: str) -> bool:
    """Whether it is the key of a free-form object that the text names, as an id that is none."""
    holder, key = case.value(pointers.parent(pointer)), pointers.parse(pointer)[-1]
    if not isinstance(holder, dict) or case.declared(pointer) is not None or not pointers.parent(pointer):
        return False
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


def part_dropped(case: Case, pointer: str, odds: float) -> list[Proposal]:
    """A list without the element that holds what is blamed, as a message without a part of it."""
    steps = pointers.parse(pointer)
    places = [i for i, step in enumerate(steps) if step.isdigit()]
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


def _not_empty(case: Case, pointer: str, odds: float) -> list[Proposal]:
    """Something where nothing is not enough; from a field that nobody takes, where one fits."""
    kind, name = wanted(case, pointer), pointers.parse(pointer)[-1]
    found = []
    for source in case.ignored_below(pointers.parent(pointer)):
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
    return [
        Proposal(f"set {pointer} to {shown(known)}", "It is one of the admitted values.", (case.changed(pointer, known),),
                 odds - 0.06 * rank, 0.9 if _is_alike(value, known) else 0.7)
        for rank, known in enumerate(fitting[:3])
    ]  # fmt: skip


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


def literals(kind: Type) -> list[Any]:
    """The values that a type lists."""
    match kind:
        case OneOf(values):
            return [value for value in values if isinstance(value, str | int | float | bool)]
        case Limited(inner, _):
            return literals(inner)
        case Either(options, _):
            return [value for option in options for value in literals(option)]
    return []


def quoted(text: str) -> list[Any]:
    """Alternatives that a text gives: a printed list, else what stands in quotes after the words that announce it."""
    text = re.split(r"\b(?:got|received)\b", text[:4_000], maxsplit=1, flags=re.I)[0]
    for match in LISTED.finditer(text):
        values = _printed(match[1])
        if len(values) > 1 and all(isinstance(value, str) for value in values):
            return values
    announced = ANNOUNCED.search(text)
    if announced is None:
        return []
    start = announced.end()
    end = re.search(r"\b(?:got|but|received|not)\b", text[start:])
    part = text[start : start + end.start()] if end else text[start:]
    return [next(group for group in match.groups() if group) for match in QUOTED.finditer(part)][:20]


def _printed(source: str) -> list[Any]:
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(source)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        if isinstance(value, list | tuple | set):
            return sorted(value, key=str) if isinstance(value, set) else list(value)
    bare = [part.strip().strip("`'\"") for part in source[1:-1].split(",")]
    return (
        bare if len(bare) > 1 and all(re.fullmatch(r"[\w.\-]+", part) and not part.isdigit() for part in bare) else []
    )


def shown(value: Any) -> str:
    """A value in a title: short."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
