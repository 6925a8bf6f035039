"""From a finding to its remedies: proposals of each kind, held against the tree, ordered, made into requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from llmdebug.diagnosis.finding import Finding, blamed
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.kinds import kind_of_schema
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.remedies.bounds import brought_in
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.conflict import resolved
from llmdebug.diagnosis.remedies.context import overfull, shortened
from llmdebug.diagnosis.remedies.doors import again, of_served_model, smaller, with_content_type, with_key
from llmdebug.diagnosis.remedies.drop import without_holder
from llmdebug.diagnosis.remedies.elements import without_hollow
from llmdebug.diagnosis.remedies.malformed import mended
from llmdebug.diagnosis.remedies.missing import filled, filled_beside
from llmdebug.diagnosis.remedies.order import ordered
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.diagnosis.remedies.query import collection, on_query
from llmdebug.diagnosis.remedies.rename import renamed
from llmdebug.diagnosis.remedies.request import remedy_of
from llmdebug.diagnosis.remedies.routes import other_method, rerouted
from llmdebug.diagnosis.remedies.support import split, without_feature
from llmdebug.diagnosis.remedies.trial import Trial
from llmdebug.diagnosis.remedies.turns import reordered
from llmdebug.diagnosis.remedies.values import converted, corrected
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.schema import Problem
from llmdebug.diagnosis.verdict import Kind, Remedy
from llmdebug.jsontext.pointer import PointerError
from llmdebug.jsontext.scan import depth_exceeds

MOST = 6
MAX_BYTES = 2_000_000
MAX_DEPTH = 100
MAX_ROUNDS = 5

Maker = Callable[[Case], list[Proposal]]

MAKERS: dict[Kind, tuple[Maker, ...]] = {
    "malformed_json": (mended, corrected),
    "content_type": (with_content_type,),
    "no_route": (rerouted,),
    "wrong_method": (other_method,),
    "auth": (with_key,),
    "payload_too_large": (smaller,),
    "model_not_found": (of_served_model, collection),
    "context_length": (shortened,),
    "unknown_field": (renamed,),
    "missing_field": (filled, without_hollow, reordered, without_holder),
    "wrong_type": (converted, split),
    "conflict": (resolved, reordered, filled),
    "out_of_range": (brought_in, overfull, resolved, split),
    "bad_value": (corrected, without_hollow, reordered, filled_beside, brought_in, split, collection),
    "unsupported": (without_feature, reordered),
    "upstream": (again,),
    "other": (again, corrected, reordered, collection),
    "ignored_field": (renamed,),
    "none": (),
}
TRIVIAL: frozenset[Kind] = frozenset({"content_type", "no_route", "wrong_method", "auth", "upstream"})
"""Kinds whose remedies do not touch the body."""


def remedies(
    question: Question,
    finding: Finding,
    ground: Ground | None,
    registered: Registered | None,
    models: Sequence[str] = (),
) -> tuple[Remedy, ...]:
    """What to send instead, best first, at most six. Never raises for what an exchange holds.

    `models` are the names that the live server lists, where it was asked.
    """
    if finding.kind not in TRIVIAL and _is_heavy(question):
        return ()
    case = Case(question, finding, ground, registered, tuple(models))
    proposals = list(_proposals(case))
    trial = Trial(case)
    completed = [_completed(case, proposal) for proposal in proposals]
    best = ordered(completed, trial, case.body)
    return tuple(remedy for proposal in best if (remedy := remedy_of(question, proposal)) is not None)[:MOST]


def _is_heavy(question: Question) -> bool:
    """Whether a body is too large or deep to be worked on."""
    data = question.request.body
    if len(data) > MAX_BYTES:
        return True
    return depth_exceeds(data.decode("utf-8", "replace"), MAX_DEPTH) is not None


def _proposals(case: Case) -> Iterator[Proposal]:
    makers = MAKERS[case.finding.kind]
    yield from on_query(case, makers)
    for maker in makers:
        try:
            yield from maker(case)
        except (PointerError, RecursionError):
            continue


def _completed(case: Case, proposal: Proposal) -> Proposal:
    """The proposal with what else the schema surely refuses in the request put right too."""
    if len(proposal.bodies) != 1 or proposal.path or proposal.is_tried or case.root is None:
        return proposal
    body = proposal.bodies[0]
    for _ in range(MAX_ROUNDS):
        others = [p for p in case.problems(body, doubtful=True) if p.pointer not in case.pointers and _is_plain(p)]
        fixed = _fixed(case, body, others[0].pointer, others[0].type) if others else None
        if fixed is None:
            break
        body = fixed
    return replace(proposal, bodies=(body,))


def _is_plain(problem: Problem) -> bool:
    """Whether no validator that sees the raw body first is likely to put a problem right."""
    return problem.certain or problem.type == "missing"


def _fixed(case: Case, body: Any, pointer: str, error: str) -> Any:
    """A body without one more problem; None where that needs more than a first guess."""
    kind = kind_of_schema(error)
    if kind is None:
        return None
    finding = Finding(kind, [blamed(pointer, error, 0.5)])
    inner = Case(replace(case.question, body=body), finding, case.ground, case.registered, case.models)
    for proposal in _proposals(inner):
        left = (
            inner.problems(proposal.bodies[0], doubtful=True)
            if len(proposal.bodies) == 1 and not proposal.path
            else None
        )
        if left is not None and not any(p.pointer == pointer for p in left):
            return proposal.bodies[0]
    return None
