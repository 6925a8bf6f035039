"""Bodies that are no JSON: the place where the server reads them."""

from __future__ import annotations

import ast

from llmdebug.diagnosis.finding import Finding, Spot
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.schema_claim import handler_spot
from llmdebug.diagnosis.verdict import Kind
from llmdebug.index.facts import Function
from llmdebug.index.languages import ASIDE
from llmdebug.index.python.inputs import find_handler
from llmdebug.index.python.names import define
from llmdebug.index.python.syntax import last_name

PARSERS = frozenset({"loads", "decode", "json", "get_json", "parse"})


def unreadable_body(ground: Ground, registered: Registered | None, kind: Kind = "malformed_json") -> Finding:
    """The finding for a body that can't be parsed: own parsing code of the server first, else the handler."""
    finding = Finding(kind, confidence=0.9)
    own = _request_class(ground, registered)
    if own is not None:
        finding.spots.append(own)
    if registered is not None:
        by_hand = _in_handler(ground, registered)
        if by_hand is not None:
            finding.spots.append(by_hand)
        finding.spots.append(handler_spot(ground, registered, "the handler whose body could not be read", 0.6))
    return finding


def refuses_by_hand(ground: Ground, registered: Registered) -> bool:
    """Whether the handler parses the body by itself, and does not go on where that fails."""
    spot = _in_handler(ground, registered)
    if spot is None:
        return False
    node = ground.index.named_node(spot.file, spot.symbol)
    tried = [t for t in ast.walk(node) if isinstance(t, ast.Try) and _holds(t.body, spot.line)] if node else []
    return all(_leaves(handler) for each in tried for handler in each.handlers)


def _holds(body: list[ast.stmt], line: int) -> bool:
    return body[0].lineno <= line <= (body[-1].end_lineno or body[-1].lineno)


def _leaves(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], ast.Raise | ast.Return)


def _request_class(ground: Ground, registered: Registered | None) -> Spot | None:
    """The parsing line of a request class that the server puts in place of the framework's."""
    index = ground.index
    for path in index.base():
        if ASIDE.search(path) or (registered is not None and path != registered.file):
            continue
        facts = index.loaded.get(path)
        for known in facts.classes if facts else ():
            if not any(base.rpartition(".")[2] == "Request" for base in known.bases):
                continue
            node = index.named_node(path, f"{known.name}.json")
            line = _parsing_line(node) if node is not None else None
            if line is not None:
                why = ("this request class reads each JSON body",)
                return Spot(path, line, line, f"{known.name}.json", "raises", 0.9, why)
    return None


def _in_handler(ground: Ground, registered: Registered) -> Spot | None:
    """The line of the handler, or of what it is decorated with, that parses the body by hand."""
    found = find_handler(ground.index, registered.file, registered.route)
    if found is None:
        return None
    path, function = found
    inputs = ground.inputs(registered)
    if inputs.bound_at is not None:
        file, at, symbol = inputs.bound_at
        return Spot(file, at, at, symbol, "checks", 0.9, ("reads the body as JSON",))
    wrappers = [define(ground.index, path, name.partition("(")[0]) for name in function.decorators]
    places = [(path, function)] if inputs.by_hand or inputs.body is None else []
    places += [(w.path, w.item) for w in wrappers if w is not None and isinstance(w.item, Function)]
    for place, reader in places:
        node = ground.index.node(place, reader)
        line = _parsing_line(node) if node is not None else None
        if line is not None:
            return Spot(place, line, line, reader.name, "checks", 0.8, ("reads the body as JSON",))
    return None


def _parsing_line(node: ast.AST) -> int | None:
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and last_name(part) in PARSERS:
            return part.lineno
    return None
