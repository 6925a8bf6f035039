"""The pipeline, top to bottom: an exchange and the indexes of the linked trees give a diagnosis."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from llmdebug.diagnosis.blame import Evidence
from llmdebug.diagnosis.doubts import NO_DOUBTS, Doubts, lowered, untried_first
from llmdebug.diagnosis.finding import Finding, Spot, blamed
from llmdebug.diagnosis.ground import Ground, ground_of
from llmdebug.diagnosis.hits import name_hits
from llmdebug.diagnosis.ignored import ignored_by
from llmdebug.diagnosis.kinds import kind_of_schema, kind_of_text
from llmdebug.diagnosis.library import from_library
from llmdebug.diagnosis.log_claim import from_log, of_no_use
from llmdebug.diagnosis.malformed import unreadable_body
from llmdebug.diagnosis.nlohmann import from_json_exception
from llmdebug.diagnosis.question import Question, ask
from llmdebug.diagnosis.redirect import (
    Redirect,
    kind_of,
    redirect_of,
    remedies_of,
    sentence_of,
    spots_of,
    trail_of,
)
from llmdebug.diagnosis.remedies.build import remedies
from llmdebug.diagnosis.route import Registered, Resolution
from llmdebug.diagnosis.routing_claim import from_router
from llmdebug.diagnosis.schema_claim import folded, from_declaration, from_schema
from llmdebug.diagnosis.silent import from_code, from_crash, is_silent
from llmdebug.diagnosis.stranger import strange_name
from llmdebug.diagnosis.text_claim import bare, from_text, settle
from llmdebug.diagnosis.unexplained import what_is_known
from llmdebug.diagnosis.verdict import NO_TREE, Diagnosis, Kind, Site
from llmdebug.diagnosis.wording import summary, trail
from llmdebug.diagnosis.wordless import from_status
from llmdebug.formats.serverlog import ServerLog
from llmdebug.http.exchange import Exchange
from llmdebug.index.build import Index

STRANGE = 0.15
"""How sure a finding is whose text names what the tree lacks."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one tree tells, and the route it was asked about."""

    finding: Finding
    ground: Ground | None = None
    registered: Registered | None = None
    told: Question | None = None
    """The question as a log answers it, where that tells more than the answer."""


def diagnose(
    exchange: Exchange,
    indexes: Sequence[Index] = (),
    log: ServerLog | None = None,
    *,
    models: Sequence[str] = (),
    doubted: Doubts = NO_DOUBTS,
) -> Diagnosis:
    """What llmdebug has to say of an exchange; the nearest tree (the gateway) comes first in `indexes`.

    `log` is what the server wrote beside it, `models` what it lists as served, `doubted` what was refuted. Never
    raises for what an exchange, a tree or a log holds; raises Cancelled where the index was told to stop.
    """
    started = time.perf_counter()
    question = ask(exchange)
    if question is None:
        message = exchange.failure.message if exchange.failure else "there is no answer to diagnose"
        return Diagnosis(summary=message, kind="other")
    redirect = redirect_of(question, exchange.response)
    if redirect is not None:
        told = _redirected(redirect, question, indexes)
        return _with(told, {"diagnose": _ms(time.perf_counter() - started)}, [n for i in indexes for n in i.notes])
    looks = [look(ground_of(index), question, log) for index in indexes] or [_by_answer(question, log)]
    for each in looks:
        lowered(each.finding, doubted, question.answer.text)
    best = max(looks, key=lambda each: each.finding.confidence)
    if best.ground is not None and question.answer.refused and not best.finding.spots and exchange.response:
        best.finding.notes += what_is_known(question, exchange.response, best.ground)
    if log is not None and best.told is None and (question.answer.refused or is_silent(question, question.answer_body)):
        best.finding.notes.append(of_no_use(log))
    looked = time.perf_counter()
    diagnosis = drawn_up(question, best, len(indexes) > 1, models, doubted)
    if diagnosis.kind == "none" and exchange.failure is not None:
        diagnosis = msgspec.structs.replace(diagnosis, summary=exchange.failure.message)
    for index in indexes:
        index.save()
    timings = {"look": _ms(looked - started), "diagnose": _ms(time.perf_counter() - started)}
    return _with(diagnosis, timings, [note for index in indexes for note in index.notes])


def _redirected(redirect: Redirect, question: Question, indexes: Sequence[Index]) -> Diagnosis:
    """Of an answer that sends the client elsewhere."""
    grounds = [ground_of(index) for index in indexes]
    sites = [_site(g, spot, len(grounds) > 1) for g in grounds for spot in spots_of(redirect, question, g)]
    return Diagnosis(
        summary=sentence_of(redirect, question),
        kind=kind_of(redirect, question),
        sites=tuple(sites),
        remedies=remedies_of(redirect, question),
        trail=trail_of(redirect, question),
        notes=() if indexes else (NO_TREE,),
    )


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 1)


def _with(diagnosis: Diagnosis, timings: dict[str, float], notes: Sequence[str]) -> Diagnosis:
    return msgspec.structs.replace(
        diagnosis, timings_ms=timings, notes=tuple(dict.fromkeys([*diagnosis.notes, *notes]))
    )


