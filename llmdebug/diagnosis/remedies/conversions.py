"""Remedies that only a tokenizer can make: text as ids and back, ids without a token left out, exact cuts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.context import ROOM
from llmdebug.diagnosis.remedies.otherroute import other_routes
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.diagnosis.remedies.rename import accepted
from llmdebug.diagnosis.sentence import shortened
from llmdebug.diagnosis.verdict import Kind
from llmdebug.index.python.types import Anything
from llmdebug.jsontext import pointer as pointers
from llmdebug.tokens.prompts import ID_KEYS, TEXT_KEYS
from llmdebug.tokens.report import PromptTokens, TokenReport
from llmdebug.tokens.values import OUTSIDE

CONVERTED: frozenset[Kind] = frozenset({"missing_field", "wrong_type", "unknown_field", "ignored_field", "unsupported"})
"""Kinds where the other form of a prompt may be what is wanted."""
SPARE_TOKENS = 2
"""Left free where a text is cut: its pieces may be joined otherwise than before."""
MAX_CONVERTED = 200_000
"""Ids or characters of a body that is offered."""


def of_tokens(case: Case, report: TokenReport) -> tuple[list[Proposal], list[Proposal]]:
    """Those that go before what else is offered, as they are exact, and those that go after it.

    Raises PointerError where a prompt is not where it was read.
    """
    if not isinstance(case.body, dict):
        return [], []
    first: list[Proposal] = []
    beside: list[Proposal] = []
    if case.finding.kind == "context_length":
        first += _fitting(case, report)
    for prompt in report.prompts:
        if prompt.outside and any(field.pointer.startswith(prompt.prompt.pointer) for field in case.finding.fields):
            first += _without_outside(case, prompt)
        elif not prompt.outside and (case.finding.kind in CONVERTED or prompt.prompt.pointer in case.finding.ignored):
            beside += other_form(case, prompt)
    return first, beside


# what fits into the context


def _fitting(case: Case, report: TokenReport) -> list[Proposal]:
    longest, limit, budget = report.longest, report.limit, report.budget
    if longest is None or longest.count is None or limit is None or (report.over or 0) <= 0:
        return []
    found: list[Proposal] = []
    left = limit - longest.count
    if budget is not None and left > 0 and budget.tokens > left:
        why = f"{longest.prompt.pointer} has {longest.count:,} tokens, the context {limit:,}: {left:,} are left."
        body = case.changed(budget.pointer, left)
        found.append(Proposal(f"set {budget.pointer} to {left}", why, (body,), 0.97, 0.95))
    keep = limit - (min(budget.tokens, limit // 2) if budget and budget.tokens >= 0 else ROOM)
    if longest.prompt.form != "chat" and 0 < keep < longest.count:
        found += _cut(case, longest, keep)
    return found


def _cut(case: Case, prompt: PromptTokens, keep: int) -> list[Proposal]:
    """The last tokens of a prompt, as many as fit."""
    if prompt.reading is None:
        return []
    pointer = prompt.prompt.pointer
    why = f"{pointer} has {prompt.count or 0:,} tokens, {keep:,} of them fit beside what is to be written."
    if prompt.prompt.form == "ids":
        kept: object = list(prompt.prompt.ids[-keep:])
        return [Proposal(f"keep the last {keep:,} ids of {pointer}", why, (case.changed(pointer, kept),), 0.9, 0.7)]
    if not all(prompt.reading.cells.pieces):
        return []
    keep -= SPARE_TOKENS
    text = b"".join(prompt.reading.cells.pieces[-keep:]).decode("utf-8", "ignore") if keep > 0 else ""
    if not text:
        return []
    return [Proposal(f"keep the last {keep:,} tokens of {pointer}", why, (case.changed(pointer, text),), 0.88, 0.7)]


# ids that have no token


def _without_outside(case: Case, prompt: PromptTokens) -> list[Proposal]:
    if prompt.reading is None or prompt.prompt.form != "ids":
        return []
    cells = prompt.reading.cells
    kept = [id_ for id_, mark in zip(cells.ids, cells.marks, strict=True) if mark != OUTSIDE]
    if not kept:
        return []
    count = len(cells) - len(kept)
    told = f"the {count:,} ids that have" if count > 1 else "the id that has"
    body = case.changed(prompt.prompt.pointer, kept)
    why = f'The others stand for "{shortened(prompt.reading.text, 60)}".'
    return [Proposal(f"leave out {told} no token", why, (body,), 0.9, 0.6)]


# the other form of a prompt


def other_form(case: Case, prompt: PromptTokens) -> list[Proposal]:
    """A text as ids or ids as text, where this route or another one takes them. Raises PointerError."""
    if prompt.reading is None or prompt.broken is not None or prompt.prompt.pointer.count("/") != 1:
        return []
    ids, text = prompt.reading.cells.ids, prompt.reading.text
    if max(len(ids), len(text)) > MAX_CONVERTED or not ids:
        return []
    if prompt.prompt.form == "ids":
        shown = f'"{shortened(text, 40)}"'
        return list(_placed(case, prompt, text, TEXT_KEYS, f"send the text of {prompt.prompt.pointer}", shown))
    if prompt.prompt.form == "text":
        shown = f"{len(ids):,} ids"
        return list(_placed(case, prompt, list(ids), ID_KEYS, f"send the ids of {prompt.prompt.pointer}", shown))
    return []


def in_place(case: Case, prompt: PromptTokens) -> list[Proposal]:
    """The other form in the field where the prompt stands, for a route that is not known. Raises PointerError."""
    if prompt.reading is None or prompt.prompt.form == "chat" or not prompt.reading.cells.ids:
        return []
    if prompt.broken is not None:
        return []
    source = prompt.prompt.pointer
    is_text = prompt.prompt.form == "text"
    value: object = list(prompt.reading.cells.ids) if is_text else prompt.reading.text
    title = f"send {source} as {'ids' if is_text else 'text'}"
    return [Proposal(title, _there_and_back(prompt), (case.changed(source, value),))]


def _placed(
    case: Case, prompt: PromptTokens, value: object, keys: tuple[str, ...], title: str, shown: str
) -> Iterator[Proposal]:
    """The converted value in a field of this route, or of another one, that takes it."""
    source = prompt.prompt.pointer
    why = f"They are the same prompt: {shown}. {_there_and_back(prompt)}"
    known = dict(accepted(case, ""))
    for key in keys:
        target = pointers.join(key)
        is_free = target == source or key not in (case.body if isinstance(case.body, dict) else {})
        if key in known and is_free and not isinstance(known[key], Anything) and case.admits(known[key], value):
            body = pointers.set(case.without(source), target, value)
            yield Proposal(f"{title} as {key}", why, (body,), 0.75, 0.9)
            return
    yield from _elsewhere(case, source, value, "text" if isinstance(value, str) else "input_ids", title, why)


def _elsewhere(case: Case, source: str, value: object, name: str, title: str, why: str) -> Iterator[Proposal]:
    """Other routes that take the converted value, found as for a value that was sent so."""
    changed = pointers.set(case.without(source), pointers.join(name), value)
    question = replace(case.question, body=changed)
    for proposal in other_routes(Case(question, case.finding, case.ground, case.registered), [pointers.join(name)])[:1]:
        yield replace(proposal, title=f"{title}: {proposal.title}", why=f"{why} {proposal.why}", odds=0.6)


def _there_and_back(prompt: PromptTokens) -> str:
    difference = prompt.reading.difference if prompt.reading else None
    if difference is None:
        return "Converted back it is what was sent."
    return f"Converted back it differs from {difference.unit} {difference.position} on."
