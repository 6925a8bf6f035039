"""Requests whose content type a tree refuses before it reads the body, told before they are sent."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llmdebug.diagnosis.finding import Finding, Spot
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.kinds import kind_of_text
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.schema_claim import handler_spot
from llmdebug.index.facts import HOLE, Function, Rejection

READS_TYPE = re.compile(r"content[-_]?type", re.I)
READS_PATH = re.compile(r"\bpath\b")
TURNED = re.compile(r"\bnot\s+[\w.]*\bpath\b|\bpath\s+not\b|\bpath\s*!=")
PATH_TEXT = re.compile(r"[\"'](/[^\"'\s]*)[\"']")
MAX_HOPS = 1
"""Calls between a middleware and the function that refuses."""


def refused_type(ground: Ground, registered: Registered, question: Question) -> tuple[Finding, str] | None:
    """The finding and the text of the refusal, where what runs before the handler takes JSON alone.

    Nothing is told of a request without a content type: recordings often leave it out.
    """
    if not question.content_type or question.content_type.endswith("json"):
        return None
    for path, function, rejection in _refusals(ground, registered):
        lines = ground.index.lines(path)[function.line - 1 : function.end_line]
        source = b"\n".join(lines).decode("utf-8", "replace")
        if not _looks_at_type(source) or not _is_for(source, question.path):
            continue
        why = ("takes application/json alone", "runs before the body of this request is looked at")
        spot = Spot(path, rejection.line, rejection.end_line, rejection.symbol, rejection.role, 0.9, why)
        handler = handler_spot(ground, registered, "the handler, which is not reached", 0.4)
        return Finding("content_type", [], [spot, handler], confidence=0.9), _text(rejection)
    return None


def _looks_at_type(source: str) -> bool:
    return bool(READS_TYPE.search(source)) and "json" in source.lower()


def _is_for(source: str, path: str) -> bool:
    """Whether a function that looks at the path as well does so for this one."""
    if not READS_PATH.search(source):
        return True
    return not TURNED.search(source) and any(path.startswith(text) for text in PATH_TEXT.findall(source))


def _refusals(ground: Ground, registered: Registered) -> Iterator[tuple[str, Function, Rejection]]:
    """Refusals of a content type by what runs before the handler, with their functions."""
    index = ground.index
    before = {(p, f.name) for name in registered.route.dependencies for p, f in index.functions(name)[:4]}
    gates = ground.gate_reach()
    for path, facts in list(index.loaded.items()):
        functions = {function.name: function for function in facts.functions}
        for rejection in facts.rejections:
            function = functions.get(rejection.symbol)
            if function is None or rejection.role not in {"raises", "returns"}:
                continue
            if kind_of_text(_text(rejection), rejection.status or 0) != "content_type":
                continue
            depth = gates.of(path, rejection.symbol)
            if (path, rejection.symbol) in before or (depth is not None and depth <= MAX_HOPS):
                yield path, function, rejection


def _text(rejection: Rejection) -> str:
    parts = rejection.templates[0].parts if rejection.templates else ()
    return "".join("…" if part is HOLE else part for part in parts)
