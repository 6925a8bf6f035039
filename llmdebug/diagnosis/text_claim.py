"""Refusals in plain words: from the message to the statement that made it, twins told apart."""

from __future__ import annotations

import re
from dataclasses import replace

from llmdebug.diagnosis import blame, prompts
from llmdebug.diagnosis.blame import Evidence
from llmdebug.diagnosis.branches import read_before
from llmdebug.diagnosis.candidates import ALIKE, Candidate, judged
from llmdebug.diagnosis.cppcode import aliased
from llmdebug.diagnosis.finding import Finding, Spot, blamed
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.kinds import kind_of_text
from llmdebug.diagnosis.locate import Located, has_pointer, value_at
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.speakers import spoken
from llmdebug.diagnosis.template import EXCEPTION_NAME, Match, letters_in, matches, without_wrappers
from llmdebug.diagnosis.verdict import BlamedField, Kind
from llmdebug.index.facts import HOLE
from llmdebug.index.languages import ASIDE, RUST, language_of
from llmdebug.index.rust.conditions import Surroundings

ALIKE_WHOLE = 0.6
ENOUGH_COVERAGE = 0.7
"""Below this share of the message explained, a match is crumbs. Of 263 places that refusals of other servers would
be given without any threshold, 100 are left from 0.3 on, 38 from 0.5, 33 from 0.65 to 1; of 139 right places of a
tree's own refusals none is missed up to 0.8 (tests/benchmarks/foreign.py --curve)."""
ENOUGH_LETTERS = 11
"""So many letters a template must explain, unless it is the whole message without a hole. Of those 33 wrong places
11 are left from 8 letters on, 8 from 11 to 14, 3 from 19; none of the right ones is missed up to 12, 6 are from 14 on,
15 from 19."""
ENOUGH_ALONE = 19
"""So many where nothing but the text speaks for the site: no reach, model, status, param or quoted field."""
WHOLE_BODY = re.compile(r"\b(?:body|payload) (?:must|should|has to) be an? (?:json )?(?:array|list|object)\b", re.I)
EMPTY: tuple[object, ...] = ("", [], {}, 0)
MAX_STUDIED = 10
MAX_RELATED = 6

LIBRARY_PREFIX = re.compile(
    r"^(?:[45]\d\d: )?(?:\[[a-z_]+=[^\[\]]{1,200}\] )?(?:(?:Value error|Assertion failed|Type error), "
    r"|<class '[\w.]+'>(?: ->|:| -)? |(?:[\w.]*(?:Error|Exception)\b(?::| -) ?)+(?:Error code: \d+ - )?)?"
)
"""What is put before a message: by pydantic, by who prints an exception with its class or status, by who tells
the process that it came from (`[address=…, pid=…]`)."""
NAMED_RULE = re.compile(r"[\w.\[\]]{1,300}: Validation error: ([^\n]{1,400}?) \[\{.*", re.DOTALL)
"""A rule whose name is its text, as Rust's `validator` prints one that code of the server's own checks."""
ADDED_SUFFIX = re.compile(r"\s*\((?:parameter|param)=[^()]*(?:\([^()]*\)[^()]*)*\)\s*$")


def bare(message: str) -> str:
    """A message without what libraries and wrappers put around it."""
    rule = NAMED_RULE.fullmatch(message.strip())
    return ADDED_SUFFIX.sub("", LIBRARY_PREFIX.sub("", rule[1] if rule else message)).strip()


def from_text(
    ground: Ground, registered: Registered | None, question: Question, message: str, item: Located | None = None
) -> Finding | None:
    """The finding for a message; None where the tree has no text that explains enough of it.

    The message is looked for without what is put around it; then as it stands, as a server may put that there itself;
    then its first line, to which others may have added theirs.
    """
    text = bare(message)
    for place, part in enumerate(dict.fromkeys([text, message.strip(), text.partition("\n")[0].strip()])):
        found = _claim(ground, registered, question, part, item, strict=place > 0)
        if found is not None:
            return found
    return None


def _claim(
    ground: Ground,
    registered: Registered | None,
    question: Question,
    text: str,
    item: Located | None,
    strict: bool = False,
) -> Finding | None:
    """`strict`: nothing may speak against the site."""
    if not text:
        return None
    index = ground.index
    index.load(index.vote(text))
    found, declaring = spoken(index, matches(index, text, index.loaded.values()), registered.file if registered else "")
    if not found:
        return None
    speaking, wrapping = without_wrappers(found, text)
    serving = [m for m in speaking if not ASIDE.search(m.path)] or speaking
    best = max(serving, key=lambda m: (round(m.coverage, 2) >= ENOUGH_COVERAGE, m.letters))
    if not _is_enough(best, text):
        return None
    alike = [m for m in serving if m.letters >= _share(m, text) * best.letters and m.coverage >= 0.75 * best.coverage]
    around = Surroundings(index)
    candidates = judged(ground, registered, question, alike[:MAX_STUDIED], best, around)
    first = candidates[0]
    if language_of(first.match.path) is RUST:
        first.near = read_before(around, ground, registered, question, first.match.path, first.match.rejection.line)
    if registered is not None and not first.is_backed and not _stands_alone(first.match):
        return None
    if strict and first.refuted:
        return None
    return _finding(ground, registered, question, text, item, candidates, [*declaring, *wrapping, *serving])


def _is_enough(match: Match, text: str) -> bool:
    whole = HOLE not in match.template.parts and match.letters == letters_in(text)
    return match.coverage >= ENOUGH_COVERAGE and (match.letters >= ENOUGH_LETTERS or whole)


