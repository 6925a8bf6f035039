"""Refusals by a status alone: the code that gives it, in a middleware or on the way of the route."""

from __future__ import annotations

from llmdebug.diagnosis.finding import Finding, Spot
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.kinds import kind_of_text
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered
from llmdebug.index.facts import Rejection
from llmdebug.index.languages import ASIDE

MAX_SPOTS = 3


def from_status(ground: Ground, registered: Registered | None, question: Question) -> Finding | None:
    """The finding for an answer without a word; None where no code that runs for it gives its status so."""
    status = question.answer.status
    if question.answer.text or status < 400:
        return None
    gates = ground.gate_reach()
    reach = ground.reach(registered) if registered is not None else None
    ranked: list[tuple[int, str, Rejection]] = []
    for path, facts in list(ground.index.loaded.items()):
        for rejection in facts.rejections if not ASIDE.search(path) else ():
            if rejection.status != status or rejection.templates:
                continue
            depth = gates.of(path, rejection.symbol)
            if depth is None and reach is not None:
                depth = reach.of(path, rejection.symbol)
            if depth is not None:
                ranked.append((depth, path, rejection))
    if not ranked:
        return None
    finding = Finding(kind_of_text("", status), [], confidence=0.6)
    for depth, path, each in sorted(ranked, key=lambda one: (one[0], one[1], -one[2].line))[:MAX_SPOTS]:
        why = (f"answers with {status} and no text", f"runs for this request, {depth} calls in")
        finding.spots.append(Spot(path, each.line, each.end_line, each.symbol, each.role, 0.7, why))
    return finding
