"""Fields whose declaration is made once under a name and used by several classes: `depth: int = depth_field`."""

from __future__ import annotations

import ast

import msgspec

from llmdebug.index.build import Index
from llmdebug.index.facts import Field
from llmdebug.index.python.classes import DECLARATORS, field_of
from llmdebug.index.python.names import define


def looked_through(index: Index, path: str, field: Field) -> Field:
    """The field with what its declaration says where the default is a name for a `Field(…)`; else as it is."""
    name = field.default or ""
    if not name.replace(".", "").isidentifier() or name in {"None", "True", "False"}:
        return field
    found = define(index, path, name)
    if found is None or not isinstance(found.item, str) or found.item.partition("(")[0] not in DECLARATORS:
        return field
    try:
        statement = ast.parse(f"_: object = {found.item}").body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return field
    if not isinstance(statement, ast.AnnAssign):
        return field
    named = field_of(statement)
    return msgspec.structs.replace(
        field,
        default=named.default,
        aliases=field.aliases or named.aliases,
        constraints=(*field.constraints, *named.constraints),
    )
