"""Which field of the request a message means.

In this order: the pointer that the complaint carries, the `param` beside it, names in the text that the request
has, the fields that the guard of the site reads, and at last the value that the text quotes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from llmdebug.diagnosis.finding import blamed
from llmdebug.diagnosis.locate import has_pointer, value_at, walk
from llmdebug.diagnosis.quoted import by_part, by_value, prints_as, quoted_values
from llmdebug.diagnosis.schema import escape
from llmdebug.diagnosis.spoken import spoken_fields
from llmdebug.diagnosis.verdict import BlamedField, Kind

PLAIN_WORDS = frozenset(
    re.findall(
        r"\w+",
        "model input text prompt stream user stop tools role content name type n id message messages function functions"
        " format value key data object options query image file echo seed documents instances parameters schema error"
        " code index url",
    )
)
QUOTED = re.compile(r"[`'\"\u201c\u2018]([\w.\-\[\]/]+)[`'\"\u201d\u2019]")
WORD = re.compile(r"[A-Za-z_][\w]*(?:(?:\.|\[)[\w\]]+)*")
INDEX = re.compile(r"\b(?:index|item|message|tool|prompt|element|row|position|entry)\s*(?:#|=|:)?\s*(\d+)\b", re.I)
ALTERNATE = re.compile(r"roles must alternate", re.I)
"""What chat templates say of the order of messages."""
BAD_TOKEN = re.compile(r"\b(?:invalid|bad|unknown) token|token.{0,20}\b(?:invalid|out of (?:range|vocab))", re.I)
GOT_TYPE = re.compile(
    r"\b(?:got|not|found|received)[: ]+(?:an? )?<?(?:class )?'?(str|int|float|dict|list|bool|NoneType)\b"
)
INVALID_TYPE = re.compile(r"invalid type: (map|sequence|string|integer|boolean|floating point|null)\b")
JSON_NAMES: dict[str, type] = {
    "map": dict, "sequence": list, "string": str, "integer": int, "boolean": bool, "floating point": float,
}  # fmt: skip
TYPES: dict[str, type] = {
    "str": str, "int": int, "float": float, "dict": dict, "list": list, "bool": bool, "NoneType": type(None),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a refusal when its field is looked for."""

    text: str
    kind: Kind
    param: str | None = None
    declared: frozenset[str] = frozenset()
    """Names of the fields that the route declares."""
    near: tuple[str, ...] = ()
    """Pointers that the guard of the site read."""
    captured: tuple[str, ...] = ()
    """What fills the holes of the message."""


_NOT_SUPPORTED = re.compile(r"(?:does not|doesn't|do not|cannot|not) support (?:the )?(\w+)", re.IGNORECASE)
_ENDING = re.compile(r"(?:ing|ed|s)$")


def from_text(evidence: Evidence, body: Any) -> list[BlamedField]:
    """The fields that a message blames, best first."""
    values = quoted_values([value for value in evidence.captured if not _prints_whole_list(value, body)])
    names = [(name, quoted, _named_near(name, evidence, body)) for name, quoted in names_in(evidence.text)]
    found = _absent(evidence, body, names) + _by_param(evidence, body, values)
    found.sort(key=lambda field: -field.confidence)
    out_of_turn = _out_of_turn(body) if ALTERNATE.search(evidence.text) else None
    found += [blamed(out_of_turn, "two messages of one role stand in a row", 0.85)] if out_of_turn else []
    found += [
        blamed(at, f"the text names {name!r}", 0.8)
        for name, quoted, at in names
        if at and quoted and not _is_value(name, values)
    ]
    found += [blamed(p, "the text says that this is not supported", 0.78) for p in _unsupported(evidence.text, body)]
    value = by_value(values, body)
    if value and any(value == p or value.startswith(p + "/") for p in evidence.near):
        found.append(blamed(value, "the text quotes its value", 0.75))
    found += [blamed(at, f"the text names {name!r}", 0.7) for name, quoted, at in names if at and _is_distinctive(name)]
    found += [blamed(p, "the text says its name in words", 0.65) for p in _in_words(evidence.text, body)]
    found += [blamed(p, "the check before the refusal reads it", 0.6) for p in _gathered(evidence)]
    if value:
        found.append(blamed(value, "the text quotes its value", 0.55))
    found += [
        blamed(at, f"the text says {name!r}", 0.45)
        for name, quoted, at in names
        if at and at.count("/") == 1 and not quoted and not _is_distinctive(name)
    ]
    return _once(found) or _guesses(evidence, body, values)


