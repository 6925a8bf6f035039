"""What a running server says of itself, as far as it can be held against a source tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from llmdebug.families.family import Family
from llmdebug.linking.server import Server
from llmdebug.linking.spec import normal_name

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
MAX_OPERATIONS = 2_000
MAX_FIELDS = 1_000
_MAX_REFERENCES = 20


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """A route that the server describes."""

    method: str
    path: str
    fields: frozenset[str] | None = None
    """The fields of its JSON body; None where they are not described."""


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """A server that runs."""

    told: str = ""
    """Family and version for people."""
    version: str = ""
    packages: tuple[str, ...] = ()
    """Packages whose version the server's is, by their names in indexes."""
    repository: str = ""
    """The repository whose tags tell the version."""
    tag: str = ""
    """The tag of the version."""
    operations: tuple[Operation, ...] = ()


def live_of(server: Server, family: Family | None) -> Live:
    """`family` is that of the server. Never raises for what the server says."""
    source = family.source if family is not None else None
    packages = (*source.pypi, source.package) if source is not None else ()
    return Live(
        told=server.told,
        version=server.version,
        packages=tuple(dict.fromkeys(normal_name(name) for name in packages if name)),
        repository=source.git if source is not None else "",
        tag=source.tag.replace("{version}", server.version) if source is not None else "",
        operations=tuple(_operations(server.openapi)),
    )


def _operations(document: Any) -> Iterator[Operation]:
    paths = document.get("paths") if isinstance(document, dict) else None
    count = 0
    for path, methods in paths.items() if isinstance(paths, dict) else ():
        for method, described in methods.items() if isinstance(methods, dict) else ():
            if isinstance(method, str) and method.upper() in METHODS and count < MAX_OPERATIONS:
                count += 1
                yield Operation(method=method.upper(), path=str(path), fields=_fields(described, document))


def _fields(described: Any, document: Any) -> frozenset[str] | None:
    schema: Any = described
    for key in ("requestBody", "content", "application/json", "schema"):
        schema = _followed(schema, document)
        schema = schema.get(key) if isinstance(schema, dict) else None
    schema = _followed(schema, document)
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return frozenset(list(properties)[:MAX_FIELDS]) if isinstance(properties, dict) else None


def _followed(schema: Any, document: Any) -> Any:
    """What a `$ref` inside the document, or an `allOf` of one, leads to."""
    for _ in range(_MAX_REFERENCES):
        if not isinstance(schema, dict):
            return None
        alternatives = schema.get("allOf")
        if isinstance(alternatives, list) and len(alternatives) == 1 and "properties" not in schema:
            schema = alternatives[0]
            continue
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        schema = document
        for part in reference[2:].split("/"):
            schema = schema.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(schema, dict) else None
    return None
