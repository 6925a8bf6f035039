"""Rejections that may have said a text, weighed: what speaks for each of them and what against."""

from __future__ import annotations

import re
from dataclasses import dataclass

from llmdebug.diagnosis import quoted
from llmdebug.diagnosis.branches import is_of_branch
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.reach import Reach
from llmdebug.diagnosis.route import Registered, nearness
from llmdebug.diagnosis.study import Study
from llmdebug.diagnosis.surroundings import word_before, words_of
from llmdebug.diagnosis.template import Match
from llmdebug.index.facts import Class, Function
from llmdebug.index.languages import ASIDE, CPP, PYTHON, RUST, language_of
from llmdebug.index.python.constants import literal
from llmdebug.index.python.guards import guards_of, holds
from llmdebug.index.python.names import define
from llmdebug.index.rust.conditions import Surroundings

ALIKE = 0.8
"""Share of the best match's letters that a twin must explain too."""
GATE_STATUSES = frozenset({400, 401, 403, 404, 413, 415, 421, 429, 503})


@dataclass(slots=True)
class Candidate:
    """A rejection that may have spoken, with what speaks for and against it."""

    match: Match
    score: float
    why: list[str]
    near: tuple[str, ...] = ()
    """Pointers that the guard before it read."""
    refuted: bool = False
    is_backed: bool = False
    """Whether something besides the text speaks for it."""

    def back(self, points: float, why: str) -> None:
        """Evidence for the candidate."""
        self.score += points
        self.why.append(why)
        self.is_backed = True

    def doubt(self, points: float, why: str) -> None:
        """Evidence against the candidate."""
        self.score -= points
        self.why.append(why)


def judged(
    ground: Ground,
    registered: Registered | None,
    question: Question,
    alike: list[Match],
    best: Match,
    around: Surroundings,
) -> list[Candidate]:
    """The candidates among some matches, best first."""
    study = Study(ground, registered, question)
    reach = ground.reach(registered) if registered else None
    gates = ground.gate_reach() if question.answer.status in GATE_STATUSES else None
    candidates = []
    for match in alike:
        candidate = Candidate(match, 2.0 * match.letters / best.letters + match.coverage, [])
        candidate.why.append(f"makes {match.letters} letters of the message")
        if match.letters < ALIKE * best.letters:
            candidate.doubt(1.5, "another text fits more closely")
        _by_reach(candidate, reach)
        if gates and gates.of(match.path, match.rejection.symbol) is not None:
            candidate.back(3.0, "a middleware runs it before each route")
        _by_model(candidate, ground, registered)
        _by_parameters(candidate, ground, registered)
        _by_holes(candidate, question)
        _by_status(candidate, ground, question)
        _by_role(candidate, _is_async(ground, match))
        if registered is not None and match.path.endswith((*PYTHON.suffixes, *CPP.suffixes)):
            _by_guard(candidate, study)
        elif len(alike) > 1:
            _by_words_around(candidate, ground, words_of(question.body))
            _by_branch(candidate, around, ground, registered, question)
        if registered is not None:
            candidate.score += 0.6 * nearness(registered.file, match.path)
        candidates.append(candidate)
    return sorted(candidates, key=lambda c: (-c.score, c.match.path, c.match.rejection.line))


def _by_reach(candidate: Candidate, reach: Reach | None) -> None:
    key = (candidate.match.path, candidate.match.rejection.symbol)
    depth = reach.of(*key) if reach else None
    if reach is None or depth is None:
        return
    points = max(3.0 - 0.08 * depth - 1.5 * reach.guesses.get(key, 0), 1.0)
    candidate.back(points, f"the route reaches it over {depth} call{'s' if depth != 1 else ''}")


def _by_model(candidate: Candidate, ground: Ground, registered: Registered | None) -> None:
    if registered is None:
        return
    owner = candidate.match.rejection.symbol.rpartition(".")[0]
    models = ground.models(registered)
    if (candidate.match.path, owner) in models:
        candidate.back(2.0, f"{owner} is a model of this route")
        return
    if not owner:
        return
    facts = ground.index.facts(candidate.match.path)
    known = next((c for c in facts.classes if c.name == owner), None) if facts else None
    if known is not None and known.validators and models:
        candidate.doubt(1.5, f"{owner} is a model of another route")


def _by_parameters(candidate: Candidate, ground: Ground, registered: Registered | None) -> None:
    """A function that takes the route's model speaks for the route, one that takes another's against it."""
    if registered is None:
        return
    function = ground.index.local(candidate.match.path).get(candidate.match.rejection.symbol)
    models = {name for _, name in ground.models(registered)}
    if not isinstance(function, Function) or not models:
        return
    for parameter in function.parameters:
        named = set(re.findall(r"[A-Z]\w+", parameter.annotation))
        if named & models:
            candidate.back(2.0, f"takes the route's {sorted(named & models)[0]}")
            return
        if any(_is_model(ground, candidate.match.path, name) for name in named):
            candidate.doubt(2.0, f"takes {sorted(named)[0]}, which is no model of this route")
            return


