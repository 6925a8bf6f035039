"""A diagnosis in words: one sentence, and the way from the symptom to the verdict."""

from __future__ import annotations

import re
from typing import Any

from llmdebug.diagnosis.finding import Finding, Spot
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.locate import has_pointer
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.sentence import MAX_QUOTED, Sentence, listed, name_of, shortened
from llmdebug.diagnosis.verdict import BlamedField, TrailStep

MAX_SENTENCE = 320
MAX_HYPOTHESES = 4


ROLE_WORDS = {
    "declares": "declares it",
    "raises": "raises it",
    "returns": "returns it",
    "checks": "checks it",
    "routes": "registers the route",
    "reads": "reads it",
    "internal": "uses the name inside",
    "documents": "documents it",
}


def summary(question: Question, finding: Finding, ground: Ground | None, registered: Registered | None) -> str:
    """One plain sentence: what was refused, why, and what had no effect."""
    said = Sentence(question, finding, ground, registered)
    parts = [said.of_kind(finding.kind)]
    if finding.kind != "ignored_field":
        declared = [place for place in finding.ignored if said.case.declared(place) is not None]
        parts += _ignored([place for place in finding.ignored if place not in declared])
        parts += (
            [f"{listed(declared[:4])} {'has' if len(declared) == 1 else 'have'} no effect here"] if declared else []
        )
    if question.answer.refused and ground is not None and not finding.spots:
        parts.append("no line of the linked tree is known to refuse it")
    text = "; ".join(part for part in parts if part)
    return shortened(text[:1].upper() + text[1:] if text[:1] != "/" else text, MAX_SENTENCE)


def _ignored(places: list[str]) -> list[str]:
    if not places:
        return []
    shown = listed(places[:4]) + (" and others" if len(places) > 4 else "")
    one = len(places) == 1
    return [
        f"{shown} {'is' if one else 'are'} no field{'' if one else 's'} here: {'it is' if one else 'they are'} ignored"
    ]


def trail(question: Question, finding: Finding) -> tuple[TrailStep, ...]:
    """The way so far: symptom, hypotheses with what speaks for and against them, and the verdict before a trial."""
    steps = [_symptom(question)]
    for field in finding.fields[:MAX_HYPOTHESES]:
        steps += _blaming(question, field)
    for kind in finding.refuted:
        steps.append(TrailStep(step="hypothesis", text=f"the refusal is of the kind {kind.replace('_', ' ')}"))
        steps.append(TrailStep(step="against", text="a remedy for that kind was refused with the same words"))
    for pointer in finding.ignored[:MAX_HYPOTHESES]:
        steps += _suspecting(pointer, finding)
    for spot in finding.spots[:2]:
        steps += _at(spot)
    steps += [
        TrailStep(step="against", text=f"{place_of(spot)} has a like text: {'; '.join(spot.why[:2])}")
        for spot in finding.related[:3]
        if spot.why
    ]
    steps.append(TrailStep(step="verdict", text=_verdict(question, finding)))
    return tuple(steps)


def _symptom(question: Question) -> TrailStep:
    answer = question.answer
    said = shortened(answer.text, MAX_QUOTED)
    text = f"{question.method} {shortened(question.path, 80)} answered {answer.status}"
    if answer.refused and answer.status < 400:
        text += ", with an error inside"
    return TrailStep(step="symptom", text=f'{text}: "{said}"' if said else text)


def _blaming(question: Question, field: BlamedField) -> list[TrailStep]:
    there = field.place != "body" or not field.pointer or has_pointer(question.body, field.pointer)
    text = f"{name_of(field)} is to blame" if there else f"{name_of(field)} is missing"
    steps = [TrailStep(step="hypothesis", text=text)]
    if field.reason:
        sure = f" ({round(100 * field.confidence)} % sure)"
        steps.append(TrailStep(step="for", text=shortened(field.reason, MAX_QUOTED) + sure))
    return steps


def _suspecting(pointer: str, finding: Finding) -> list[TrailStep]:
    """The field that a sender would suspect, though nothing looks at it."""
    if finding.kind == "ignored_field":
        return [TrailStep(step="hypothesis", text=f"{shortened(pointer, 80)} had no effect")]
    return [
        TrailStep(step="hypothesis", text=f"the value of {shortened(pointer, 80)} is wrong"),
        TrailStep(
            step="against", text="nothing on this route takes the field: it is dropped before anybody looks at it"
        ),
    ]


def _at(spot: Spot) -> list[TrailStep]:
    steps = [TrailStep(step="hypothesis", text=f"{place_of(spot)} {ROLE_WORDS[spot.role]}")]
    for why in spot.why[:5]:
        step: Any = "against" if re.search(r"\bnot\b|another", why) else "for"
        steps.append(TrailStep(step=step, text=shortened(why, 160)))
    return steps


def place_of(spot: Spot) -> str:
    """File and line, with the symbol where there is one."""
    return f"{spot.file}:{spot.line}" + (f" ({spot.symbol})" if spot.symbol else "")


def _verdict(question: Question, finding: Finding) -> str:
    if not question.answer.refused:
        return "nothing was refused" if finding.kind == "none" else "answered, with fields that had no effect"
    kind = finding.kind.replace("_", " ")
    if not finding.spots:
        return f"{kind}; no line is named, as nothing in a linked tree explains the refusal well enough"
    return f"{kind}, refused at {place_of(finding.spots[0])}; a remedy that is answered would confirm it"
