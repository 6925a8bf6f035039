"""The functions of a route that are handed an object of a request's class, or are methods of that class."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from llmdebug.diagnosis.ground import Ground
from llmdebug.index.facts import Function
from llmdebug.index.python.models import Model
from llmdebug.index.python.syntax import FunctionNode


@dataclass(frozen=True, slots=True)
class Taker:
    """A function, and the names in it that stand for the request."""

    path: str
    symbol: str
    holders: frozenset[str]
    node: FunctionNode


def taking(
    ground: Ground, functions: Iterable[tuple[str, Function]], model: Model, names: set[str], least: int = 0
) -> Iterator[Taker]:
    """Those of some functions that are takers, and whose source speaks of at least so many of these fields."""
    for path, function in functions:
        symbol = function.name
        owner = symbol.rpartition(".")[0]
        of_model = any((p, c.name) == (path, owner) for p, c in model.lineage)
        handed = {p.name for p in function.parameters if re.search(rf"\b{model.name}\b", p.annotation)}
        holders = handed | ({"self"} if of_model else set())
        text = b"".join(ground.index.lines(path)[function.line - 1 : function.end_line]) if holders else b""
        if not text or sum(name.encode() in text for name in names) < least:
            continue
        node = ground.index.node(path, function)
        if node is not None:
            yield Taker(path, symbol, frozenset(holders), node)
