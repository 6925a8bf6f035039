"""What a server's log adds to an exchange: the trace or the line that tells why it was refused.

A log settles what the answer leaves open: bare 500s, streams that just end, texts that are not in the tree. Where the
answer has a text, only a trace that says the same speaks of it; a tree's own claim is never replaced by another's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from llmdebug.diagnosis.complaint import read_answer
from llmdebug.diagnosis.finding import Finding, Spot, blamed
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.locate import walk
from llmdebug.diagnosis.logplaces import LogPlaces, Placed
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.silent import is_silent
from llmdebug.diagnosis.study import Study
from llmdebug.diagnosis.template import letters_in
from llmdebug.diagnosis.verdict import BlamedField, Role
from llmdebug.formats.logprefix import LogLine
from llmdebug.formats.serverlog import Frame, ServerLog, Trace
from llmdebug.http.exchange import Response

MAX_CALLERS = 5
MAX_CHAINS = 40
"""So many of the last traces are looked at."""
MAX_LINES = 8
"""So many of the last lines that tell of a failure."""
ENOUGH_LETTERS = 8
"""Of a text, to be recognised in another."""
FEW_LETTERS = 3
"""A shorter value is quoted by chance."""
MAX_SHOWN = 200

_FAILURE = re.compile(
    r"error|exception|fail|invalid|refus|reject|abort|unsupported|not (?:supported|found|allowed)", re.I
)
_QUOTED = re.compile(r"'([^'\n]{1,200})'|\"([^\"\n]{1,200})\"")
_ACCESS = re.compile(r'HTTP/\d(?:\.\d)?"? \d{3}|^(?:GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS) /')
_OF_VALUES = re.compile(r"Value|Key|Index|Lookup|Request|Valid|HTTP|Assert|Decode")
"""Names of exceptions that values of a request raise; others, as RuntimeError and panic, speak of the server."""
_WRONG_TYPE = frozenset({"TypeError", "AttributeError"})

Refusal = Callable[[Question], Finding | None]
"""What the tree tells of a question that says something else."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a log tells of an exchange."""

    finding: Finding
    question: Question
    """With the log's text in place of the answer's."""


@dataclass(frozen=True, slots=True)
class _Story:
    """One trace of a log, held against the tree."""

    trace: Trace
    placed: tuple[Placed, ...]
    says_so: bool
    on_route: bool
    elsewhere: bool = False
    """Whether it went through the handler of another route, and not through this one's."""
    agrees: int = 0
    """1 where it ends in a file that a claim lies in already, 2 at the very place."""

    @property
    def rank(self) -> tuple[bool, bool, int, bool]:
        return self.says_so, self.on_route, self.agrees, bool(self.placed)


def from_log(
    ground: Ground | None,
    registered: Registered | None,
    question: Question,
    known: Finding | None,
    log: ServerLog,
    refusal: Refusal,
) -> Told | None:
    """What the log tells; None where it tells nothing of this exchange, or nothing that is not known.

    `known` is what is found without the log.
    """
    silent = is_silent(question, question.answer_body)
    if not question.answer.refused and not silent:
        return None
    places = LogPlaces(ground.index) if ground is not None else None
    claimed = known.spots if known is not None else []
    told = [_story(chain, places, ground, registered, question, claimed) for chain in log.chains[-MAX_CHAINS:]]
    stories = [story for story in told if story.says_so or not story.elsewhere]
    story = max(reversed(stories), key=lambda each: each.rank, default=None)
    has_claim = known is not None and bool(known.spots) and not silent
    if story is not None and (story.says_so or (not has_claim and (silent or story.on_route or len(stories) == 1))):
        return _of_trace(story, ground, registered, question, refusal)
    return None if has_claim else _of_lines(log.lines, places, question, refusal)


def of_no_use(log: ServerLog) -> str:
    """What is in a log of which nothing was of use, as a note."""
    lead = "the server's log settles nothing"
    if log.chains:
        count = len(log.chains)
        which = "its one traceback is not" if count == 1 else f"none of its {count:,} tracebacks is"
        return f"{lead}: {which} of this refusal"
    if not log.lines:
        return f"{lead}: there is no line in it"
    return f"{lead}: it holds no traceback, and no line of it is one of this refusal"


def _story(
    chain: tuple[Trace, ...],
    places: LogPlaces | None,
    ground: Ground | None,
    registered: Registered | None,
    question: Question,
    claimed: list[Spot],
) -> _Story:
    said = [trace for trace in chain if _says(trace, question.answer.text)]
    trace = said[0] if said else _decisive(chain)
    placed = _placed(trace, places)
    for other in reversed(chain):
        if placed or not other.frames:
            break
        placed = _placed(other, places)
    through = {(place.file, place.symbol) for place in placed}
    on_route = registered is not None and (registered.file, registered.route.handler) in through
    handlers = {(each.file, each.route.handler) for each in ground.routes.known} if ground is not None else set()
    end = placed[-1] if placed else None
    agrees = max((1 + (s.line <= end.line <= s.end_line) for s in claimed if end and s.file == end.file), default=0)
    return _Story(trace, placed, bool(said), on_route, not on_route and bool(through & handlers), agrees)


def _says(trace: Trace, text: str) -> bool:
    """Whether a trace and an answer tell the same."""
    for short, long in ((trace.text, text), (text, trace.text)):
        if letters_in(short) >= ENOUGH_LETTERS and " ".join(short.split()) in " ".join(long.split()):
            return True
    return False


def _decisive(chain: tuple[Trace, ...]) -> Trace:
    """The exception that went out, or what it was raised from: a wrapper tells less than what it wraps."""
    at = len(chain) - 1
    while at > 0 and chain[at].link == "cause":
        at -= 1
    return chain[at]