def _named_near(name: str, evidence: Evidence, body: Any) -> str | None:
    """The field of a name; of several below the top the one that the check before the refusal read."""
    at = named(name, body)
    if at is None or at.count("/") < 2:
        return at
    read = [p for p in evidence.near if p.rpartition("/")[2] == at.rpartition("/")[2] and has_pointer(body, p)]
    return read[0] if len(read) == 1 else at


def _out_of_turn(body: Any) -> str | None:
    """The role of the first message that follows one of the same role."""
    messages = body.get("messages") if isinstance(body, dict) else None
    roles = [m.get("role") if isinstance(m, dict) else None for m in messages] if isinstance(messages, list) else []
    for place, (before, role) in enumerate(pairwise(roles), 1):
        if role is not None and role == before:
            return f"/messages/{place}/role"
    return None


def _bad_id(evidence: Evidence, body: Any) -> list[BlamedField]:
    """The negative or the largest of the only list of token ids, for a text that says that one is bad."""
    if evidence.kind not in {"out_of_range", "bad_value"} or not BAD_TOKEN.search(evidence.text):
        return []
    lists = [(p, v) for p, v in walk(body) if isinstance(v, list) and v and all(type(e) is int for e in v)]
    if len(lists) != 1:
        return []
    pointer, ids = lists[0]
    place = ids.index(min(ids) if min(ids) < 0 else max(ids))
    return [blamed(f"{pointer}/{place}", "the id that is most likely none of the vocabulary", 0.5)]


def _guesses(evidence: Evidence, body: Any, values: Sequence[str]) -> list[BlamedField]:
    """Weak hints, for where nothing better is known."""
    bad_id = _bad_id(evidence, body)
    if bad_id:
        return bad_id
    holder = by_part(values, body)
    if holder:
        return [blamed(holder, "the text quotes a part of its value", 0.4)]
    kind = JSON_NAMES.get(match[1]) if (match := INVALID_TYPE.search(evidence.text)) else None
    if kind is not None:
        places = [p for p, v in walk(body) if p and type(v) is kind]
        inmost = [p for p in places if not any(q.startswith(p + "/") for q in places)]
        if len(inmost) == 1:
            return [blamed(inmost[0], "the only value of the type that the text names", 0.4)]
    if evidence.kind in {"unsupported", "model_not_found", "other", "upstream"}:
        return []
    said = set(re.findall(r"[a-z]+", evidence.text.lower()))
    keys = (
        [k for k in body if "_" in k and any(len(w) > 3 and w in said for w in k.lower().split("_"))]
        if isinstance(body, dict)
        else []
    )
    return [blamed(f"/{escape(keys[0])}", "its name is like a word of the text", 0.35)] if len(keys) == 1 else []


def _in_words(text: str, body: Any) -> list[str]:
    """Fields whose names stand in the text with blanks for underscores."""
    plain = " ".join(re.findall(r"[a-z0-9]+", text.lower()))
    return [
        p
        for p, _ in walk(body)
        if "_" in (key := p.rpartition("/")[2]) and f" {key.lower().replace('_', ' ')} " in f" {plain} "
    ]


def _unsupported(text: str, body: Any) -> list[str]:
    """The fields that ask for what a text says is not supported, by the stem of the word."""
    if not isinstance(body, dict):
        return []
    stems = {_ENDING.sub("", word.lower()) for word in _NOT_SUPPORTED.findall(text)}
    return [f"/{escape(key)}" for key in body if len(key) > 3 and _ENDING.sub("", key.lower()) in stems]


