"""Requests to paths that a tree registers nowhere, told before they are sent."""

from __future__ import annotations

import re
from dataclasses import replace

from llmdebug.diagnosis.complaint import Answer
from llmdebug.diagnosis.finding import Finding
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import PARAMETER, Registered, Resolution, takes_method
from llmdebug.diagnosis.routing_claim import from_router
from llmdebug.diagnosis.schema_claim import handler_spot

MIN_ROUTES = 2
"""A tree with fewer routes is not trusted to know them all."""
MAX_SHOWN = 2
OF_FRAMEWORKS = re.compile(r"/(?:docs|redoc|openapi\.json|static|metrics|favicon\.ico|debug)(?:/|$)")
"""Paths that frameworks and their plug-ins serve, though no line of a tree registers them."""


def unrouted(ground: Ground, resolution: Resolution, question: Question) -> Finding | None:
    """The finding where the tree registers no such path or method; None where it may not know all paths."""
    if len(ground.routes.known) < MIN_ROUTES:
        return None
    status = 405 if resolution.other_methods else 404
    if status == 404 and _may_be_served(ground, question.path):
        return None
    finding = from_router(ground, resolution, replace(question, answer=Answer(status=status)))
    if finding is not None and finding.kind == "no_route" and not finding.spots:
        plain = [known for known in ground.routes.known if not known.is_comparison]
        shown = [known for known in plain if takes_method(known.route, question.method)] or plain
        finding.spots = [handler_spot(ground, each, "a path that is registered", 0.3) for each in shown[:MAX_SHOWN]]
    return finding if finding is not None and finding.spots else None


def _may_be_served(ground: Ground, path: str) -> bool:
    """Whether something may answer a path that no registration names: a catch-all, a mounted app, a framework."""
    if OF_FRAMEWORKS.match(path) or any(_takes_all(known) for known in ground.routes.known):
        return True
    first = re.escape("/" + path.split("/")[1][:60]) if path.isprintable() and path.strip("/") else "/"
    mounted = rf"[Mm]ount\w*\(\s*f?[\"'](?:/|{first})?/?[\"']"
    return bool(ground.index.search.files_matching(mounted))


def _takes_all(registered: Registered) -> bool:
    """Whether a registered path is made of parameters alone, or ends in a wildcard."""
    path = registered.path.strip("/")
    return bool(path) and not PARAMETER.sub("", path).replace("*", "").strip("/")