def drawn_up(
    question: Question, best: Look, several: bool, models: Sequence[str] = (), doubted: Doubts = NO_DOUBTS
) -> Diagnosis:
    """A finding with its places read, its remedies built and its way told."""
    finding, ground = best.finding, best.ground
    notes = list(finding.notes)
    related = list(finding.related)
    if ground is None:
        notes.append(NO_TREE)
    elif finding.kind != "none":
        related += name_hits(ground, question, finding)
        paths = dict.fromkeys([*(s.file for s in finding.spots), *ground.index.base()])
        notes += [f"could not be parsed, so not searched: {problem}" for problem in ground.index.problems(paths)]
    offered = remedies(question, finding, ground, best.registered, models) if finding.kind != "none" else ()
    return Diagnosis(
        summary=summary(best.told or question, finding, ground, best.registered),
        kind=finding.kind,
        fields=tuple(finding.fields),
        ignored=tuple(finding.ignored),
        sites=tuple(_site(ground, spot, several) for spot in finding.spots if ground),
        related=tuple(_site(ground, spot, several) for spot in related if ground),
        remedies=untried_first(offered, doubted),
        trail=trail(question, finding),
        notes=tuple(notes),
    )


def _site(ground: Ground, spot: Spot, several: bool) -> Site:
    tree = ground.index.tree
    return Site(
        file=spot.file,
        line=spot.line,
        end_line=spot.end_line,
        symbol=spot.symbol,
        role=spot.role,
        score=round(spot.score, 2),
        why=spot.why,
        excerpt=tree.excerpt(spot.file, spot.line, spot.end_line),
        tree=tree.name if several else "",
    )


def without_tree(question: Question) -> Finding:
    """What the answer alone tells."""
    if not question.answer.refused:
        return Finding("none")
    items = folded(None, None, question)
    for item in items:
        schema_kind = kind_of_schema(item.complaint.type)
        if schema_kind is not None:
            return Finding(schema_kind, [blamed(item.pointer, item.complaint.message, 0.8, item.place)])
    text = bare(question.answer.text)
    evidence = Evidence(text, kind_of_text(text, question.answer.status), question.answer.param)
    kind, fields = settle(evidence, question, next((item for item in items if item.pointer), None))
    return Finding(kind, fields)


def _by_answer(question: Question, log: ServerLog | None) -> Look:
    """Without a tree."""
    told = from_log(None, None, question, None, log, without_tree) if log is not None else None
    return Look(told.finding, told=told.question) if told else Look(without_tree(question))


def look(ground: Ground, question: Question, log: ServerLog | None = None) -> Look:
    """What one tree tells of a question."""
    resolution = ground.resolve(question.method, question.path)
    registered = resolution.matches[0] if resolution.matches else None
    finding, told = _refusal(ground, resolution, registered, question), None
    if finding is not None and finding.spots and (name := strange_name(ground, question)):
        finding = _disowned(finding, name)
    if log is not None:
        told = from_log(
            ground, registered, question, finding, log, lambda said: _refusal(ground, resolution, registered, said)
        )
        finding = told.finding if told else finding
    dropped = ignored_by(ground, registered, question)
    if finding is None:
        kind: Kind = "ignored_field" if dropped.pointers else "none"
        confidence = 0.5 if dropped.pointers else 0.1
        finding = Finding(kind, [], dropped.spots, ignored=dropped.pointers, confidence=confidence)
    else:
        finding.ignored = [p for p in dropped.pointers if all(f.pointer != p for f in finding.fields)]
    return Look(finding, ground, registered, told.question if told else None)


def _of_unreadable(ground: Ground, registered: Registered | None, question: Question, said: Kind) -> Finding:
    """Why a body that is no JSON was refused: where the server says so in its own words, else where it reads it."""
    told = from_text(ground, registered, question, question.answer.text)
    if told is None or not told.spots:
        return unreadable_body(ground, registered)
    if said in {"malformed_json", "bad_value", "other", "wrong_type"}:
        told.kind, told.fields = "malformed_json", []
    return told


def _disowned(finding: Finding, name: str) -> Finding:
    """A finding without its claims: the answer names something that the tree does not have."""
    finding.related = [*finding.spots, *finding.related]
    finding.spots = []
    finding.notes = [f"the answer names {name}, which the linked tree lacks: another server or version said it"]
    finding.confidence = STRANGE
    return finding


def _refusal(
    ground: Ground, resolution: Resolution, registered: Registered | None, question: Question
) -> Finding | None:
    """Why the server refused; None where it did not."""
    answer = question.answer
    if is_silent(question, question.answer_body):
        if question.body_problem and answer.refused:
            return unreadable_body(ground, registered)
        found = from_code(ground, registered, question)
        return found or (without_tree(question) if answer.refused else None)
    if not answer.refused:
        return None
    found = from_router(ground, resolution, question) or from_crash(ground, registered, question, answer.text)
    if found is not None:
        return found
    found = from_json_exception(ground, registered, question, answer.text)
    if found is not None:
        return found
    items = folded(ground, registered, question)
    for item in items:
        if item.complaint.type == "json_invalid":
            return unreadable_body(ground, registered)
        found = from_schema(ground, registered, question, item)
        if found is None:
            found = from_text(ground, registered, question, item.complaint.message, item)
        if found is not None:
            return found
    for item in items:
        found = from_declaration(ground, registered, question, item)
        if found is not None:
            return found
    said = kind_of_text(answer.text, answer.status)
    if question.is_unreadable or (said == "malformed_json" and question.body is None):
        return _of_unreadable(ground, registered, question, said)
    return (
        from_text(ground, registered, question, answer.text)
        or from_library(ground, registered, question, answer.text)
        or (unreadable_body(ground, registered, "content_type") if answer.status == 415 else None)
        or from_status(ground, registered, question)
        or without_tree(question)
    )
