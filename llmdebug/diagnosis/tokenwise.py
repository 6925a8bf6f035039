"""What a tokenizer adds to a diagnosis: ids looked up, the context reckoned, the chat template rendered.

The diagnosis was made from the answer and the trees; this is one more experiment on the request alone. Nothing that
was found before is taken away but blame that the tokenizer refutes: a template's refusal names its message.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from llmdebug.diagnosis.finding import Finding, blamed
from llmdebug.diagnosis.ground import Ground, ground_of
from llmdebug.diagnosis.question import Question, ask
from llmdebug.diagnosis.remedies.badids import carried, cautioned, without
from llmdebug.diagnosis.remedies.build import MOST
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.conversions import in_place, of_tokens, other_form
from llmdebug.diagnosis.remedies.order import ordered
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.diagnosis.remedies.request import remedy_of
from llmdebug.diagnosis.remedies.trial import Trial
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.sentence import shortened
from llmdebug.diagnosis.verdict import BlamedField, Diagnosis, Kind, Remedy, TrailStep
from llmdebug.diagnosis.wording import MAX_SENTENCE
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import Index
from llmdebug.jsontext.pointer import PointerError
from llmdebug.tokens.report import PromptTokens, TokenReport
from llmdebug.tokens.values import TemplateFault

MAX_POSITIONS = 4
MAX_STEP = 260
SURE = 0.95
OF_VALUES: frozenset[Kind] = frozenset({"bad_value", "out_of_range", "other", "upstream", "wrong_type"})
"""Kinds of a refusal that a bad id can be the reason of."""


def weighed(diagnosis: Diagnosis, exchange: Exchange, report: TokenReport, indexes: Sequence[Index] = ()) -> Diagnosis:
    """The diagnosis with what the tokens say. Never raises for what an exchange or a report holds."""
    question = ask(exchange)
    said = " ".join(question.answer.text.split()) if question is not None else ""
    steps = [step for prompt in report.prompts for step in _of_prompt(prompt, report, said)]
    if question is None:
        return msgspec.structs.replace(
            diagnosis,
            trail=_inserted(diagnosis.trail, steps),
            notes=(*diagnosis.notes, *_deadly(report)),
        )
    refused = question.answer.refused
    if not refused:
        steps = []
    fields = _blame(diagnosis, said, report) if refused else diagnosis.fields
    again = msgspec.structs.replace(
        diagnosis,
        summary=_summary(diagnosis, fields, report),
        fields=fields,
        trail=_inserted(diagnosis.trail, [*steps, *_context(report, diagnosis.kind)]),
        notes=(*diagnosis.notes, *_notes(report, diagnosis.kind, refused)),
    )
    return msgspec.structs.replace(again, remedies=_remedies(again, question, report, indexes))


def _inserted(trail: tuple[TrailStep, ...], steps: list[TrailStep]) -> tuple[TrailStep, ...]:
    """Before the verdict, as it stands on them."""
    last = next((place for place, step in enumerate(trail) if step.step == "verdict"), len(trail))
    return (*trail[:last], *steps, *trail[last:])


def _of_prompt(prompt: PromptTokens, report: TokenReport, said: str) -> list[TrailStep]:
    """`said` is what the server said."""
    place = prompt.prompt.pointer
    if prompt.fault is not None:
        return _of_template(prompt.fault, place, said)
    if prompt.reading is None or prompt.prompt.form != "ids":
        return []
    return [
        TrailStep(step="hypothesis", text=f"the ids of {place} are bad"),
        _looked_up(prompt, report),
        TrailStep(step="for", text=f"out of the vocabulary: {prompt.outside_told}")
        if prompt.outside
        else _all_inside(prompt),
    ]


def _of_template(fault: TemplateFault, place: str, said: str) -> list[TrailStep]:
    where = f", at {fault.place}" if fault.place else ""
    words = " with the same words" if fault.message in said else ""
    fails = fault.stopped or fault.unreadable
    told = fault.told if fails else f'it refuses{words}: "{fault.message}"'
    return [
        TrailStep(step="hypothesis", text=f"the chat template {'fails on' if fails else 'refuses'} {place}"),
        TrailStep(step="experiment", text="rendered the conversation with the model's own chat template"),
        TrailStep(step="for", text=shortened(told + where, MAX_STEP)),
    ]


def _looked_up(prompt: PromptTokens, report: TokenReport) -> TrailStep:
    count = prompt.count or 0
    where = f"the model's tokenizer ({report.vocabulary.size:,} ids)" if report.vocabulary else "the server's tokenizer"
    return TrailStep(step="experiment", text=f"looked up {count:,} id{'' if count == 1 else 's'} in {where}")


def _all_inside(prompt: PromptTokens) -> TrailStep:
    if prompt.broken is not None:
        told = f"all ids have a token, but they stand for no text: broken UTF-8 at position {prompt.broken:,}"
        return TrailStep(step="for", text=told)
    text = shortened(prompt.reading.text if prompt.reading else "", 80)
    return TrailStep(step="against", text=f'the ids are valid, they stand for "{text}": "bad ids" is out')


def arithmetic(report: TokenReport) -> str:
    """Tokens of the prompt, and those to be written, against the context; empty where a number is not known."""
    longest = report.longest
    if longest is None or longest.count is None or report.limit is None or report.over is None:
        return ""
    budget = report.budget
    asked = f" + {budget.tokens:,} of {budget.pointer}" if budget and budget.tokens >= 0 else " + 1 to write"
    told = f"{longest.count:,} tokens in {longest.prompt.pointer}{asked}"
    fits = f"{report.over:,} too many" if report.over > 0 else f"{-report.over:,} left"
    return f"{told}, against a context of {report.limit:,} ({report.limit_from}): {fits}"


def _context(report: TokenReport, kind: Kind) -> list[TrailStep]:
    told = arithmetic(report)
    if not told or (kind != "context_length" and (report.over or 0) <= 0):
        return []
    step = TrailStep(step="for" if (report.over or 0) > 0 else "against", text=told)
    return [TrailStep(step="experiment", text="counted the tokens with the model's own tokenizer"), step]


def _notes(report: TokenReport, kind: Kind, refused: bool) -> list[str]:
    notes = [f"tokens: {note}" for note in report.notes]
    notes += [f"tokens: {note}" for prompt in report.prompts for note in prompt.notes]
    notes += [
        f"tokens: {prompt.prompt.pointer}: {_all_inside(prompt).text}"
        for prompt in report.prompts[:MAX_POSITIONS]
        if prompt.prompt.form == "ids" and prompt.reading is not None and not prompt.outside and refused
    ]
    told = arithmetic(report)
    if told and kind == "context_length":
        notes.append(f"context: {told}")
    elif told and (report.over or 0) > 0 and refused:
        notes.append(f"context: it would be refused for its length too: {told}")
    return notes


def _deadly(report: TokenReport) -> list[str]:
    """For a server that gave no answer."""
    places = [prompt.prompt.pointer for prompt in report.prompts if prompt.outside]
    if not places:
        return []
    return [f"ids out of the vocabulary were sent in {', '.join(places[:4])}: some servers die of them"]


def _blame(diagnosis: Diagnosis, said: str, report: TokenReport) -> tuple[BlamedField, ...]:
    """The guilty message of a template's refusal, and ids without a token, before what was blamed so far."""
    found: list[BlamedField] = []
    for prompt in report.prompts:
        pointer = prompt.prompt.pointer
        if prompt.fault is not None and prompt.fault.message in said:
            found.append(blamed(pointer, f"the chat template refuses it: {prompt.fault.message}", SURE))
        elif prompt.outside and prompt.reading and diagnosis.kind in OF_VALUES and _is_suspect(diagnosis, pointer):
            ids = prompt.reading.cells.ids
            found += [
                blamed(f"{pointer}/{at}", f"{ids[at]} is out of the vocabulary", SURE)
                for at in prompt.outside[:MAX_POSITIONS]
            ]
    settled = tuple(field.pointer for field in found)
    return (*found, *(field for field in diagnosis.fields if not _is_settled(field.pointer, settled)))


