"""Refusals by the router itself: no such path, another method, or a path that is registered under a condition."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from llmdebug.diagnosis.finding import Finding, Spot
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.kinds import ROUTER_SENTENCE, ROUTER_TEXTS
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered, Resolution
from llmdebug.diagnosis.schema_claim import handler_spot, registration
from llmdebug.diagnosis.template import matches
from llmdebug.index.languages import ASIDE, CPP
from llmdebug.index.python.guards import guards_of
from llmdebug.index.python.names import define
from llmdebug.index.python.syntax import last_name, text

CPP_FALLBACKS = frozenset({"set_error_handler"})
"""Registrations of what answers where no route has."""
MAX_CALLERS = 40
MAX_HOPS = 4


@dataclass(frozen=True, slots=True)
class Condition:
    """A test under which a path is registered."""

    file: str
    line: int
    symbol: str
    test: str


def from_router(ground: Ground, resolution: Resolution, question: Question) -> Finding | None:
    """The finding where the router refused; None where the answer is not the router's."""
    status, said = question.answer.status, question.answer.text.strip().rstrip(".").lower()
    if status == 405 and not resolution.matches:
        return _wrong_method(ground, resolution)
    answering = _answering(ground, question) if status == 404 and not resolution.matches else []
    if answering:
        return _unanswered(ground, resolution, answering)
    if status != 404 or (said not in ROUTER_TEXTS and ROUTER_SENTENCE not in said):
        return None
    if resolution.matches:
        return _not_registered(ground, resolution.matches[0])
    if resolution.other_methods:
        return _wrong_method(ground, resolution)
    spots = [
        handler_spot(ground, n, "the nearest path that is registered", 0.6 - 0.1 * i)
        for i, n in enumerate(resolution.nearest)
    ]
    return Finding("no_route", [], spots, confidence=0.6 if spots else 0.3)


def _wrong_method(ground: Ground, resolution: Resolution) -> Finding:
    spots = [
        handler_spot(ground, other, "the path takes " + ", ".join(other.route.methods), 0.9 - 0.1 * i)
        for i, other in enumerate(resolution.other_methods[:3])
    ]
    return Finding("wrong_method", [], spots, confidence=0.9 if spots else 0.3)


def _answering(ground: Ground, question: Question) -> list[Spot]:
    """The code that answers for the router in this tree, where it made the text."""
    index, text = ground.index, question.answer.text.strip()
    facts = [index.loaded[path] for path in index.base() if path in index.loaded]
    found = [m for m in matches(index, text, facts) if m.path.endswith(CPP.suffixes) and m.coverage == 1.0]
    return [
        Spot(m.path, r.line, r.end_line, r.symbol, "returns", 0.6, ("answers what no route has answered",))
        for m in found
        if (r := m.rejection).symbol.rpartition(".")[2] in CPP_FALLBACKS
    ]


def _unanswered(ground: Ground, resolution: Resolution, answering: list[Spot]) -> Finding:
    """The finding where code of the tree answers for the router."""
    if resolution.other_methods:
        finding = _wrong_method(ground, resolution)
        finding.spots += answering[:1]
        return finding
    near = [handler_spot(ground, n, "the nearest path that is registered", 0.4) for n in resolution.nearest[:2]]
    return Finding("no_route", [], [*answering[:1], *near], confidence=0.8)


def _not_registered(ground: Ground, registered: Registered) -> Finding:
    """The tree has the path, the server that runs has not: the condition of the registration did not hold."""
    conditions = conditions_of(ground, registered)
    spots = [
        Spot(
            c.file,
            c.line,
            c.line,
            c.symbol,
            "checks",
            0.8 - 0.1 * i,
            (f"the path is registered only if {c.test[:120]}",),
        )
        for i, c in enumerate(conditions[:2])
    ]
    spots.append(handler_spot(ground, registered, "registers the path", 0.5))
    notes = [] if conditions else ["the tree registers this path without a condition: what runs may be another version"]
    return Finding("no_route", [], spots, [registration(registered)], notes=notes, confidence=0.8)


def conditions_of(ground: Ground, registered: Registered) -> list[Condition]:
    """The tests on the way to a registration, the nearest to it first."""
    found: list[Condition] = []
    route = registered.route
    if route.condition:
        found.append(Condition(registered.file, route.condition_line, route.symbol, route.condition))
    elif route.symbol:
        found += _before_call(ground, registered.file, route.symbol)
    for file, mount in registered.mounts:
        if mount.condition:
            found.append(Condition(file, mount.condition_line, mount.symbol, mount.condition))
        elif mount.symbol:
            found += _before_call(ground, file, mount.symbol)
    return found


def _before_call(ground: Ground, file: str, symbol: str) -> list[Condition]:
    """The tests around the calls of a registering function: of this very one, else of one of its name."""
    name = symbol.rpartition(".")[2]
    return _around_calls(ground, name, 0, file) or _around_calls(ground, name, 0, "")


def _around_calls(ground: Ground, name: str, hops: int, file: str) -> list[Condition]:
    """The tests around the calls of a function of this name; `file` says where it is defined, if that matters."""
    if hops > MAX_HOPS:
        return []
    for path in _callers(ground, name) if file else ground.index.base():
        facts = ground.index.facts(path)
        if facts is None:
            continue
        local = {alias for alias, origin in facts.imports if origin.rpartition(".")[2] == name}
        if file:
            local = {alias for alias in local if _is_defined_in(ground, path, alias, file)}
        if path == file or not file:
            local |= {name}
        for function in facts.functions:
            called = local & {call.rpartition(".")[2] for call in function.calls}
            if not called or function.name.rpartition(".")[2] == name:
                continue
            condition = _guard_of_call(ground, path, function.name, called)
            if condition is not None:
                return [condition]
            further = _around_calls(ground, function.name.rpartition(".")[2], hops + 1, path if file else "")
            if further:
                return further
    return []


def _callers(ground: Ground, name: str) -> list[str]:
    """Files that hold the name of a function, serving code alone."""
    return [path for path in ground.index.search.holding(name) if not ASIDE.search(path)][:MAX_CALLERS]


def _is_defined_in(ground: Ground, path: str, alias: str, file: str) -> bool:
    found = define(ground.index, path, alias)
    return found is not None and found.path == file


def _guard_of_call(ground: Ground, path: str, symbol: str, names: set[str]) -> Condition | None:
    node = ground.index.named_node(path, symbol)
    if node is None:
        return None
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and last_name(call) in names:
            guards = guards_of(node, call.lineno)
            if guards:
                return Condition(path, guards[-1].line, symbol, text(guards[-1].test))
    return None
