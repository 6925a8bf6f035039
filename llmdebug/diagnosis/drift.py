"""The linked trees held against the server that runs: where they differ, a diagnosis says so, whatever else it says.

A difference is a finding, not an error: the tree may be of another version, or a flag may hide a route.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from llmdebug.diagnosis.ground import Ground, ground_of
from llmdebug.diagnosis.route import PARAMETER, Registered
from llmdebug.index.build import Index
from llmdebug.index.languages import ASIDE
from llmdebug.index.python.types import Object
from llmdebug.linking.linked import Linked
from llmdebug.linking.live import Live

LEAD = "the tree is not what runs"
_SHOWN = 4
_UNSEEN = frozenset({404, 405})
_VERSION = re.compile(r"v?(\d[\w.!]*)")


def drift_of_versions(live: Live, links: Sequence[Linked]) -> list[str]:
    """One sentence for each linked source of the server's own package that is of another version."""
    found = []
    for link in links:
        if not live.version:
            continue
        if link.package in live.packages and link.version and not same_version(link.version, live.version):
            found.append(
                f"{LEAD}: the server says it is {live.told}, the linked source is {link.package} {link.version}. "
                f"--source auto, or pypi:{link.package}=={live.version}, links that of the server"
            )
        elif live.repository and link.source.startswith(f"git:{live.repository}@"):
            tag = link.source.removeprefix(f"git:{live.repository}@").partition("#")[0]
            if _VERSION.fullmatch(tag) and tag != live.tag:
                found.append(
                    f"{LEAD}: the server says it is {live.told}, the linked source is {tag}. "
                    f"--source auto, or git:{live.repository}@{live.tag}, links that of the server"
                )
    return found


def same_version(one: str, other: str) -> bool:
    """Whether two versions are of the same source: what stands behind `+` names a build, not a source."""
    from packaging.version import InvalidVersion, Version

    try:
        return Version(Version(one).public) == Version(Version(other).public)
    except InvalidVersion:
        return one == other


def drift_of_routes(live: Live, indexes: Sequence[Index]) -> list[str]:
    """One sentence on all routes that the server describes and no tree registers; takes a while on large trees."""
    grounds = [ground_of(index) for index in indexes if index.kept]
    missing = [
        f"{operation.method} {operation.path}"
        for operation in live.operations
        if not any(ground.resolve(operation.method, _filled(operation.path)).matches for ground in grounds)
    ]
    if not grounds or not missing:
        return []
    return [
        f"{LEAD}: of the {len(live.operations)} routes that the server describes, {len(missing)} "
        f"{'is' if len(missing) == 1 else 'are'} not registered in it: {_listed(missing)}"
    ]


def drift_of_request(live: Live, indexes: Sequence[Index], method: str, path: str, status: int) -> list[str]:
    """Sentences on the route that was asked: whether both know it, and with the same fields."""
    if not live.operations:
        return []
    for ground in (ground_of(index) for index in indexes if index.kept):
        resolution = ground.resolve(method, path)
        registered = next((r for r in resolution.matches if not ASIDE.search(r.file)), None)
        if registered is None:
            continue
        described = [o for o in live.operations if o.method == method and _same_path(o.path, resolution.path)]
        if not described and status in _UNSEEN:
            return [
                f"{LEAD}, or a flag hides a route: {registered.file}:{registered.route.line} registers {method} "
                f"{registered.path}, which the server does not describe"
            ]
        return _of_fields(ground, registered, described[0].fields) if described else []
    return []


def _of_fields(ground: Ground, registered: Registered, live: frozenset[str] | None) -> list[str]:
    inputs = ground.inputs(registered)
    if live is None or not isinstance(inputs.body, Object) or inputs.embedded or inputs.by_hand:
        return []
    model = inputs.body.model
    taken = {name for declared in model.fields.values() for name in declared.names}
    new = sorted(live - taken)
    untaken = (declared.names[0] for declared in model.fields.values() if not live & set(declared.names))
    gone = sorted(name for name in untaken if not name.startswith("_"))
    found = []
    if new:
        found.append(f"{LEAD}: the server takes {_listed(new)} where {model.path} declares no such field")
    if gone:
        found.append(f"{LEAD}: {model.name} in {model.path} declares {_listed(gone)}, which the server does not take")
    return found


def _filled(path: str) -> str:
    return PARAMETER.sub("x", path)


def _same_path(described: str, asked: str) -> bool:
    parts = re.split(r"(\{[^{}]*\})", described)
    pattern = "".join("[^/]+" if part.startswith("{") else re.escape(part) for part in parts)
    return re.fullmatch(pattern + "/?", asked.rstrip("/") or "/") is not None


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more
