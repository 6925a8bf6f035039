"""Refusals without a word: bare 500s and streams that just end, traced by walking the code on the request."""

from __future__ import annotations

import re

from llmdebug.diagnosis.callsites import keyword_sites
from llmdebug.diagnosis.finding import Finding, Spot, blamed
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.kinds import kind_of_text
from llmdebug.diagnosis.locate import has_pointer
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.study import Study
from llmdebug.index.python.execute import Outcome

SAYS_NOTHING = re.compile(
    r"^(?:internal server error|server error|an? (?:internal |unexpected )?error (?:has )?occurred|500)?\W*$", re.I
)
LAST_EVENT = re.compile(
    r"\[DONE\]|\"finish_reason\": ?\"\w|message_stop|response\.(?:completed|failed|incomplete)"
    r"|\"done\": ?true|\"stop\": ?true|\"usage\""
)
PYTHON_TEXT = re.compile(
    r"invalid literal for int|could not convert string|object has no attribute|indices must be|not subscriptable"
    r"|is not iterable|has no len|not supported between instances|unsupported operand|unexpected keyword argument"
    r"|object does not support|list index out of range|unhashable type|^'\w+'$|not enough values|too many values"
)
UNEXPECTED_KEYWORD = re.compile(r"(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'")
MAX_SPOTS = 3


def is_silent(question: Question, body: str) -> bool:
    """Whether an answer refuses without saying why."""
    answer = question.answer
    if answer.status >= 500:
        return SAYS_NOTHING.match(answer.text.strip()) is not None
    if answer.status >= 300 or answer.refused:
        return False
    streams = question.fields.get("stream") is True or answer.shape == "stream"
    return (streams and LAST_EVENT.search(body) is None) or (answer.shape == "empty" and bool(question.fields))


def from_crash(ground: Ground, registered: Registered | None, question: Question, text: str) -> Finding | None:
    """The finding for Python's own text: the place where a walk through the route's code fails with it."""
    if registered is None or not PYTHON_TEXT.search(text):
        return None
    outcomes = [o for o in Study(ground, registered, question).forward() if o.kind == "crash" and o.text]
    told = [o for o in outcomes if o.text in text]
    if told:
        return _finding(ground, told[:MAX_SPOTS])
    said = UNEXPECTED_KEYWORD.search(text)
    spots = keyword_sites(ground, question, said[1], said[2], f"calls {said[1]} with {said[2]}") if said else []
    return Finding("other", [], spots[:MAX_SPOTS], confidence=0.6) if 0 < len(spots) <= MAX_SPOTS else None


def from_code(ground: Ground, registered: Registered | None, question: Question) -> Finding | None:
    """The finding of a walk through the route's code; None where the walk meets nothing."""
    if registered is None:
        return None
    outcomes = [o for o in Study(ground, registered, question).forward() if o.kind != "return"]
    sure = [o for o in outcomes if o.certain]
    unsure = [o for o in outcomes if not o.certain and _concerns(o, question)]
    ranked = sure[:1] + unsure[:MAX_SPOTS]
    return _finding(ground, ranked) if ranked else None


def _finding(ground: Ground, ranked: list[Outcome]) -> Finding:
    first = ranked[0]
    text = first.text or _text_of(ground, first)
    kind = kind_of_text(text, 400)
    if kind == "bad_value" and first.error in {"TypeError", "AttributeError"}:
        kind = "wrong_type"
    pointers = sorted((p for p in first.near or first.reads if p), key=lambda p: (-p.count("/"), p))
    fields = [blamed(p, _reason(first), 0.8 if first.certain else 0.5) for p in pointers]
    if first.kind == "crash" and "" in first.near and not pointers:
        fields = [blamed("", _reason(first), 0.8)]
    finding = Finding(kind, fields, confidence=0.7 if first.certain else 0.35)
    finding.spots = [_spot(o, 0.8 if o.certain else 0.4) for o in ranked[:MAX_SPOTS]]
    return finding


def _concerns(outcome: Outcome, question: Question) -> bool:
    """Whether a doubtful outcome hangs on something that the request sends."""
    return any(p and has_pointer(question.body, p) for p in outcome.near)


def _text_of(ground: Ground, outcome: Outcome) -> str:
    facts = ground.index.facts(outcome.path)
    for rejection in facts.rejections if facts else ():
        if rejection.line == outcome.line and rejection.templates:
            return " ".join(part or "" for part in rejection.templates[0].parts)
    return ""


def _reason(outcome: Outcome) -> str:
    if outcome.kind == "crash":
        return f"{outcome.symbol} fails on it: {outcome.error}: {outcome.text}"
    return f"{outcome.symbol} raises {outcome.error or 'an error'} for it"


def _spot(outcome: Outcome, score: float) -> Spot:
    why = outcome.text or f"raises {outcome.error}"
    doubt = "the request surely leads here" if outcome.certain else "the request may lead here"
    role = "raises" if outcome.kind == "raise" else "checks"
    return Spot(outcome.path, outcome.line, outcome.end_line, outcome.symbol, role, score, (why, doubt))  # type: ignore[arg-type]
