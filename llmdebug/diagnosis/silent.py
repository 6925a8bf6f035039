"""Refusals without a word: bare 500s and streams that just end, traced by walking the code on the request."""

from __future__ import annotations

import re

from llmdebug.diagnosis.callsites import keyword_sites
from llmdebug.diagnosis.finding import Finding, Spot, blamed
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.kinds import kind_of_text, says_nothing
from llmdebug.diagnosis.locate import has_pointer, value_at
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.study import Study
from llmdebug.index.python.execute import Outcome
from llmdebug.jsontext import pointer as pointers

LAST_EVENT = re.compile(
    r"\[DONE\]|\"finish_reason\": ?\"\w|message_stop|response\.(?:completed|failed|incomplete)"
    r"|\"done\": ?true|\"stop\": ?true|\"usage\""
)
PYTHON_TEXT = re.compile(
    r"""'\w+'\ object|NoneType|object\ of\ type|object\ is\ not|object\ does\ not\ support|has\ no\ (?:len|attribute)
    |indices\ must\ be|index\ out\ of\ range|not\ subscriptable|not\ iterable|unhashable|is\ not\ defined
    |must\ be\ (?:an?\ )?(?:str|string|bytes|int|integer|real\ number|iterable|sequence)\b
    |expected\ (?:str|string|bytes)\b|argument\ \d|positional\ argument|unexpected\ keyword
    |(?:not\ enough|too\ many)\ values|cannot\ unpack|could\ not\ convert|cannot\ convert|invalid\ literal
    |unsupported\ operand|not\ supported\ between|division\ by\ zero|\bcodec\ can't|[Ii]ncorrect\ padding
    |(?:Expecting|Extra|Unterminated|Invalid)\ [^:]*:\ line\ \d|^'[^']+'$|:\ '[^']+'$""",
    re.VERBOSE,
)
"""How Python and its standard library word their errors."""
UNEXPECTED_KEYWORD = re.compile(r"(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'")
MAX_SPOTS = 3


def is_silent(question: Question, body: str) -> bool:
    """Whether an answer refuses without saying why."""
    answer = question.answer
    if answer.status >= 500:
        return says_nothing(answer.text, answer.status)
    if answer.status >= 300 or answer.refused:
        return False
    streams = question.fields.get("stream") is True or answer.shape == "stream"
    return (streams and LAST_EVENT.search(body) is None) or (answer.shape == "empty" and bool(question.fields))


def from_crash(ground: Ground, registered: Registered | None, question: Question, text: str) -> Finding | None:
    """The finding for Python's own text: the place where a walk through the route's code fails with it."""
    if registered is None or not PYTHON_TEXT.search(text):
        return None
    outcomes = [o for o in Study(ground, registered, question).forward() if o.kind == "crash" and o.text]
    told = [o for o in outcomes if _is_told(o, text)]
    if told:
        return finding_of(ground, question, told[:MAX_SPOTS])
    said = UNEXPECTED_KEYWORD.search(text)
    spots = keyword_sites(ground, question, said[1], said[2], f"calls {said[1]} with {said[2]}") if said else []
    return Finding("other", [], spots[:MAX_SPOTS], confidence=0.6) if 0 < len(spots) <= MAX_SPOTS else None


def _is_told(outcome: Outcome, text: str) -> bool:
    """Whether a text is what a failure says; a key alone must be all that a text ends with."""
    if re.fullmatch(r"'[^']*'", outcome.text):
        return text.strip() == outcome.text or text.rstrip().endswith(f": {outcome.text}")
    return outcome.text in text


def from_code(ground: Ground, registered: Registered | None, question: Question) -> Finding | None:
    """The finding of a walk through the route's code; None where the walk meets nothing."""
    if registered is None:
        return None
    outcomes = [o for o in Study(ground, registered, question).forward() if o.kind != "return"]
    if question.answer.status >= 500:
        outcomes = [o for o in outcomes if not o.error.endswith("HTTPException")]  # frameworks say what these hold
    sure = [o for o in outcomes if o.certain]
    unsure = [o for o in outcomes if not o.certain and _concerns(o, question)]
    ranked = sure[:1] + unsure[:MAX_SPOTS]
    return finding_of(ground, question, ranked) if ranked else None


def finding_of(ground: Ground, question: Question, ranked: list[Outcome]) -> Finding:
    """The finding for what a walk met, best first."""
    first = ranked[0]
    lacking = _lacking(first, question)
    if lacking:
        finding = Finding("missing_field", [blamed(lacking, _reason(first), 0.8)], confidence=_trust(first))
        finding.spots = [_spot(o, 0.8 if o.certain else 0.4) for o in ranked[:MAX_SPOTS]]
        return finding
    text = first.text or _text_of(ground, first)
    kind = kind_of_text(text, 400)
    if kind == "bad_value" and first.error in {"TypeError", "AttributeError"}:
        kind = "wrong_type"
    pointers = sorted((p for p in first.near or first.reads if p), key=lambda p: (-p.count("/"), p))
    fields = [blamed(p, _reason(first), 0.8 if first.certain else 0.5) for p in pointers]
    if first.kind == "crash" and "" in first.near and not pointers:
        fields = [blamed("", _reason(first), 0.8)]
    finding = Finding(kind, fields, confidence=_trust(first))
    finding.spots = [_spot(o, 0.8 if o.certain else 0.4) for o in ranked[:MAX_SPOTS]]
    return finding


def _trust(outcome: Outcome) -> float:
    return 0.7 if outcome.certain else 0.35


def _lacking(outcome: Outcome, question: Question) -> str:
    """The pointer that a failure asks for and the request lacks: a key that is not there, or that was read as None."""
    if outcome.kind != "crash" or not isinstance(question.body, dict):
        return ""
    if outcome.error == "KeyError" and re.fullmatch(r"'[^'/]+'", outcome.text):
        for holder in sorted(outcome.near, key=lambda p: -p.count("/")):
            pointer = holder + pointers.join(outcome.text[1:-1])
            if isinstance(value_at(question.body, holder), dict) and not has_pointer(question.body, pointer):
                return pointer
    if "None" not in outcome.text:
        return ""
    absent = [p for p in outcome.near if p and not has_pointer(question.body, p)]
    null = [p for p in outcome.near if has_pointer(question.body, p) and value_at(question.body, p) is None]
    above = [p for p in absent if has_pointer(question.body, pointers.parent(p))]
    return above[0] if len(above) == 1 and not null else ""


def _concerns(outcome: Outcome, question: Question) -> bool:
    """Whether a doubtful outcome hangs on something that the request sends."""
    return any((p or outcome.kind == "crash") and has_pointer(question.body, p) for p in outcome.near)


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
