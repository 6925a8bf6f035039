"""What the linked trees will refuse or ignore in a request, told before it is sent.

The request is held against the route, the schema and the code of the route, as a diagnosis does after a refusal, and
the outcome is the same value. What only the running server knows (its model, its limits, its flags) is not foreseen.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from llmdebug.diagnosis.blame import Evidence
from llmdebug.diagnosis.complaint import Answer, Complaint
from llmdebug.diagnosis.diagnose import Look, drawn_up
from llmdebug.diagnosis.finding import Finding
from llmdebug.diagnosis.foresight import Foreseen, Foresight
from llmdebug.diagnosis.ground import Ground, ground_of
from llmdebug.diagnosis.ignored import ignored_by
from llmdebug.diagnosis.kinds import kind_of_schema, kind_of_text
from llmdebug.diagnosis.locate import Located
from llmdebug.diagnosis.malformed import refuses_by_hand, unreadable_body
from llmdebug.diagnosis.mediatype import refused_type
from llmdebug.diagnosis.parameters import FORMS, demands_body, parameter_problems
from llmdebug.diagnosis.question import Question, question_of
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.schema import Problem
from llmdebug.diagnosis.schema_claim import from_schema
from llmdebug.diagnosis.silent import finding_of
from llmdebug.diagnosis.study import Study
from llmdebug.diagnosis.text_claim import declared_names, settle
from llmdebug.diagnosis.unrouted import unrouted
from llmdebug.diagnosis.verdict import BlamedField, Diagnosis, TrailStep
from llmdebug.http.exchange import Request
from llmdebug.index.build import Index
from llmdebug.index.facts import HOLE, Rejection
from llmdebug.index.python.inputs import Inputs
from llmdebug.index.python.types import Object
from llmdebug.index.python.values import UNKNOWN

MAX_PROBLEMS = 12
BOUND_WORDS = {
    "greater_than": "it must be greater than {}",
    "greater_than_equal": "it must be at least {}",
    "less_than": "it must be less than {}",
    "less_than_equal": "it must be at most {}",
    "multiple_of": "it must be a multiple of {}",
    "too_short": "it must hold at least {}",
    "too_long": "it must hold at most {}",
    "string_too_short": "it must have at least {} characters",
    "string_too_long": "it must have at most {} characters",
}


@dataclass(frozen=True, slots=True)
class _Told:
    """A finding and what the server would say."""

    finding: Finding
    text: str = ""


def preflight(request: Request, indexes: Sequence[Index]) -> Diagnosis:
    """What the trees will do with a request: a refusal, fields that are ignored, or `none`.

    Never raises for what a request or a tree holds; raises Cancelled where an index was told to stop.
    """
    started = time.perf_counter()
    question = question_of(request, Answer(status=0))
    looks = [_look(ground_of(index), question) for index in indexes]
    best = max(looks, key=_weight, default=(Look(Finding("none")), question))
    diagnosis = _as_diagnosis(*best, several=len(indexes) > 1)
    for index in indexes:
        index.save()
    spent = {"preflight": round(1000 * (time.perf_counter() - started), 1)}
    notes = dict.fromkeys([*diagnosis.notes, *(note for index in indexes for note in index.notes)])
    return msgspec.structs.replace(diagnosis, timings_ms=spent, notes=tuple(notes))


def _weight(look: tuple[Look, Question]) -> tuple[bool, float]:
    """Trees that have the route before those that have not."""
    return look[0].registered is not None, look[0].finding.confidence


def _as_diagnosis(best: Look, question: Question, several: bool) -> Diagnosis:
    made = drawn_up(question, best, several)
    summary = made.summary
    if best.finding.kind == "none":
        known = best.ground is not None and best.registered is not None
        summary = (
            "Nothing in the linked source speaks against this request" if known else "No linked source tells about it"
        )
    elif best.finding.kind == "ignored_field":
        summary = (
            f"Nothing in the linked source speaks against this request, but {_and(made.ignored)} will have no effect"
        )
    else:
        summary = f"Will be refused: {summary}"
    return msgspec.structs.replace(made, summary=summary, trail=_trail(question, made))


def _trail(question: Question, made: Diagnosis) -> tuple[TrailStep, ...]:
    """The way of the diagnosis, without an answer at its start and a verdict on one at its end."""
    start = TrailStep(step="symptom", text=f"{question.method} {question.path[:80]} is not sent yet")
    verdict = "nothing is sent: sending it settles what the source says of it"
    return (start, *made.trail[1:-1], TrailStep(step="verdict", text=verdict))


def _and(pointers: Sequence[str]) -> str:
    shown = list(pointers[:4]) + (["others"] if len(pointers) > 4 else [])
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]


def _look(ground: Ground, question: Question) -> tuple[Look, Question]:
    """What one tree will do, and the question with the answer that it would give."""
    resolution = ground.resolve(question.method, question.path)
    registered = resolution.matches[0] if resolution.matches else None
    if registered is None:
        missed = unrouted(ground, resolution, question)
        told = _Told(missed) if missed is not None else None
    else:
        told = _refusal(ground, registered, question)
    dropped = ignored_by(ground, registered, question)
    if told is None:
        kind = "ignored_field" if dropped.pointers else "none"
        confidence = 0.5 if dropped.pointers else 0.2 if registered is not None else 0.1
        finding = Finding(kind, [], dropped.spots, ignored=dropped.pointers, confidence=confidence)  # type: ignore[arg-type]
        return Look(finding, ground, registered), question
    blamed = {field.pointer for field in told.finding.fields}
    told.finding.ignored = [pointer for pointer in dropped.pointers if pointer not in blamed]
    return Look(told.finding, ground, registered), _answered(question, told)


def _answered(question: Question, told: _Told) -> Question:
    """The question with the answer that is foreseen."""
    complaints = tuple(
        Complaint(told.text or field.reason, ("body", *field.pointer.split("/")[1:]))
        for field in told.finding.fields[:1]
    )
    return replace(question, answer=Answer(status=0, text=told.text, complaints=complaints if told.text else ()))


def _refusal(ground: Ground, registered: Registered, question: Question) -> _Told | None:
    """The refusals of the route: the body, the schema, then the code."""
    inputs = ground.inputs(registered)
    takes_json = inputs.body is not None or bool(inputs.embedded)
    typed = refused_type(ground, registered, question) if takes_json and not _takes_form(inputs) else None
    if typed is not None:
        return _Told(*typed)
    if question.body_problem and question.content_type not in FORMS:
        refused = takes_json or bool(inputs.reads) or refuses_by_hand(ground, registered)
        return _Told(unreadable_body(ground, registered)) if refused else None
    return (
        _by_schema(ground, registered, question, problems_of(ground, registered, question))
        or _by_parameters(ground, registered, question)
        or _by_code(ground, registered, question)
    )


def _takes_form(inputs: Inputs) -> bool:
    return any(taken.where == "form" for taken in inputs.parameters)


def problems_of(ground: Ground, registered: Registered, question: Question) -> list[Problem]:
    """What the schema of the route surely does not admit in the body."""
    inputs = ground.inputs(registered)
    checker = ground.checker
    if inputs.body is None:
        given = question.fields
        return [
            problem
            for name, kind in inputs.embedded.items()
            if name in given
            for problem in checker.check(kind, given[name], f"/{name}")
            if problem.certain
        ]
    if question.body is None and not question.request.body.strip():
        return [Problem("", "missing")] if demands_body(ground, registered) else []
    settled = False
    body = question.body
    if isinstance(inputs.body, Object) and isinstance(body, dict):
        arrived = Study(ground, registered, question).arrived(inputs.body.model, body)
        settled, body = arrived is not UNKNOWN, body if arrived is UNKNOWN else arrived
    return [p for p in checker.check(inputs.body, body, settled=settled) if p.certain]


def _by_schema(ground: Ground, registered: Registered, question: Question, problems: Sequence[Problem]) -> _Told | None:
    """The finding of the first problem, with the fields of the others."""
    first: Finding | None = None
    text = ""
    for problem in problems[:MAX_PROBLEMS]:
        said = BOUND_WORDS.get(problem.type, "").format(problem.expected)
        item = Located(Complaint(said, (), problem.type), problem.pointer)
        found = from_schema(ground, registered, question, item)
        if found is None or kind_of_schema(problem.type) is None:
            continue
        if first is None:
            first, text = found, said
        else:
            first.fields += found.fields
            first.spots += found.spots[:1]
    return _Told(first, text) if first is not None else None


def _by_parameters(ground: Ground, registered: Registered, question: Question) -> _Told | None:
    """Parameters beside a JSON body that are missing, or not of their type."""
    for problem in parameter_problems(ground, registered, question):
        said = BOUND_WORDS.get(problem.problem.type, "").format(problem.problem.expected)
        item = Located(Complaint(said, (), problem.problem.type), problem.problem.pointer, problem.place)
        found = from_schema(ground, registered, question, item)
        if found is not None:
            return _Told(found, said)
    return None


def _by_code(ground: Ground, registered: Registered, question: Question) -> _Told | None:
    """The finding of the first refusal that the code surely makes."""
    if question.body is None and question.request.body.strip():
        return None
    met = Foresight(ground, registered, question).foreseen()
    if not met:
        return None
    first = met[0]
    text = _text_of(first)
    finding = finding_of(ground, question, [first.outcome])
    if text and first.rejection is not None:
        near = tuple(sorted(p for p in first.outcome.near if p))
        names = declared_names(ground, registered)
        evidence = Evidence(text, kind_of_text(text, 400), first.rejection.param, names, near)
        finding.kind, finding.fields = settle(evidence, question)
        finding.fields = [_in_future(field) for field in finding.fields]
    finding.confidence = 0.9
    return _Told(finding, text)


def _in_future(field: BlamedField) -> BlamedField:
    """A reason that speaks of the answer, where there is none yet."""
    return msgspec.structs.replace(field, reason=field.reason.replace("the answer's param", "the refusal's param"))


def _text_of(foreseen: Foreseen) -> str:
    """What the server would say, with an ellipsis for what is only known when it runs."""
    if foreseen.rejection is None:
        return foreseen.outcome.text
    return told_by(foreseen.rejection)


def told_by(rejection: Rejection) -> str:
    """The text of a rejection's first template."""
    parts = rejection.templates[0].parts if rejection.templates else ()
    return "".join("…" if part is HOLE else part for part in parts)
