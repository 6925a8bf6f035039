"""The pipeline, top to bottom: an exchange and the indexes of the linked trees give a diagnosis."""

from __future__ import annotations

import time
from collections.abc import Sequence

from llmdebug.diagnosis.blame import Evidence
from llmdebug.diagnosis.finding import Finding, Spot, blamed
from llmdebug.diagnosis.ground import Ground, ground_of
from llmdebug.diagnosis.ignored import ignored_by
from llmdebug.diagnosis.kinds import kind_of_schema, kind_of_text
from llmdebug.diagnosis.library import from_library
from llmdebug.diagnosis.malformed import unreadable_body
from llmdebug.diagnosis.question import Question, ask
from llmdebug.diagnosis.route import Registered, Resolution
from llmdebug.diagnosis.routing_claim import from_router
from llmdebug.diagnosis.schema_claim import folded, from_schema
from llmdebug.diagnosis.silent import from_code, is_silent
from llmdebug.diagnosis.text_claim import bare, from_text, settle
from llmdebug.diagnosis.verdict import Diagnosis, Kind, Site
from llmdebug.http.exchange import Exchange
from llmdebug.index.build import Index


def diagnose(exchange: Exchange, indexes: Sequence[Index] = ()) -> Diagnosis:
    """What llmdebug has to say of an exchange; the nearest tree (the gateway) comes first in `indexes`.

    Never raises for what an exchange or a tree holds; raises Cancelled where the index was told to stop.
    """
    started = time.perf_counter()
    question = ask(exchange)
    if question is None:
        message = exchange.failure.message if exchange.failure else "there is no answer"
        return Diagnosis(summary=message, kind="other")
    grounds = [ground_of(index) for index in indexes]
    findings = [(ground, look(ground, question)) for ground in grounds]
    best = max(findings, key=lambda pair: pair[1].confidence, default=None)
    finding = best[1] if best else without_tree(question)
    sites = [_site(best[0], spot) for spot in finding.spots] if best else []
    related = [_site(best[0], spot) for spot in finding.related] if best else []
    for index in indexes:
        index.save()
    return Diagnosis(
        summary=finding.kind,
        kind=finding.kind,
        fields=tuple(finding.fields),
        ignored=tuple(finding.ignored),
        sites=tuple(sites),
        related=tuple(related),
        notes=tuple(finding.notes),
        timings_ms={"diagnose": round(1000 * (time.perf_counter() - started), 1)},
    )


def _site(ground: Ground, spot: Spot) -> Site:
    return Site(
        file=spot.file,
        line=spot.line,
        end_line=spot.end_line,
        symbol=spot.symbol,
        role=spot.role,
        score=spot.score,
        why=spot.why,
        excerpt=ground.index.tree.excerpt(spot.file, spot.line, spot.end_line),
    )


def without_tree(question: Question) -> Finding:
    """What the answer alone tells."""
    if not question.answer.refused:
        return Finding("none")
    for item in folded(None, None, question):
        schema_kind = kind_of_schema(item.complaint.type)
        if schema_kind is not None:
            return Finding(schema_kind, [blamed(item.pointer, item.complaint.message, 0.8, item.place)])
    text = bare(question.answer.text)
    evidence = Evidence(text, kind_of_text(text, question.answer.status), question.answer.param)
    kind, fields = settle(evidence, question)
    return Finding(kind, fields)


def look(ground: Ground, question: Question) -> Finding:
    """What one tree tells of a question."""
    resolution = ground.resolve(question.method, question.path)
    registered = resolution.matches[0] if resolution.matches else None
    finding = _refusal(ground, resolution, registered, question)
    dropped = ignored_by(ground, registered, question)
    if finding is None:
        kind: Kind = "ignored_field" if dropped.pointers else "none"
        return Finding(kind, [], dropped.spots, ignored=dropped.pointers, confidence=0.5 if dropped.pointers else 0.1)
    finding.ignored = [p for p in dropped.pointers if all(f.pointer != p for f in finding.fields)]
    return finding


def _refusal(
    ground: Ground, resolution: Resolution, registered: Registered | None, question: Question
) -> Finding | None:
    """Why the server refused; None where it did not."""
    answer = question.answer
    if is_silent(question, question.answer_body):
        found = from_code(ground, registered, question)
        return found or (without_tree(question) if answer.refused else None)
    if not answer.refused:
        return None
    routing = from_router(ground, resolution, question)
    if routing is not None:
        return routing
    for item in folded(ground, registered, question):
        if item.complaint.type == "json_invalid":
            return unreadable_body(ground, registered)
        found = from_schema(ground, registered, question, item)
        if found is None:
            found = from_text(ground, registered, question, item.complaint.message, item)
        if found is not None:
            return found
    if kind_of_text(answer.text, answer.status) == "malformed_json" and (question.body_problem or not question.fields):
        return unreadable_body(ground, registered)
    return (
        from_text(ground, registered, question, answer.text)
        or from_library(ground, registered, question, answer.text)
        or without_tree(question)
    )
