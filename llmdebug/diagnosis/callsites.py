"""Where serving code makes a call of some name: the places that a library's text may have come out of."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from llmdebug.diagnosis.finding import Spot
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered, nearness
from llmdebug.index.facts import Function
from llmdebug.index.languages import ASIDE
from llmdebug.index.python.guards import guards_of, holds
from llmdebug.index.python.syntax import dotted, last_name

MAX_FILES = 12
FEW = 3
"""So many calls of a common name may still be claimed where no route is known to reach them."""
BUILTINS = frozenset({"int", "float"})
"""Too common to be searched for: looked for in the files read so far, and in some that speak of the field."""


@dataclass(frozen=True, slots=True)
class CallSite:
    """A statement that makes the call."""

    spot: Spot
    is_reached: bool
    is_guarded: bool
    """Whether a `try` around it answers for what it raises."""
    names_key: bool
    """Whether the function around it speaks of the blamed field."""
    closeness: float


def call_sites(
    ground: Ground, registered: Registered | None, name: str, owner: str, key: str, why: str
) -> list[CallSite]:
    """Statements of serving code that call `name` on something whose name matches `owner`, in no order."""
    index = ground.index
    if name in BUILTINS:
        index.load([path for path in index.search.files_with([key]) if not ASIDE.search(path)][:MAX_FILES])
        held = [path for path in index.loaded if not ASIDE.search(path)]
    else:
        held = [path for path in index.search.files_with([f".{name}("]) if not ASIDE.search(path)]
        fresh = [path for path in held if path not in index.loaded]
        index.load(fresh[:MAX_FILES])
    reach = ground.reach(registered) if registered else None
    found: list[CallSite] = []
    for path in held:
        facts = index.loaded.get(path)
        callers = [f for f in facts.functions if any(c.rpartition(".")[2] == name for c in f.calls)] if facts else []
        closeness = nearness(registered.file, path) if registered else 0.0
        for function in callers:
            node = index.node(path, function)
            statement = _statement(node, name, owner, key) if node is not None else None
            if node is None or statement is None:
                continue
            is_reached = reach is not None and reach.of(path, function.name) is not None
            spot = _spot(path, statement, function, why)
            found.append(
                CallSite(spot, is_reached, _is_guarded(node, statement.lineno), _mentions(node, key), closeness)
            )
    return found


def keyword_sites(ground: Ground, question: Question, name: str, keyword: str, why: str) -> list[Spot]:
    """Statements that call `name` with this keyword, those left out that the request's path does not lead to."""
    index = ground.index
    held = [path for path in index.search.holding(f"{keyword}=") if not ASIDE.search(path)]
    index.load(held[:MAX_FILES])
    found: list[Spot] = []
    for path in held:
        facts = index.loaded.get(path)
        for function in facts.functions if facts else ():
            node = index.node(path, function) if any(c.rpartition(".")[2] == name for c in function.calls) else None
            for part in ast.walk(node) if node is not None else ():
                if not isinstance(part, ast.stmt) or hasattr(part, "body"):
                    continue
                if any(_has_keyword(c, name, keyword) for c in ast.walk(part)) and node is not None:
                    path_known = {"self.path": question.path, "path": question.path, "request.path": question.path}
                    if holds(guards_of(node, part.lineno), path_known) is not False:
                        found.append(_spot(path, part, function, why))
    return found


def _has_keyword(node: ast.AST, name: str, keyword: str) -> bool:
    return isinstance(node, ast.Call) and last_name(node) == name and any(k.arg == keyword for k in node.keywords)


def claimable(sites: list[CallSite], is_telling: bool) -> list[Spot]:
    """Of these sites, those that may be claimed: that speak of the field, that are reached, or that are few.

    A telling name (`apply_chat_template`) needs no further hint: the site whose `try` answers for it comes first.
    """
    sites = sorted(sites, key=lambda site: _order(site, is_telling))
    about = [site for site in sites if site.names_key] if not is_telling else []
    if about and (len(about) <= FEW or any(site.is_reached for site in about)):
        return [site.spot for site in about]
    reached = [site.spot for site in sites if site.is_reached]
    return reached or ([site.spot for site in sites] if is_telling or len(sites) <= FEW else [])


def _order(site: CallSite, is_telling: bool) -> tuple[bool, bool, bool, float, str, int]:
    return (
        not site.names_key and not is_telling,
        not site.is_reached,
        not site.is_guarded,
        -site.closeness,
        site.spot.file,
        site.spot.line,
    )


def _spot(path: str, statement: ast.stmt, function: Function, why: str) -> Spot:
    end = statement.end_lineno or statement.lineno
    return Spot(path, statement.lineno, end, function.name, "checks", 0.6, (why,))


def _statement(node: ast.AST, name: str, owner: str, key: str) -> ast.stmt | None:
    """The simple statement that makes the call, one that speaks of the key first."""
    making = [
        part
        for part in ast.walk(node)
        if isinstance(part, ast.stmt)
        and not hasattr(part, "body")
        and any(_is_call(c, name, owner) for c in ast.walk(part))
    ]
    return next((part for part in making if _mentions(part, key)), making[0] if making else None)


def _is_call(node: ast.AST, name: str, owner: str) -> bool:
    if not isinstance(node, ast.Call) or last_name(node) != name:
        return False
    return re.search(owner, dotted(node.func).rpartition(".")[0]) is not None


def _mentions(node: ast.AST, key: str) -> bool:
    """Whether code speaks of a field: as a name, an attribute or a quoted key."""
    return bool(key) and any(
        (isinstance(part, ast.Name) and part.id == key)
        or (isinstance(part, ast.Attribute) and part.attr == key)
        or (isinstance(part, ast.Constant) and part.value == key)
        for part in ast.walk(node)
    )


def _is_guarded(node: ast.AST, line: int) -> bool:
    for part in ast.walk(node):
        if not isinstance(part, ast.Try) or not part.body[0].lineno <= line <= (part.body[-1].end_lineno or line):
            continue
        answers = (inner for handler in part.handlers for inner in ast.walk(handler))
        if any(isinstance(inner, ast.Raise | ast.Return) for inner in answers):
            return True
    return False