def _summary(diagnosis: Diagnosis, fields: tuple[BlamedField, ...], report: TokenReport) -> str:
    """Another one where it is the template that refused."""
    guilty = next((prompt for prompt in report.prompts if prompt.fault is not None), None)
    if guilty is None or guilty.fault is None or not fields or fields == diagnosis.fields:
        return diagnosis.summary
    told = f'{guilty.prompt.pointer} is refused by the chat template: "{guilty.fault.message}"'
    return shortened(told + (f" (its line {guilty.fault.line})" if guilty.fault.line else ""), MAX_SENTENCE)


def _is_settled(pointer: str, settled: tuple[str, ...]) -> bool:
    """Whether a pointer is one that is blamed now, or leads to where one of them is."""
    return any(one == pointer or one.startswith(pointer + "/") or _is_neighbour(one, pointer) for one in settled)


def _is_neighbour(one: str, pointer: str) -> bool:
    """Whether both are messages: a template refuses one of them."""
    return one.startswith("/messages/") and pointer.startswith("/messages")


def _is_suspect(diagnosis: Diagnosis, pointer: str) -> bool:
    """Whether what is blamed so far is this prompt, or nothing in particular."""
    return not diagnosis.fields or any(
        field.pointer == "" or pointer == field.pointer or field.pointer.startswith(pointer + "/")
        for field in diagnosis.fields
    )