def _prints_whole_list(value: str, body: Any) -> bool:
    """Whether a text quotes a list of the request as a whole: it then points at none of its elements."""
    if not value.startswith("[") or "," not in value:
        return False
    shown = [part.strip("'\"` ") for part in value.strip("[]").split(",")]
    return any(isinstance(v, list) and [str(e) for e in v] == shown for _, v in walk(body))


def _by_param(evidence: Evidence, body: Any, values: Sequence[str]) -> list[BlamedField]:
    """The field that the answer's `param` names; another one where the quoted value is not that field's."""
    param = evidence.param
    if not param:
        return []
    pointer = named(param, body)
    if pointer is None:
        if evidence.kind == "missing_field" and param.isidentifier() and isinstance(body, dict):
            return [blamed(f"/{escape(param)}", f"the answer's param {param!r} is not in the request", 0.9)]
        return []
    held = value_at(body, pointer)
    if values and isinstance(held, bool | int | float | str) and not any(prints_as(held, v) for v in values):
        words = set(param.split("_"))
        others = [
            p
            for p, v in walk(body)
            if p
            and p != pointer
            and words & set(p.rpartition("/")[2].split("_"))
            and any(prints_as(v, x) for x in values)
        ]
        if len(others) == 1:
            return [
                blamed(others[0], "the text quotes its value", 0.85),
                blamed(pointer, f"the answer's param is {param!r}", 0.5),
            ]
    if evidence.kind == "conflict" and isinstance(held, dict):
        inner = [n for n, quoted in names_in(evidence.text) if quoted and n in held]
        if inner:
            return [blamed(f"{pointer}/{escape(n)}", f"the text names {n!r}", 0.9) for n in inner]
    if isinstance(held, list | dict):
        below = [
            p
            for n, _ in names_in(evidence.text)
            if "_" in n
            for p, _ in walk(held, pointer)
            if p != pointer and p.endswith(f"/{escape(n)}")
        ]
        if len(below) == 1:
            return [
                blamed(below[0], "the text names it", 0.9),
                blamed(pointer, f"the answer's param is {param!r}", 0.6),
            ]
    return [blamed(pointer, f"the answer's param is {param!r}", 0.9)]


def _absent(evidence: Evidence, body: Any, names: Sequence[tuple[str, bool, str | None]]) -> list[BlamedField]:
    """For something missing: what the text names, or the guard looks for, and the request has not."""
    if evidence.kind != "missing_field":
        return []
    said = {name for name, _, _ in names}
    read = [p for p in evidence.near if not has_pointer(body, p) and has_pointer(body, p.rpartition("/")[0])]
    found = [
        blamed(p, "the check before the refusal looks for it, and the text names it", 0.92)
        for p in read
        if p.rpartition("/")[2] in said
    ]
    found += [
        blamed(f"/{escape(name)}", f"the text names {name!r}, and the request has no such field", 0.85)
        for name, quoted, at in names
        if at is None and name in evidence.declared and (quoted or _is_distinctive(name))
    ]
    found += [
        blamed(f"/{escape(name)}", f"the text speaks of a field {name!r}, and the request has none", 0.7)
        for name in spoken_fields(evidence.text)
        if isinstance(body, dict | None) and name not in (body or {}) and named(name, body) is None
    ]
    return found + [blamed(p, "the check before the refusal looks for it", 0.5) for p in read]


def _gathered(evidence: Evidence) -> list[str]:
    """What the guard read; several keys of one object count as the object."""
    below: dict[str, int] = {}
    for pointer in evidence.near:
        parent = pointer.rpartition("/")[0]
        below[parent] = below.get(parent, 0) + 1
    if evidence.kind == "missing_field":
        return list(evidence.near)
    found = []
    for pointer in evidence.near:
        parent, _, last = pointer.rpartition("/")
        found.append(
            parent if parent and below[parent] > 1 and not last.isdigit() and evidence.kind == "conflict" else pointer
        )
    return list(dict.fromkeys(found))