def _placed(trace: Trace, places: LogPlaces | None) -> tuple[Placed, ...]:
    found = [places.placed(frame) for frame in trace.frames] if places is not None else []
    return tuple(place for place in found if place is not None)


def _said(question: Question, text: str) -> Question:
    """The question with another text in its answer."""
    status = question.answer.status if question.answer.status >= 400 else 500
    answer = read_answer(Response(status=status, body=text.encode("utf-8", "replace")))
    return replace(question, answer=answer, answer_body=text)


def _of_trace(
    story: _Story, ground: Ground | None, registered: Registered | None, question: Question, refusal: Refusal
) -> Told:
    trace = story.trace
    said = _said(question, trace.text or trace.error or "the process ended")
    found = refusal(said) or Finding("other")
    if found.kind in {"bad_value", "other"} and trace.error in _WRONG_TYPE:
        found.kind = "wrong_type"
    elif found.kind == "bad_value" and not found.spots and not _OF_VALUES.search(trace.error):
        found.kind = "other"
    if not story.placed or ground is None:
        last = trace.frames[-1]
        found.notes.append(
            f"the server's log: {_shown(trace)}, at {last.path}:{last.line}; no call of that trace is in "
            "the linked tree" + ("" if ground is not None else ", as none is linked")
        )
        return Told(found, said)
    site = story.placed[-1]
    spot = _spot(ground, site, f"by the server's log, {_shown(trace)} was raised here", 0.97)
    declared = [s for s in found.spots if s.role == "declares"]
    others = [s for s in found.spots if s not in declared and (s.file, s.line) != (spot.file, spot.line)]
    found.spots = [*declared[:1], spot]
    found.related = [*_callers(ground, story.placed[:-1]), *others, *found.related]
    found.confidence = 0.97
    if not found.fields:
        found.fields = _read_there(ground, registered, question, spot) or _quoted_in(trace.text, question)
    moved = next((place for place in story.placed if not place.is_exact), None)
    if moved is not None:
        found.notes.append(
            f"line {moved.frame.line} of the log stands at {moved.file}:{moved.line} here: "
            "the linked tree is of another version than what runs"
        )
    return Told(found, said)


def _shown(trace: Trace) -> str:
    text = " ".join(trace.text.split())
    text = text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
    return f"{trace.error}: {text}" if trace.error and text else trace.error or text or "an exception"


def _spot(ground: Ground, place: Placed, why: str, score: float) -> Spot:
    """The place of a frame; the whole statement where it is one that refuses."""
    facts = ground.index.facts(place.file) if place.file.endswith(".py") else None
    for rejection in facts.rejections if facts else ():
        if rejection.line <= place.line <= rejection.end_line and rejection.role != "internal":
            role: Role = rejection.role
            return Spot(place.file, rejection.line, rejection.end_line, rejection.symbol, role, score, (why,))
    lines = ground.index.lines(place.file)[place.line - 1 : place.line]
    code = lines[0].strip() if lines else b""
    role = "raises" if code.startswith((b"raise", b"throw", b"panic")) else "checks"
    return Spot(place.file, place.line, place.line, place.symbol or place.frame.function, role, score, (why,))


def _callers(ground: Ground, placed: tuple[Placed, ...]) -> list[Spot]:
    nearest = placed[::-1][:MAX_CALLERS]
    return [_spot(ground, place, "called what failed, by the server's log", 0.1) for place in nearest]


def _read_there(ground: Ground, registered: Registered | None, question: Question, spot: Spot) -> list[BlamedField]:
    """The fields that the failing statement reads, by a walk through its function."""
    if registered is None or not spot.symbol:
        return []
    outcomes, _ = Study(ground, registered, question).local(spot.file, spot.symbol, spot.line)
    near = {p for o in outcomes if o.path == spot.file and spot.line <= o.line <= spot.end_line for p in o.near if p}
    return [blamed(p, f"{spot.symbol} fails on it", 0.6) for p in sorted(near, key=lambda p: (-p.count("/"), p))]


def _quoted_in(text: str, question: Question) -> list[BlamedField]:
    """The fields whose value the exception quotes."""
    quoted = {m[1] or m[2] for m in _QUOTED.finditer(text[:MAX_SHOWN])}
    found = [
        pointer
        for pointer, value in walk(question.body)
        if isinstance(value, str) and len(value) >= FEW_LETTERS and value in quoted
    ]
    return [blamed(pointer, f"the exception quotes its value: {text[:MAX_SHOWN]}", 0.6) for pointer in found[:3]]


def _of_lines(
    lines: tuple[LogLine, ...], places: LogPlaces | None, question: Question, refusal: Refusal
) -> Told | None:
    """The last line that tells of a failure and that the tree makes."""
    telling = [line for line in lines if _tells(line)][-MAX_LINES:]
    for line in reversed(telling):
        said = _said(question, line.text.strip())
        found = refusal(said)
        if found is None or not found.spots:
            continue
        found.spots = [replace(s, why=(*s.why, "the server's log has this line")) for s in found.spots]
        logged = places.placed(Frame(line.path, line.line)) if places is not None and line.path else None
        if logged is not None:
            why = "the log line names this as its place"
            found.related = [Spot(logged.file, logged.line, logged.line, "", "internal", 0.1, (why,)), *found.related]
        return Told(found, said)
    return None


def _tells(line: LogLine) -> bool:
    if _ACCESS.search(line.text) or letters_in(line.text) < ENOUGH_LETTERS:
        return False
    return line.level in {"ERROR", "CRITICAL", "FATAL"} or bool(_FAILURE.search(line.text))
