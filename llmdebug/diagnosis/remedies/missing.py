"""What must be there and is not: found under another name, made from what is there, or an example."""

from __future__ import annotations

from typing import Any

from llmdebug.diagnosis.blame import names_in
from llmdebug.diagnosis.locate import walk
from llmdebug.diagnosis.remedies.admitted import shown
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.example import GREETING, Examples
from llmdebug.diagnosis.remedies.names import in_words
from llmdebug.diagnosis.remedies.otherroute import other_routes
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.diagnosis.remedies.rename import suitor
from llmdebug.index.python.models import Declared
from llmdebug.index.python.types import ANYTHING, Object, OneOf, Type
from llmdebug.jsontext import pointer as pointers

MAX_MISSING = 4
COMMONEST = ("user", "text", "function")
"""Tags that most requests carry: taken where the other keys do not tell."""
MAX_HOLDERS = 400
MAX_STRAYS = 100
EMPTY: tuple[Any, ...] = ("", [], {}, None)


def filled(case: Case) -> list[Proposal]:
    """For each thing that may be missing: the value that was meant for it, another route, and an example."""
    found: list[Proposal] = []
    for pointer in case.present[:3]:
        value = case.value(pointer)
        if isinstance(value, str) and pointer.endswith("_url"):
            body = case.changed(pointer, {"url": value})
            found.append(
                Proposal(f"send {pointer} as an object with url", "The address stands in an object.", (body,), 0.7, 1.0)
            )
    for rank, pointer in enumerate(missing(case)):
        weight = 1.0 - 0.12 * rank
        found += [weighed(p, weight) for p in _filled(case, pointer)]
    sources = case.ignored_below("")
    found += other_routes(case, sources)
    return found or _whole(case)


def filled_beside(case: Case) -> list[Proposal]:
    """For a value that is admitted as such: what it needs beside it."""
    first = next(iter(case.present), None)
    if (
        first is not None
        and case.type_at(first) != ANYTHING
        and not case.admits(case.type_at(first), case.value(first))
    ):
        return []
    return filled(case)


def weighed(proposal: Proposal, weight: float) -> Proposal:
    return Proposal(
        proposal.title, proposal.why, proposal.bodies, proposal.odds * weight, proposal.keeps, proposal.method,
        proposal.path, proposal.query, proposal.headers, proposal.is_advice,
    )  # fmt: skip


def missing(case: Case) -> list[str]:
    """Pointers of what may be missing: blamed and absent or empty, then named in the text and declared."""
    found = [p for p in case.pointers if p and _can_be_set(case, p) and case.value(p) in EMPTY]
    parents = dict.fromkeys([*(pointers.parent(p) for p in case.pointers if p), ""])
    for parent in parents:
        for name, is_quoted in names_in(case.text)[:40]:
            at = parent + pointers.join(name)
            meant = is_quoted or "_" in name or case.finding.kind == "missing_field"
            known = meant and case.declared(at) is not None and name != "model"
            if known and at not in found and _can_be_set(case, at) and case.value(at) is None:
                found.append(at)
    return (found or _wanting(case))[:MAX_MISSING]


def _wanting(case: Case) -> list[str]:
    """Where the text names a field that an object inside the request could have and has not: the innermost ones."""
    names = [name for name, is_quoted in names_in(case.text)[:40] if is_quoted]
    holders = [place for place, value in list(walk(case.body))[:MAX_HOLDERS] if isinstance(value, dict) and place]
    found = [
        place + pointers.join(name)
        for place in reversed(holders)
        for name in names
        if name not in case.value(place) and case.declared(place + pointers.join(name)) is not None
    ]
    return found if len(found) <= MAX_MISSING else []


def _can_be_set(case: Case, pointer: str) -> bool:
    return isinstance(case.value(pointers.parent(pointer)), dict)


def _filled(case: Case, pointer: str) -> list[Proposal]:
    declared = case.declared(pointer)
    kind = case.type_at(pointer)
    parent, name = pointers.parent(pointer), pointers.parse(pointer)[-1]
    found: list[Proposal] = []
    if declared is not None:
        found += _meant(case, declared, pointer)
        found += _gathered(case, kind, pointer)
    keeps = 0.7 if in_words(case.text, name) else 0.55
    for value in examples(case, pointer, kind):
        told = f"{shown(value)} is the smallest value that fits." if declared else f"{name} is asked for."
        body = case.changed(pointer, value)
        found.append(
            Proposal(
                f"add {parent}/{name}: {shown(value)}",
                told,
                (body,),
                0.75 - 0.05 * len(found),
                keeps,
            )
        )
    return found


