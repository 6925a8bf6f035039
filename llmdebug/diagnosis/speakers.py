"""Texts that are declared in one place and spoken in another.

An exception class that makes its own text, a constant that holds one: the site is the statement that raises the
class or uses the constant.
"""

from __future__ import annotations

import ast
from typing import Literal

import msgspec

from llmdebug.diagnosis.route import nearness
from llmdebug.diagnosis.template import Match
from llmdebug.index.build import Index
from llmdebug.index.facts import Class, Function, Rejection, Template
from llmdebug.index.languages import ASIDE, PYTHON
from llmdebug.index.python.syntax import last_name, status_of
from llmdebug.index.python.templates import templates_of

RejectionRole = Literal["raises", "returns", "checks", "internal"]
MAX_FILES = 16
MAX_SPEAKERS = 24


def spoken(index: Index, found: list[Match], near: str = "") -> tuple[list[Match], list[Match]]:
    """(the matches with those that only declare a text replaced by who speaks it, the replaced ones).

    Of very many speakers those count that stand in the file `near`, or in its folder.
    """
    speaking: list[Match] = []
    declaring: list[Match] = []
    for match in found:
        if match.path.endswith(PYTHON.suffixes):
            name = declared_name(index, match)
            speakers = _speakers(index, match, name, near) if name else []
        else:
            speakers = _builders(index, match, near) if match.rejection.symbol == match.rejection.raised else []
            if speakers and match.rejection.role != "internal":
                speaking.append(match)  # also made where no code names it
        if speakers:
            declaring.append(match)
            speaking += speakers
        else:
            speaking.append(match)
    unique: dict[tuple[str, int], Match] = {}
    for match in speaking:
        unique.setdefault((match.path, match.rejection.line), match)
    return sorted(unique.values(), key=lambda m: -m.letters), declaring


def declared_name(index: Index, match: Match) -> str:
    """The name of the exception class or the constant whose text matched; empty for a statement that speaks itself."""
    rejection = match.rejection
    owner, _, method = rejection.symbol.rpartition(".")
    if method in {"__init__", "__str__"} and owner:
        known = index.local(match.path).get(owner)
        if isinstance(known, Class) and _is_exception(known):
            return owner.rpartition(".")[2]
    if rejection.role == "internal":
        module = index.syntax(match.path)
        for name, holder in _assignments(module) if module else ():
            if holder.lineno == rejection.line:
                return _key_of(holder, match.template) or name
    return ""


def _key_of(holder: ast.stmt, template: Template) -> str:
    """Of a table of texts by members of an enumeration, the member whose text matched; empty for what is no such."""
    table = getattr(holder, "value", None)
    if not isinstance(table, ast.Dict):
        return ""
    for key, value in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Attribute) and template in templates_of(value, {}):
            return key.attr
    return ""


def _is_exception(known: Class) -> bool:
    names = [known.name, *known.bases]
    return any(name.endswith(("Error", "Exception", "Warning")) or name == "HTTPException" for name in names)