def _is_value(name: str, values: Sequence[str]) -> bool:
    """Whether a quoted name is a value that the message prints rather than a name."""
    return name in values


def _once(found: list[BlamedField]) -> list[BlamedField]:
    seen: dict[str, BlamedField] = {}
    for field in found:
        seen.setdefault(field.pointer, field)
    return list(seen.values())


def names_in(text: str) -> list[tuple[str, bool]]:
    """Names that a text may mean fields by, with whether they stand in quotes; quoted ones first."""
    text = text[:6_000]
    quoted = [m[1].strip(".") for m in QUOTED.finditer(text)]
    bare = [m[0].strip(".") for m in WORD.finditer(text)]
    ordered = [(name, True) for name in dict.fromkeys(quoted)]
    ordered += [(name, False) for name in dict.fromkeys(bare) if name not in set(quoted)]
    return ordered


def _is_distinctive(name: str) -> bool:
    return name not in PLAIN_WORDS and ("_" in name or "." in name or len(name) > 4)


def named(name: str, body: Any) -> str | None:
    """The pointer of the request's field of this name: a dotted path, a top-level key, or a unique key below."""
    if not name:
        return None
    steps = [s for s in re.split(r"[.\[\]]+", name) if s]
    if steps and steps[0] in {"body", "request"} and not (isinstance(body, dict) and steps[0] in body):
        steps = steps[1:]
    pointer = "".join(f"/{escape(step)}" for step in steps)
    if steps and has_pointer(body, pointer):
        return pointer
    if len(steps) != 1:
        return None
    below = [place for place, _ in walk(body) if place.endswith(pointer)]
    return below[0] if below else None


def narrowed(pointer: str, evidence: Evidence, body: Any) -> str:
    """A pointer made more exact: by what the guard read below it, the index or the value that the text tells."""
    below = [p for p in evidence.near if p.startswith(pointer + "/") and has_pointer(body, p)]
    longest = [p for p in below if not any(q.startswith(p + "/") for q in below)]
    if len(longest) == 1:
        return longest[0]
    pointer = _at_index(pointer, evidence.text, body)
    pointer = _with_value(pointer, evidence, body)
    return _of_type(pointer, evidence.text, body)


def _at_index(pointer: str, text: str, body: Any) -> str:
    found = INDEX.search(text)
    top = value_at(body, pointer)
    if found and isinstance(top, list) and int(found[1]) < len(top):
        return f"{pointer}/{int(found[1])}"
    return pointer


def _of_type(pointer: str, text: str, body: Any) -> str:
    """The only value below a pointer that has the type which the text says it got."""
    found = GOT_TYPE.search(text)
    kind = TYPES.get(found[1]) if found else None
    top = value_at(body, pointer)
    if kind is None or not isinstance(top, list):
        return pointer
    places = [p for p, v in walk(top, pointer) if p != pointer and type(v) is kind]
    return places[0] if len(places) == 1 else pointer


def _with_value(pointer: str, evidence: Evidence, body: Any) -> str:
    """The element of a list, the key of a map, or the value in a free object that the text quotes."""
    top = value_at(body, pointer)
    into_objects = evidence.kind in {"bad_value", "out_of_range", "wrong_type"}
    for wanted in quoted_values(evidence.captured):
        if isinstance(top, dict) and wanted in top:
            return f"{pointer}/{escape(wanted)}"
        if isinstance(top, list) or (isinstance(top, dict) and into_objects):
            places = [
                p
                for p, v in walk(top, pointer)
                if p != pointer and prints_as(v, wanted) and (into_objects or p.rpartition("/")[2].isdigit())
            ]
            if len(places) == 1:
                return places[0]
    return pointer
