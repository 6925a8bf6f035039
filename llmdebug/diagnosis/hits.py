"""Where a suspected name occurs in the tree, and what it is there: the grep evidence, sorted by role."""

from __future__ import annotations

import re

from llmdebug.diagnosis.finding import Finding, Spot
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.locate import has_pointer
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.verdict import Role
from llmdebug.index.facts import FileFacts
from llmdebug.index.languages import ASIDE
from llmdebug.source.search import Hit

MAX_NAMES = 2
MAX_HITS = 6
MAX_LINES = 400
ORDER: tuple[Role, ...] = ("declares", "raises", "returns", "checks", "reads", "internal", "documents")


def name_hits(ground: Ground, question: Question, finding: Finding) -> list[Spot]:
    """Places of the names that one would grep for: ignored keys first, then the blamed field."""
    found: list[Spot] = []
    for name in _suspected(finding, question)[:MAX_NAMES]:
        lines = ground.index.search.lines_with(name, MAX_LINES, ground.index.cancelled)
        serving = [hit for hit in lines if not ASIDE.search(hit.path)]
        spots = [_spot(ground, name, hit) for hit in serving]
        spots.sort(key=lambda s: (ORDER.index(s.role) if s.role in ORDER else len(ORDER), s.file, s.line))
        found += _varied(spots)
    claimed = {(s.file, s.line) for s in [*finding.spots, *finding.related]}
    return [spot for spot in found if (spot.file, spot.line) not in claimed]


def _suspected(finding: Finding, question: Question) -> list[str]:
    """Names that the request has and that may be taken for the cause."""
    keys = [p.rpartition("/")[2] for p in finding.ignored]
    if finding.kind == "unknown_field":
        keys += [f.pointer.rpartition("/")[2] for f in finding.fields[:1] if has_pointer(question.body, f.pointer)]
    return [k for k in dict.fromkeys(keys) if k.isidentifier() and len(k) > 2 and k not in {"model", "messages"}]


def _varied(spots: list[Spot]) -> list[Spot]:
    """A few of each role rather than many of one."""
    taken: dict[str, int] = {}
    kept: list[Spot] = []
    for spot in spots:
        taken[spot.role] = taken.get(spot.role, 0) + 1
        if taken[spot.role] <= 2 and len(kept) < MAX_HITS:
            kept.append(spot)
    return kept


def _spot(ground: Ground, name: str, hit: Hit) -> Spot:
    facts = ground.index.loaded.get(hit.path)
    role, symbol = _role(facts, name, hit)
    return Spot(hit.path, hit.line, hit.line, symbol, role, 0.05, (f"{name} stands here: {hit.text[:100]}",))


def _role(facts: FileFacts | None, name: str, hit: Hit) -> tuple[Role, str]:
    """What a name is on a line, as far as the line itself and the file's facts tell."""
    word = re.escape(name)
    for known in facts.classes if facts else ():
        for field in known.fields:
            if field.name == name and field.line <= hit.line <= field.end_line:
                return "declares", f"{known.name}.{name}"
    for rejection in facts.rejections if facts else ():
        if rejection.line <= hit.line <= rejection.end_line and rejection.role != "internal":
            return rejection.role, rejection.symbol
    if hit.text.startswith(("#", '"""', "*", "-", "``")):
        return "documents", ""
    if re.search(
        rf"""(?:get|pop|getattr)\([^)]*["']{word}["']|\[["']{word}["']\]|["']{word}["']\s+(?:not )?in\b""", hit.text
    ):
        return "reads", ""
    if re.match(rf"{word}\s*:\s*[\w\[\"'.| ]+(?:=|$)", hit.text):
        return "declares", ""
    return "internal", ""