def _is_model(ground: Ground, path: str, name: str) -> bool:
    found = define(ground.index, path, name)
    if found is None or not isinstance(found.item, Class):
        return False
    return ground.types.model(found.path, found.item).kind in {"pydantic", "msgspec"} and name.endswith(
        ("Request", "Req", "Input", "Params")
    )


def _by_holes(candidate: Candidate, question: Question) -> None:
    """A hole that is named like a field of the request and filled with its value."""
    match = candidate.match
    for name, value in zip(match.template.holes, match.captured, strict=False):
        key = name.rpartition(".")[2]
        if "." in name and key in question.fields and quoted.prints_as(question.fields[key], value.strip("'\"")):
            candidate.back(0.6, f"prints the request's {key}")
            return


def _by_status(candidate: Candidate, ground: Ground, question: Question) -> None:
    rejection = candidate.match.rejection
    if rejection.status is not None:
        if rejection.status == question.answer.status:
            candidate.back(1.0, f"answers with {rejection.status}")
        else:
            candidate.doubt(1.0, f"answers with {rejection.status}, not {question.answer.status}")
    elif rejection.role in {"raises", "returns"} and rejection.raised:
        known = ground.statuses(rejection.raised)
        if question.answer.status in known:
            candidate.back(0.5, f"{rejection.raised} is answered with {question.answer.status}")
        elif known and question.answer.status >= 400:
            candidate.doubt(0.5, f"{rejection.raised} is answered with {', '.join(map(str, sorted(known)))}")
    if rejection.param and question.answer.param:
        if rejection.param == question.answer.param:
            candidate.back(1.0, f"blames {rejection.param}")
        else:
            candidate.doubt(1.5, f"blames {rejection.param}, not {question.answer.param}")


def _by_role(candidate: Candidate, is_async: bool) -> None:
    rejection = candidate.match.rejection
    if is_async:
        candidate.score += 0.5
    candidate.score += {"raises": 0.6, "returns": 0.4, "checks": 0.0, "internal": -2.0}[rejection.role]
    if ASIDE.search(candidate.match.path):
        candidate.score -= 4.0


def _is_async(ground: Ground, match: Match) -> bool:
    facts = ground.index.facts(match.path)
    return any(f.is_async for f in facts.functions if f.name == match.rejection.symbol) if facts else False


def _by_guard(candidate: Candidate, study: Study) -> None:
    """Hold the guard before a rejection against the request."""
    rejection = candidate.match.rejection
    if _contradicted(candidate, study):
        candidate.refuted = True
        candidate.doubt(3.0, "its condition does not hold for the values in the message")
        return
    if rejection.role not in {"raises", "returns"} or not rejection.symbol:
        return
    outcomes, ended = study.local(candidate.match.path, rejection.symbol, rejection.line)
    here = [o for o in outcomes if o.path == candidate.match.path and o.line == rejection.line]
    if here:
        candidate.near = tuple(sorted(here[0].near))
        if here[0].certain and here[0].reads - {""}:
            candidate.back(2.5, "its condition holds for this request")
    elif ended and outcomes is not None:
        candidate.refuted = True
        candidate.doubt(3.0, "its condition does not hold for this request")


def _by_words_around(candidate: Candidate, ground: Ground, spoken_words: frozenset[str]) -> None:
    """Of twins in a language whose tests are not evaluated: the one whose surroundings the request speaks."""
    word = word_before(ground.index, candidate.match.path, candidate.match.rejection)
    if word and word in spoken_words:
        candidate.back(0.8, f"stands behind {word!r}, which the request says")
    elif word:
        candidate.doubt(0.5, f"stands behind {word!r}, which the request does not say")


def _by_branch(
    candidate: Candidate, around: Surroundings, ground: Ground, registered: Registered | None, question: Question
) -> None:
    """Whether the branch that a rejection stands in is for what was sent."""
    match = candidate.match
    if registered is None or language_of(match.path) is not RUST:
        return
    taken = is_of_branch(around, ground, registered, question, match.path, match.rejection.line)
    if taken:
        candidate.back(1.5, "its branch is for such values")
    elif taken is not None:
        candidate.doubt(1.5, "its branch is for other values")


def _contradicted(candidate: Candidate, study: Study) -> bool:
    """Whether the values that fill the message's holes say that its guard was not met."""
    match = candidate.match
    given: dict[str, object] = {}
    for name, value in zip(match.template.holes, match.captured, strict=False):
        if name:
            try:
                given[name] = literal(value)
            except LookupError:
                given[name] = value
    if not given:
        return False
    node = study.ground.index.named_node(match.path, match.rejection.symbol)
    return node is not None and holds(guards_of(node, match.rejection.line), given) is False
