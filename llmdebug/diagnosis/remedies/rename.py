"""The value under another name: the field that was meant, in the same object, in one below, or one above."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from llmdebug.diagnosis.prompts import LONG_TEXT
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.coerce import Shapes
from llmdebug.diagnosis.remedies.containers import taken_below
from llmdebug.diagnosis.remedies.drop import dropped
from llmdebug.diagnosis.remedies.example import is_flag
from llmdebug.diagnosis.remedies.names import likeness
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.index.python.models import Declared
from llmdebug.index.python.types import ANYTHING, Anything, Limited, ListOf, MapOf, Object, Scalar, Type
from llmdebug.jsontext import pointer as pointers

LEAST = 0.5
MAX_FIELDS = 400
MAX_SOURCES = 40


def renamed(case: Case) -> list[Proposal]:
    """For a refused unknown field: the nearest accepted ones, and dropping it."""
    found: list[Proposal] = []
    for pointer in (case.present or case.finding.ignored)[:3]:
        if not case.present and case.declared(pointer) is not None:
            found += dropped(case, pointer, _reason(case, pointer), odds=0.9)
            continue
        found += nearest_fields(case, pointer)
        found += moved(case, pointer)
        found += hoisted(case, pointer)
        found += dropped(case, pointer, "No field of this name is taken here.", odds=0.85)
    return found


def _reason(case: Case, pointer: str) -> str:
    """Why a declared field has no effect, as the place says that tells of it."""
    name = pointers.parse(pointer)[-1]
    told = next((why for spot in case.finding.spots if name in spot.symbol for why in spot.why), "")
    told = told or next((why for spot in case.finding.spots if spot.role == "checks" for why in spot.why), "")
    return f"{told[:1].upper()}{told[1:]}." if told else "It has no effect here."


def nearest_fields(case: Case, pointer: str) -> list[Proposal]:
    """The field's value under the names beside it that are alike and admit it."""
    if not pointer:
        return []
    parent, name = pointers.parent(pointer), pointers.parse(pointer)[-1]
    holder, value = case.value(parent), case.value(pointer)
    if not isinstance(holder, dict) or value is None:
        return []
    rated: list[tuple[float, str]] = []
    for key, kind in accepted(case, parent):
        alike = likeness(name, key)
        if alike >= LEAST and key not in holder and key != name and case.admits(kind, value):
            rated.append((alike, key))
    found = []
    flag = is_flag(case.type_at(pointer)) and value is not True
    for alike, key in sorted(rated, reverse=True)[:2]:
        if flag:
            body = case.changed(parent + pointers.join(key), value)
            body = pointers.set(body, pointer, True)
            why = f"{name} is a yes or no here; {key} takes the value."
            found.append(
                Proposal(f"set {pointer} to true, and {key} to {value}", why, (body,), 0.5 + 0.45 * alike, 1.0)
            )
            continue
        body = pointers.set(case.without(pointer), parent + pointers.join(key), value)
        why = f"{key} is a field here, its name is the nearest to {name}, and it takes this value."
        found.append(Proposal(f"send {pointer} as {key}", why, (body,), 0.5 + 0.4 * alike, 1.0))
    return found


def accepted(case: Case, parent: str) -> Iterator[tuple[str, Type]]:
    """The fields that the object at a pointer takes, with their types."""
    if case.ground is None:
        return
    models = case.models_at(parent)
    for model in models[:2]:
        for field in list(model.fields.values())[:MAX_FIELDS]:
            yield field.names[0], case.ground.checker.field_type(field)
    if not models and parent:
        yield from taken_below(case.ground, pointers.parse(parent)[-1], None, case.handler_file).items()
    for name in listed(case.text):
        yield name, ANYTHING
    if not parent and case.inputs is not None:
        for read in case.inputs.reads:
            yield read.key, ANYTHING


def listed(text: str) -> list[str]:
    """Names that a message lists as those it expects."""
    announced = re.search(r"expected one of|expected|allowed|valid|known|accepted|supported", text, re.I)
    return re.findall(r"[`'\"]([A-Za-z_][\w.\-]*)[`'\"]", text[announced.end() :])[:80] if announced else []


