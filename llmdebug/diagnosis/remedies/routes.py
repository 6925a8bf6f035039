"""No such path, or another method: the nearest registered path, and the method that it takes."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Any

from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.example import Examples
from llmdebug.diagnosis.remedies.otherroute import prefix_of
from llmdebug.diagnosis.remedies.proposal import Proposal, advice
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.routing_claim import conditions_of
from llmdebug.index.languages import ASIDE
from llmdebug.index.python.types import Object

MAX_KNOWN = 400
CONTENT = ("messages", "prompt", "text", "input", "inputs", "query")
BODY_METHODS = ("POST", "PUT", "PATCH")


def rerouted(case: Case) -> list[Proposal]:
    """For a path that is not served: the nearest ones; for one behind a condition, what has to be set."""
    if case.ground is None:
        return [advice("compare the path with /openapi.json", "The server does not serve this path.")]
    resolution = case.ground.resolve(case.question.method, case.question.path)
    found: list[Proposal] = []
    if resolution.matches:
        found += _conditions(case, resolution.matches[0])
    found += [_to(case, known, rating) for rating, known in _nearest(case)]
    return found


def other_method(case: Case) -> list[Proposal]:
    """The methods that the path takes."""
    if case.ground is None:
        return []
    resolution = case.ground.resolve(case.question.method, case.question.path)
    found = []
    for known in resolution.other_methods[:2]:
        for method in [m for m in known.route.methods if m not in {"HEAD", "OPTIONS", "WEBSOCKET", "*"}][:1]:
            bodies = _body_for(case, known, method)
            why = f"The path is registered for {', '.join(known.route.methods)}."
            found.append(Proposal(f"{method} {case.question.path}", why, bodies, 0.85, 0.9, method, is_tried=True))
    return found


def _body_for(case: Case, known: Registered, method: str) -> tuple[Any, ...]:
    """The body as it is; where there is none and the method takes one, the smallest that the route admits."""
    if case.question.request.body.strip() or method not in BODY_METHODS or case.ground is None:
        return ()
    kind = case.ground.inputs(known).body
    if kind is None:
        return ()
    query = dict(case.question.query)
    examples = Examples(case.ground.checker, None, case.models)
    made = examples.of(kind)
    if made == {} and isinstance(kind, Object):
        made = _with_content(case.ground, kind, examples)
    if isinstance(made, dict) and query:
        made |= {k: v for k, v in query.items() if k not in made and case.admits(kind, {**made, k: v})}
    return (made,)


def _with_content(ground: Ground, kind: Object, examples: Examples) -> Any:
    """Of a body without required fields, one with the first field that holds what the model is asked."""
    for name in CONTENT:
        declared = kind.model.by_key(name)
        if declared is not None:
            return {name: examples.of(ground.checker.field_type(declared), name)}
    return {}


def _nearest(case: Case) -> list[tuple[float, Registered]]:
    """Registered paths, the likeliest meant first: by their letters, by where they end, by what they take."""
    assert case.ground is not None
    path, method = case.question.path.rstrip("/") or "/", case.question.method
    best: dict[str, tuple[float, Registered]] = {}
    for known in case.ground.routes.known[:MAX_KNOWN]:
        if "{" in known.path or "WEBSOCKET" in known.route.methods or known.is_comparison or known.path == path:
            continue
        rating = SequenceMatcher(None, path, known.path, autojunk=False).ratio()
        rating += 0.3 if known.path.endswith(path) or (path.endswith(known.path) and len(known.path) > 3) else 0.0
        rating -= 0.4 if ASIDE.search(known.file) or not known.is_mounted else 0.0
        rating -= 0.0 if method in known.route.methods or "*" in known.route.methods else 0.3
        if rating > 0.5 and (known.path not in best or rating > best[known.path][0]):
            best[known.path] = (rating, known)
    ranked = sorted(best.values(), key=lambda pair: -pair[0])[:4]
    fitting = [(rating + (0.2 if _takes_body(case, known) else -0.2), known) for rating, known in ranked]
    return sorted(fitting, key=lambda pair: -pair[0])[:3]


def _takes_body(case: Case, known: Registered) -> bool:
    if case.ground is None or case.body is None:
        return True
    kind = case.ground.inputs(known).body
    return kind is None or not case.ground.checker.check(kind, case.body)


def _to(case: Case, known: Registered, rating: float) -> Proposal:
    method = case.question.method
    takes = known.route.methods
    method = method if method in takes or "*" in takes or not takes else takes[0]
    why = f"It is the registered path most like {case.question.path}."
    odds = min(0.9, 0.45 + 0.4 * rating)
    return Proposal(f"{method} {known.path}", why, (), odds, 0.95, method, prefix_of(case) + known.path, is_tried=True)


def _conditions(case: Case, registered: Registered) -> list[Proposal]:
    """What the server has to be started with, so that the path is registered."""
    assert case.ground is not None
    found = []
    for condition in conditions_of(case.ground, registered)[:2]:
        flags = [f"--{name.replace('_', '-')}" for name in re.findall(r"\.([a-z]+(?:_[a-z]+)+)\b", condition.test)]
        told = f"The path is registered only if {condition.test[:160]}."
        title = f"start the server so that {condition.test[:80]} holds"
        if len(flags) == 1:
            title = f"start the server with {flags[0]}"
            told += " The flag's name is the setting's, as servers write them."
        found.append(advice(title, told, 0.6))
    return found
