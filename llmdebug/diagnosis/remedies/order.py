"""The best proposals, best first: by how likely they pass and how much of the intent they keep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.diagnosis.remedies.trial import Trial
from llmdebug.jsontext.patch import same

MAX_TRIED = 16
MOST = 6


def ordered(proposals: Iterable[Proposal], trial: Trial, body: Any) -> list[Proposal]:
    """At most six, each once; what the tree would refuse again comes last or not at all."""
    unique: list[Proposal] = []
    for proposal in sorted(proposals, key=lambda p: -p.score):
        if not _is_change(proposal, body) or any(_alike(proposal, other) for other in unique):
            continue
        unique.append(proposal)
    tried = [_tried(proposal, trial) for proposal in unique[:MAX_TRIED]]
    kept = [proposal for proposal in tried if proposal.odds > 0.1]
    return sorted(kept or tried, key=lambda p: -p.score)[:MOST]


def _is_change(proposal: Proposal, body: Any) -> bool:
    if proposal.is_advice or proposal.path or proposal.method or proposal.headers or len(proposal.bodies) != 1:
        return True
    return proposal.query is not None or not same(proposal.bodies[0], body)


def _alike(one: Proposal, other: Proposal) -> bool:
    if (one.path, one.method, one.headers, one.query) != (other.path, other.method, other.headers, other.query):
        return False
    if one.is_advice or other.is_advice:
        return one.title == other.title
    return len(one.bodies) == len(other.bodies) and all(map(same, one.bodies, other.bodies))


def _tried(proposal: Proposal, trial: Trial) -> Proposal:
    if proposal.is_tried or proposal.is_advice or not proposal.bodies or proposal.path:
        return proposal
    refused = trial.refused(proposal.bodies[0])
    if refused is None:
        return proposal
    odds = proposal.odds * 0.1 if refused else max(proposal.odds, 0.9 - 0.1 * (1.0 - proposal.odds))
    return replace(proposal, odds=odds)