def moved(case: Case, pointer: str) -> list[Proposal]:
    """The field taken into an object beside it that takes one of this name, or out of the object it stands in."""
    parent, name = pointers.parent(pointer), pointers.parse(pointer)[-1]
    value = case.value(pointer)
    found: list[Proposal] = []
    for key, kind in list(accepted(case, parent)):
        inner = _field_below(case, key, kind, name, value)
        if inner is None:
            continue
        at = parent + pointers.join(key)
        held = case.value(at)
        made = {**held, inner: value} if isinstance(held, dict) else {inner: value}
        why = f"{key} takes {inner}; beside it the field is no field."
        body = pointers.set(case.without(pointer), at, made)
        found.append(Proposal(f"send {pointer} as {at}/{inner}", why, (body,), 0.8, 1.0))
    if parent:
        above = pointers.parent(parent)
        for key, kind in list(accepted(case, above)):
            if key == name and case.admits(kind, value):
                body = pointers.set(case.without(pointer), above + pointers.join(key), value)
                found.append(
                    Proposal(f"send {pointer} as {above}/{key}", f"{key} is a field there.", (body,), 0.8, 1.0)
                )
    return found[:2]


def hoisted(case: Case, pointer: str) -> list[Proposal]:
    """An object that nobody takes, whose fields are taken where it stands."""
    parent, value = pointers.parent(pointer), case.value(pointer)
    holder = case.value(parent)
    if not isinstance(value, dict) or not value or not isinstance(holder, dict):
        return []
    known = dict(accepted(case, parent))
    taken = {key: item for key, item in value.items() if key in known and key not in holder}
    if not taken or len(taken) < len(value):
        return []
    rest = {key: item for key, item in holder.items() if parent + pointers.join(key) != pointer}
    body = pointers.set(case.body, parent, {**rest, **taken})
    why = f"{', '.join(list(taken)[:4])} are fields here, {pointers.parse(pointer)[-1]} is none."
    return [Proposal(f"send what is in {pointer} beside it", why, (body,), 0.85, 1.0)]


def _field_below(case: Case, key: str, kind: Type, name: str, value: Any) -> str | None:
    """The name under which the object `key` takes a value."""
    if case.ground is None or not is_container(kind):
        return None
    for inner, admitted in taken_below(case.ground, key, kind, case.handler_file).items():
        if inner == name and case.admits(admitted, value):
            return inner
    return None


def is_container(kind: Type) -> bool:
    """Whether a type holds named values."""
    match kind:
        case Limited(inner, _):
            return is_container(inner)
        case Object() | MapOf():
            return True
    return any(is_container(option) for option in getattr(kind, "options", ()))


def suitor(case: Case, declared: Declared, pointer: str) -> Iterator[tuple[float, str, Any]]:
    """Values of the request that could be meant for a missing field: rating, where they stand, their new shape.

    Those that nobody takes come from the same object; a value that fits as it is beats one that must be reshaped.
    """
    if case.ground is None:
        return
    kind = case.ground.checker.field_type(declared)
    if isinstance(kind, Anything):
        return
    parent, name = pointers.parent(pointer), declared.names[0]
    shapes = Shapes(case.ground.checker)
    for source in case.ignored_below(parent)[:MAX_SOURCES]:
        value = case.value(source)
        if value is None:
            continue
        own = pointers.parse(source)[-1]
        alike = max(likeness(own, key) for key in declared.names)
        if own in LONG_TEXT and name in LONG_TEXT:
            alike = max(alike, 0.5)
        if case.admits(kind, value):
            yield 0.6 + 0.4 * alike - (0.3 if _is_plain(kind, value) and alike < 0.3 else 0.0), source, value
            continue
        for made in shapes.of(value, kind)[:1]:
            written = isinstance(made, str) and not isinstance(value, str) and made[:1] in "[{"
            if (alike >= 0.3 or _says_words(value)) and not written:
                yield 0.42 + 0.3 * alike, source, made


def _is_plain(kind: Type, value: Any) -> bool:
    """Whether almost any field would admit the value: its fitting says little."""
    return isinstance(value, str | bool | int | float) and not isinstance(kind, ListOf) and kind != Scalar("str")


def _says_words(value: Any) -> bool:
    return (isinstance(value, str) and bool(value.strip())) or (isinstance(value, list) and bool(value))
