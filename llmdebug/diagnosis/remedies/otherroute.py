"""Another route of the same tree that takes the value which this one does not."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any
from weakref import WeakKeyDictionary

from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.containers import holds_settings, taken_below
from llmdebug.diagnosis.remedies.names import likeness, nearest, words
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.diagnosis.remedies.rename import is_container
from llmdebug.diagnosis.route import Registered
from llmdebug.index.languages import ASIDE
from llmdebug.index.python.models import Model
from llmdebug.index.python.types import Anything, Object, Type
from llmdebug.jsontext import pointer as pointers

MAX_ROUTES = 200
LEAST = 0.5
NEAR_BEST = 0.85

_models: WeakKeyDictionary[Ground, dict[str, list[tuple[Registered, Model]]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Carried:
    """A body for another route."""

    body: dict[str, Any]
    taken: int
    """How many fields of the request it has, beside the one it is for."""
    left: tuple[str, ...]
    """Keys that the other route has no place for."""


def bodies_of(ground: Ground, file: str) -> list[tuple[Registered, Model]]:
    """The routes registered in a file (in any, where none is given) that take one object, with its class."""
    known = _models.setdefault(ground, {})
    if file not in known:
        routes = [r for r in ground.routes.known if file in ("", r.file)]
        found = []
        for registered in [r for r in routes if _is_callable(r)][:MAX_ROUTES]:
            body = ground.inputs(registered).body
            if isinstance(body, Object):
                found.append((registered, body.model))
        known[file] = found
    return known[file]


def _is_callable(registered: Registered) -> bool:
    plain = registered.is_mounted and "{" not in registered.path and not registered.is_comparison
    return "POST" in registered.route.methods and plain and not ASIDE.search(registered.file)


def other_routes(case: Case, sources: list[str]) -> list[Proposal]:
    """Requests to the routes that take an ignored value: of the same file first, as reading the others costs."""
    if case.ground is None or not isinstance(case.body, dict) or not sources:
        return []
    here = _among(case, sources, bodies_of(case.ground, case.handler_file)) if case.handler_file else []
    return here or _among(case, sources, bodies_of(case.ground, ""))


def _among(case: Case, sources: list[str], known: list[tuple[Registered, Model]]) -> list[Proposal]:
    assert case.ground is not None
    own = case.root.model if isinstance(case.root, Object) else None
    rated: list[tuple[float, Proposal]] = []
    for source in sources[:6]:
        name, value = pointers.parse(source)[-1], case.value(source)
        if not isinstance(value, str | list | dict) or not value:
            continue
        for registered, model in known:
            if own is not None and (model.path, model.name) == (own.path, own.name):
                continue
            field, kinship = _field_for(case, model, name, value)
            if field is None:
                continue
            carried = carry(case, model, registered.file, name, field, value)
            if case.ground.checker.check(Object(model), carried.body):
                continue
            rating = kinship + _closeness(case, registered, own, model, carried)
            rated.append((rating, _proposal(case, registered, name, field, carried)))
    rated.sort(key=lambda pair: -pair[0])
    unique: dict[str, Proposal] = {}
    for rating, proposal in rated:
        if rating >= NEAR_BEST * rated[0][0]:
            unique.setdefault(proposal.path, proposal)
    return list(unique.values())[:2]


def _field_for(case: Case, model: Model, name: str, value: Any) -> tuple[str | None, float]:
    """The field of a class that takes the value, and how surely it is meant."""
    best: tuple[str | None, float] = (None, 0.0)
    if case.ground is None:
        return best
    for declared in model.fields.values():
        alike = max(likeness(name, key) for key in declared.names)
        ours, theirs = words(name), words(declared.names[0])
        if ours and theirs and ours[-1] == theirs[-1]:
            alike = min(1.0, alike + 0.3)
        least = 0.7 if isinstance(value, str) else LEAST
        if alike < least or alike <= best[1]:
            continue
        kind = case.ground.checker.field_type(declared)
        if not isinstance(kind, Anything) and not case.ground.checker.check(kind, value):
            best = (declared.names[0], alike)
    return best


def carry(case: Case, model: Model, file: str, name: str, field: str, value: Any) -> Carried:
    """The request for another class: fields of the same name stay, settings go where it takes them."""
    assert case.ground is not None
    made: dict[str, Any] = {}
    left: list[str] = []
    taken = 0
    containers = _containers(case.ground, model, file)
    rest = {key: item for key, item in case.body.items() if key != name}
    for key, item in rest.items():
        declared = model.by_key(key)
        if declared is not None and case.ground.checker.check(case.ground.checker.field_type(declared), item) == []:
            made[key] = item
            taken += 1
            continue
        place = _place_in(containers, key)
        if place is not None:
            made.setdefault(place[0], {})[place[1]] = item
            taken += 1
        elif isinstance(item, dict) and item and all(model.by_key(inner) is not None for inner in item):
            made.update(item)
            taken += 1
        else:
            left.append(key)
    return Carried({field: value, **made}, taken, tuple(left))


def _containers(ground: Ground, model: Model, file: str) -> dict[str, dict[str, Type]]:
    """Objects of the class that take settings by name."""
    found = {}
    for declared in model.fields.values():
        kind = ground.checker.field_type(declared)
        if is_container(kind) and holds_settings(declared.names[0]):
            found[declared.names[0]] = taken_below(ground, declared.names[0], kind, file)
    return found


def _place_in(containers: dict[str, dict[str, Type]], key: str) -> tuple[str, str] | None:
    for container, known in containers.items():
        if key in known:
            return container, key
        alike = nearest(key, known, 0.65)
        if alike:
            return container, alike[0]
    return None


def _closeness(case: Case, registered: Registered, own: Model | None, model: Model, carried: Carried) -> float:
    """How near another route is to the one that was called: its fields, what it can carry, its path."""
    common = 0.0
    if own is not None:
        common = len(own.fields.keys() & model.fields.keys()) / max(1, len(own.fields.keys() | model.fields.keys()))
    share = carried.taken / max(1, carried.taken + len([k for k in carried.left if k != "model"]))
    path = SequenceMatcher(None, case.question.path, registered.path, autojunk=False).ratio()
    return 1.2 * common + 0.6 * share + 0.4 * path


def _proposal(case: Case, registered: Registered, name: str, field: str, carried: Carried) -> Proposal:
    as_what = f"as {field}" if field != name else f"with {field}"
    why = f"That route takes {name} {'as ' + field if field != name else 'by this name'}."
    lost = [key for key in carried.left if key != "model"]
    if lost:
        why += f" It has no place for {', '.join(lost[:4])}."
    keeps = 0.95 if not lost else max(0.5, 0.95 - 0.15 * len(lost))
    path = prefix_of(case) + registered.path
    return Proposal(f"POST {registered.path} {as_what}", why, (carried.body,), 0.75, keeps, "POST", path, is_tried=True)


def prefix_of(case: Case) -> str:
    """What stands before the matched part of the request's path: a gateway's own prefix."""
    if case.ground is None:
        return ""
    resolved = case.ground.resolve(case.question.method, case.question.path).path
    path = case.question.path
    return path[: len(path) - len(resolved)] if resolved and path.endswith(resolved) else ""