def _assignments(module: ast.Module) -> list[tuple[str, ast.stmt]]:
    """Texts that are assigned at the level of the module or of a class: name and statement."""
    found: list[tuple[str, ast.stmt]] = []
    bodies = [module.body, *(s.body for s in module.body if isinstance(s, ast.ClassDef))]
    for statement in (s for body in bodies for s in body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.append((name, statement))
    return found


def _builders(index: Index, match: Match, near: str) -> list[Match]:
    """Where other languages make the error whose text is declared once for all."""
    name = match.rejection.raised
    suffix, last = match.path.rpartition(".")[2], name.rpartition(".")[2]
    owner = name.rpartition(".")[0]
    names = {name, last} if match.rejection.role == "internal" else {name, last, f"{owner}.from"}
    held = [p for p in index.search.files_with([owner or last]) if p.endswith(f".{suffix}") and not ASIDE.search(p)]
    held = sorted(held, key=lambda p: (p != near, -nearness(p, match.path), p))[:MAX_FILES]
    index.load(held)
    made = [
        msgspec.structs.replace(match, path=path, rejection=msgspec.structs.replace(each, templates=(match.template,)))
        for path in held
        for each in index.loaded[path].rejections
        if each.role != "internal" and each.raised in names and _may_fill(each, match)
    ]
    return made[:MAX_SPEAKERS]


def _may_fill(made: Rejection, match: Match) -> bool:
    """Whether the words that an error is made of stand in the holes of its text."""
    told = " ".join(match.captured)
    return not made.templates or any(all(part in told for part in t.parts if part) for t in made.templates)


def _speakers(index: Index, match: Match, name: str, near: str) -> list[Match]:
    folder = near.rpartition("/")[0]
    held = [path for path in index.search.files_with([name]) if not ASIDE.search(path)]
    held = sorted(held, key=lambda path: (path != near, path.rpartition("/")[0] != folder))[:MAX_FILES]
    index.load(held)
    found: list[Match] = []
    for path in held:
        for function in _naming(index, path, name):
            node = index.node(path, function)
            if node is None or (path == match.path and function.name == match.rejection.symbol):
                continue
            statements = _own_statements(node)
            names = {name, *(alias for statement in statements for alias in _aliases(statement, name))}
            for statement in statements:
                made = _speaking(statement, name, names, function.name, match)
                if made is not None:
                    found.append(msgspec.structs.replace(match, path=path, rejection=made))
    return found[:MAX_SPEAKERS]


def _naming(index: Index, path: str, name: str) -> list[Function]:
    """The functions of a file that have a name in their lines."""
    facts, lines, wanted = index.facts(path), index.lines(path), name.encode()
    return [
        function
        for function in (facts.functions if facts else ())
        if any(wanted in line for line in lines[function.line : function.end_line])
    ]


def _own_statements(node: ast.AST) -> list[ast.stmt]:
    """The simple statements of a function, those of functions inside it left out."""
    found: list[ast.stmt] = []
    pending = list(ast.iter_child_nodes(node))
    while pending:
        part = pending.pop(0)
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            continue
        if isinstance(part, ast.Raise | ast.Return | ast.Expr | ast.Assign | ast.AnnAssign):
            found.append(part)
        else:
            pending.extend(ast.iter_child_nodes(part))
    return found


def _aliases(statement: ast.stmt, name: str) -> list[str]:
    """Local names that stand for a class: `error = A if … else B`."""
    match statement:
        case (
            ast.Assign(targets=[ast.Name(id=alias)], value=value)
            | ast.AnnAssign(target=ast.Name(id=alias), value=ast.expr() as value)
        ):
            chosen = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
            return (
                [alias] if any(isinstance(c, ast.Name | ast.Attribute) and last_name(c) == name for c in chosen) else []
            )
    return []


def _speaking(statement: ast.stmt, name: str, names: set[str], symbol: str, match: Match) -> Rejection | None:
    """The rejection that a statement is, if it uses one of the names to refuse."""
    uses = any(isinstance(part, ast.Name | ast.Attribute) and last_name(part) in names for part in ast.walk(statement))
    notes = isinstance(statement, ast.Assign | ast.AnnAssign) and not isinstance(statement.value, ast.Call)
    if not uses or notes or _says_otherwise(statement, match):
        return None
    roles: dict[type[ast.stmt], RejectionRole] = {ast.Raise: "raises", ast.Return: "returns"}
    statuses = [s for s in map(status_of, ast.walk(statement)) if s and s >= 400]
    return Rejection(
        line=statement.lineno,
        end_line=statement.end_lineno or statement.lineno,
        symbol=symbol,
        role=roles.get(type(statement), "checks"),
        templates=(match.template,),
        raised=name,
        status=statuses[0] if statuses else None,
    )


def _says_otherwise(statement: ast.stmt, match: Match) -> bool:
    """Whether a call fills a hole of the text by name with another constant than stands there."""
    told = dict(zip(match.template.holes, match.captured, strict=False))
    return any(
        word.arg in told
        and isinstance(word.value, ast.Constant)
        and str(word.value.value) != told[word.arg].strip("'\"")
        for call in ast.walk(statement)
        if isinstance(call, ast.Call)
        for word in call.keywords
    )