def examples(case: Case, pointer: str, kind: Type) -> list[Any]:
    """Typed examples for a field; for a tag, the values that the keys beside it fit best."""
    holder = case.value(pointers.parent(pointer))
    name = pointers.parse(pointer)[-1]
    if case.ground is None:
        return [_untyped(name)]
    made = Examples(case.ground.checker, holder, case.models)
    tags = _tags(case, pointer)
    if tags:
        return tags[:2]
    value = made.of(kind, name)
    return [value] if value is not None else []


def _untyped(name: str) -> Any:
    return [{"role": "user", "content": GREETING}] if name == "messages" else GREETING


def _tags(case: Case, pointer: str) -> list[Any]:
    """Values of a missing tag, those of the branches first that the other keys fit."""
    if case.ground is None:
        return []
    parent, name = pointers.parent(pointer), pointers.parse(pointer)[-1]
    checker = case.ground.checker
    rated: list[tuple[int, Any]] = []
    models = case.models_at(parent)
    if len(models) < 2:
        return []
    holder = case.value(parent)
    for model in models:
        field = model.by_key(name)
        kind = checker.field_type(field) if field is not None else ANYTHING
        if isinstance(kind, OneOf) and isinstance(holder, dict):
            for value in kind.values:
                held = {**holder, name: value}
                unknown = sum(model.by_key(key) is None for key in holder)
                rated.append((len(checker.check(Object(model), held)) + unknown, value))
    rated.sort(key=lambda pair: (pair[0], pair[1] not in COMMONEST))
    return list(dict.fromkeys(value for _, value in rated))


def _meant(case: Case, declared: Declared, pointer: str) -> list[Proposal]:
    """The values that the request sends under a name which nobody takes."""
    found = []
    rated = sorted(suitor(case, declared, pointer), key=lambda item: -item[0])
    for rating, source, value in rated[:2]:
        if rating < 0.4:
            continue
        body = pointers.set(case.without(source), pointer, value)
        name = pointers.parse(pointer)[-1]
        same = value == case.value(source)
        shape = "as it is" if same else f"as {shown(value)}"
        why = f"{name} takes {_kind_word(value)}; {source} is no field here and would be ignored."
        title = f"send {source} {'' if same else 'reshaped '}as {name}"
        found.append(Proposal(title, why if same else f"{why[:-1]}, sent {shape}.", (body,), 0.45 + 0.5 * rating, 1.0))
    return found


def _gathered(case: Case, kind: Type, pointer: str) -> list[Proposal]:
    """Keys beside a missing object that belong into it."""
    parent, name = pointers.parent(pointer), pointers.parse(pointer)[-1]
    if case.ground is None:
        return []
    if not isinstance(kind, Object):
        return []
    strays = {p: pointers.parse(p)[-1] for p in case.ignored_below(parent)[:MAX_STRAYS]}
    taken = {source: key for source, key in strays.items() if kind.model.by_key(key) is not None}
    if not taken:
        return []
    inner = {key: case.value(source) for source, key in taken.items()}
    body = pointers.set(case.without(*taken), pointer, inner)
    why = f"{', '.join(taken.values())} belong{'s' if len(taken) == 1 else ''} into {name} ({kind.model.name})."
    return [Proposal(f"nest {', '.join(taken.values())} under {name}", why, (body,), 0.9, 1.0)]


def _whole(case: Case) -> list[Proposal]:
    """No body at all, or nothing of it known: the smallest one that the route takes."""
    if case.ground is None or case.root is None or case.body not in EMPTY:
        return []
    value = Examples(case.ground.checker, None, case.models).of(case.root)
    return [
        Proposal("send a smallest body", "The route needs a body; this one has what it requires.", (value,), 0.8, 0.6)
    ]


def _kind_word(value: Any) -> str:
    if isinstance(value, list):
        inner = {type(item).__name__ for item in value[:50]}
        return {"int": "a list of ids", "str": "a list of texts"}.get(next(iter(inner), ""), "a list")
    return {"str": "a text", "int": "a number", "float": "a number", "bool": "a yes or no", "dict": "an object"}.get(
        type(value).__name__, "this value"
    )