def _remedies(
    diagnosis: Diagnosis, question: Question, report: TokenReport, indexes: Sequence[Index]
) -> tuple[Remedy, ...]:
    """What was offered before, with what the tokens allow to offer beside it."""
    if diagnosis.kind == "none":
        return diagnosis.remedies
    ground, registered = _route(question, indexes)
    finding = Finding(diagnosis.kind, list(diagnosis.fields), ignored=list(diagnosis.ignored))
    case = Case(question, finding, ground, registered)
    try:
        first, beside = of_tokens(case, report)
    except (PointerError, RecursionError):
        first, beside = [], []
    made = [*_made(case, question, first), *diagnosis.remedies, *_made(case, question, beside)]
    return tuple(_first_of_each(_safe_first(made, question, _ids_outside(report))))[:MOST]


def _ids_outside(report: TokenReport) -> frozenset[int]:
    """The ids of a report's prompts that have no token."""
    return frozenset(
        prompt.reading.cells.ids[place] for prompt in report.prompts if prompt.reading for place in prompt.outside
    )


def _safe_first(remedies: list[Remedy], question: Question, outside: frozenset[int]) -> list[Remedy]:
    """Each remedy that carries ids without a token once without them, and as it was behind all others."""
    safe: list[Remedy] = []
    risky: list[Remedy] = []
    for remedy in remedies:
        bad = carried(remedy, outside)
        if not bad:
            safe.append(remedy)
            continue
        risky.append(cautioned(remedy, bad))
        mended = without(remedy, question, outside)
        if mended is not None:
            safe.append(mended)
    return [*safe, *risky]


def _made(case: Case, question: Question, proposals: list[Proposal]) -> list[Remedy]:
    best = ordered(proposals, Trial(case), case.body)
    return [remedy for proposal in best if (remedy := remedy_of(question, proposal)) is not None]


def _first_of_each(remedies: list[Remedy]) -> list[Remedy]:
    found: dict[bytes, Remedy] = {}
    for remedy in remedies:
        found.setdefault(_key(remedy), remedy)
    return list(found.values())


def _key(remedy: Remedy) -> bytes:
    """Equal for remedies that send the same."""
    return msgspec.json.encode(remedy.requests) if remedy.requests else remedy.title.encode()


def _route(question: Question, indexes: Sequence[Index]) -> tuple[Ground | None, Registered | None]:
    """The nearest tree that has the route, and its registration."""
    for index in indexes:
        ground = ground_of(index)
        matches = ground.resolve(question.method, question.path).matches
        if matches:
            return ground, matches[0]
    return None, None


def converted(request: Request, report: TokenReport, indexes: Sequence[Index]) -> Remedy | None:
    """A request with its first prompt in the other form, text or ids; without a tree, in the same field.

    None where there is nothing to convert.
    """
    question = ask(Exchange(request=request, response=Response(status=200)))
    if question is None or not isinstance(question.body, dict):
        return None
    ground, registered = _route(question, indexes)
    case = Case(question, Finding("none"), ground, registered)
    for prompt in report.prompts:
        if prompt.outside or prompt.fault or prompt.problem:
            continue
        try:
            proposals = other_form(case, prompt) if ground is not None else in_place(case, prompt)
        except (PointerError, RecursionError):
            continue
        for proposal in proposals:
            return remedy_of(question, proposal)
    return None