def _share(match: Match, text: str) -> float:
    """The share of the best match's letters that makes a twin; less for one that makes the text from end to end."""
    return ALIKE_WHOLE if match.start == 0 and match.end == len(text) else ALIKE


def _stands_alone(match: Match) -> bool:
    """Whether a text alone may claim a site: a long one, or a wrapper's own beginning before what it caught."""
    if match.letters >= ENOUGH_ALONE:
        return True
    parts, holes = match.template.parts, match.template.holes
    wraps = len(parts) == 2 and parts[0] is not None and bool(EXCEPTION_NAME.match(holes[0])) if holes else False
    return wraps and match.start == 0 and match.rejection.role == "raises"


def _place_in(text: str, pointer: str) -> tuple[int, str]:
    """Where a text names a field, for the order of fields; at its end where it does not."""
    place = text.find(pointer.rpartition("/")[2])
    return (place if place >= 0 else len(text), pointer)


def declared_names(ground: Ground, registered: Registered | None) -> frozenset[str]:
    """The names of fields that a route declares or reads."""
    if registered is None:
        return frozenset()
    inputs = ground.inputs(registered)
    model = getattr(inputs.body, "model", None)
    return frozenset([*(model.fields if model else ()), *(r.key for r in inputs.reads), *inputs.embedded])


def settle(evidence: Evidence, question: Question, item: Located | None = None) -> tuple[Kind, list[BlamedField]]:
    """The kind, and the fields to blame, once the site and its guard are known."""
    body, kind = question.body, evidence.kind
    if kind == "auth":
        return kind, []
    if kind == "bad_value" and _is_lacking(evidence, body):
        kind = "missing_field"
        evidence = replace(evidence, kind=kind)
    fields = blame.from_text(evidence, body)
    if kind == "malformed_json" and body is not None and not isinstance(body, dict):
        return "wrong_type", [blamed("", "the body is JSON, but no object", 0.6)]
    if kind == "missing_field" and fields and value_at(body, fields[0].pointer) in EMPTY:
        kind = "bad_value" if has_pointer(body, fields[0].pointer) else kind
    if item is not None and item.pointer:
        pointed = blamed(item.pointer, "the complaint points here", 0.9, item.place)
        fields = [pointed, *(f for f in fields if f.pointer != item.pointer)]
        if item.place != "body":
            return kind, fields
    if kind == "out_of_range" and fields and prompts.unsent_budget(evidence.text, fields[0].pointer, body):
        kind = "context_length"
    prompt = prompts.of_prompt(body) if kind == "context_length" else None
    if prompt:
        return kind, [
            blamed(prompt, "the longest text of the request", 0.7),
            *(f for f in fields if f.pointer != prompt),
        ]
    media = prompts.of_media(body) if kind == "unsupported" and prompts.MEDIA.search(evidence.text) else None
    if media:
        return kind, [blamed(media, "a part that is no text", 0.8), *fields]
    if fields:
        first = fields[0]
        fields[0] = blamed(blame.narrowed(first.pointer, evidence, body), first.reason, first.confidence, first.place)
        if kind == "missing_field" and has_pointer(body, first.pointer) and first.confidence >= 0.7:
            kind = "bad_value" if value_at(body, first.pointer) in EMPTY else "wrong_type"
    elif kind == "bad_value" and question.answer.status == 404:
        kind = "other"
    elif kind == "wrong_type" and (isinstance(body, list | str | int | float) or WHOLE_BODY.search(evidence.text)):
        fields = [blamed("", "the body as a whole is of another type", 0.6)]
    return kind, fields


def _is_lacking(evidence: Evidence, body: object) -> bool:
    """Whether of the fields that the check before the refusal looks for, the text names only such as are not given."""
    said = {name for name, _ in blame.names_in(evidence.text)}
    named = [pointer for pointer in evidence.near if pointer.rpartition("/")[2] in said]
    held = [pointer for pointer in named if has_pointer(body, pointer.rpartition("/")[0])]
    return bool(held) and not any(has_pointer(body, pointer) for pointer in named)


def _finding(
    ground: Ground,
    registered: Registered | None,
    question: Question,
    text: str,
    item: Located | None,
    candidates: list[Candidate],
    others: list[Match],
) -> Finding:
    first = candidates[0]
    kind = kind_of_text(text, question.answer.status)
    evidence = Evidence(
        text,
        kind,
        question.answer.param or first.match.rejection.param,
        declared_names(ground, registered),
        tuple(sorted((p for p in first.near if p), key=lambda p: _place_in(text, p)))
        or aliased(ground, text, question.fields),
        first.match.captured,
    )
    kind, fields = settle(evidence, question, item)
    finding = Finding(kind, fields)
    shown = candidates[:3]
    for rank, candidate in enumerate(shown):
        if rank > 0 and (candidate.refuted or candidate.score < first.score - 4):
            finding.related.append(_spot(candidate, 0.2))
            continue
        finding.spots.append(_spot(candidate, max(0.1, min(0.98, candidate.match.coverage)) - 0.25 * rank))
    taken = {(s.file, s.line) for s in [*finding.spots, *finding.related]}
    for match in others:
        if len(finding.related) >= MAX_RELATED:
            break
        if (match.path, match.rejection.line) not in taken:
            finding.related.append(_spot(Candidate(match, 0, ["wraps or resembles the message"]), 0.1))
            taken.add((match.path, match.rejection.line))
    finding.confidence = min(0.95, first.match.coverage)
    return finding


def _spot(candidate: Candidate, score: float) -> Spot:
    rejection = candidate.match.rejection
    return Spot(
        candidate.match.path,
        rejection.line,
        rejection.end_line,
        rejection.symbol,
        rejection.role,
        round(max(score, 0.05), 2),
        tuple(candidate.why),
    )
