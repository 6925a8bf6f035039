"""Which handler catches which exception, told by the names of the classes."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence

from llmdebug.index.build import Index
from llmdebug.index.facts import Class
from llmdebug.index.python.names import define
from llmdebug.index.python.syntax import last_name

LIBRARY = {
    "JSONDecodeError": "ValueError",
    "ValidationError": "ValueError",
    "HTTPException": "Exception",
    "RequestValidationError": "Exception",
    "DecodeError": "Exception",
    "UndefinedError": "Exception",
}
"""Exception classes of libraries that servers share, and what they are."""
MAX_ANCESTORS = 20


def ancestors(index: Index, path: str, name: str) -> Sequence[str]:
    """Last names of the classes that an exception class of a tree inherits from, itself first."""
    found = [name.rpartition(".")[2]]
    pending = [(path, name)]
    while pending and len(found) < MAX_ANCESTORS:
        place, wanted = pending.pop(0)
        definition = define(index, place, wanted)
        if definition is not None and isinstance(definition.item, Class):
            found += [base.rpartition(".")[2] for base in definition.item.bases]
            pending += [(definition.path, base) for base in definition.item.bases]
    return found


def catches(handler: ast.expr | None, error: str, inherited: Sequence[str] = ()) -> bool | None:
    """Whether `except handler` catches an exception of the class `error`; None where the names don't tell.

    `inherited` holds the names of the classes that it is known to inherit from.
    """
    if handler is None:
        return True
    nodes = handler.elts if isinstance(handler, ast.Tuple) else [handler]
    verdicts = [_one(last_name(node), error, inherited) for node in nodes]
    return True if True in verdicts else None if None in verdicts else False


def _one(handler: str, error: str, inherited: Sequence[str]) -> bool | None:
    if handler == "BaseException":
        return True
    kinds = [error, *inherited]
    if handler in kinds:
        return True
    caught = _builtin(handler)
    raised = [kind for kind in map(_builtin, kinds) if kind is not None]
    if caught is Exception:
        return not raised or any(issubclass(kind, Exception) for kind in raised)
    if caught is not None:
        if any(issubclass(kind, caught) for kind in raised):
            return True
        return False if raised else None
    if _builtin(error) is not None or (raised and inherited):
        return False if handler[:1].isupper() and not handler.isupper() else None
    return None


def _builtin(name: str) -> type[BaseException] | None:
    found = getattr(builtins, LIBRARY.get(name, name), None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None
