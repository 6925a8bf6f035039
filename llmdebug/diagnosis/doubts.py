"""What experiments have refuted already: a kind whose remedies were refused again is believed less the next time."""

from __future__ import annotations

import json

import msgspec

from llmdebug.diagnosis.finding import Finding
from llmdebug.diagnosis.kinds import CUES, MAX_TEXT
from llmdebug.diagnosis.verdict import BlamedField, Kind, Remedy, RemedyRequest

LOWERED = 0.5
"""What is left of a confidence or score that rests on a doubted kind."""
SAID_BY_LIBRARY = frozenset({"malformed_json", "content_type", "no_route", "wrong_method", "auth"})
"""Kinds that do not rest on the words of a message, so that no other kind can take their place."""


class Doubts(msgspec.Struct, frozen=True):
    """What was refuted of one refusal."""

    kinds: frozenset[Kind] = frozenset()
    requests: frozenset[str] = frozenset()
    """Those that were sent as a remedy and refused, by request_key()."""


NO_DOUBTS = Doubts()


def request_key(request: RemedyRequest) -> str:
    """The same for the same request."""
    body = json.dumps(request.body, sort_keys=True, default=repr)
    return f"{request.method} {request.url} {sorted(request.headers.items())} {body}"


def lowered(finding: Finding, doubts: Doubts, text: str) -> Finding:
    """The finding with its doubted kind believed less; another kind that the words admit takes its place."""
    if finding.kind not in doubts.kinds:
        return finding
    refuted = finding.kind
    finding.refuted.append(refuted)
    if refuted not in SAID_BY_LIBRARY:
        finding.kind = next((kind for kind in _kinds_of(text) if kind not in doubts.kinds), refuted)
    finding.confidence *= LOWERED
    finding.fields = [_doubted(field) for field in finding.fields]
    finding.notes.append(f"an experiment of this session refuted {refuted.replace('_', ' ')} for this refusal")
    return finding


def _kinds_of(text: str) -> list[Kind]:
    return [kind for kind, pattern in CUES.items() if pattern.search(text[:MAX_TEXT])]


def _doubted(field: BlamedField) -> BlamedField:
    return msgspec.structs.replace(field, confidence=round(field.confidence * LOWERED, 2))


def untried_first(remedies: tuple[Remedy, ...], doubts: Doubts) -> tuple[Remedy, ...]:
    """Remedies that were refused before come last, and say so."""
    if not doubts.requests:
        return remedies
    fresh = [remedy for remedy in remedies if not _was_refused(remedy, doubts)]
    spent = [remedy for remedy in remedies if _was_refused(remedy, doubts)]
    told = "It was sent before in this session, and refused."
    return (*fresh, *(msgspec.structs.replace(remedy, why=f"{remedy.why} {told}") for remedy in spent))


def _was_refused(remedy: Remedy, doubts: Doubts) -> bool:
    return any(request_key(request) in doubts.requests for request in remedy.requests)
