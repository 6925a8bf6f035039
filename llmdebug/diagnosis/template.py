"""A message held against the templates of all rejections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from llmdebug.index.build import Index
from llmdebug.index.facts import HOLE, FileFacts, Rejection, Template
from llmdebug.index.languages import ASIDE

EXCEPTION_NAME = re.compile(
    r"(?:e|ex|exc|err|error|exception)\d?(?:$|\.)|.*(?:_e|_exc|_err|_error|message|msg|detail|reason)$"
)
"""Names of what a wrapper puts into its hole: an exception, or its text."""
MIN_LETTERS = 4
MAX_TEXT = 20_000
MAX_MATCHES = 60

_LETTER = re.compile(r"[^\W_]")


class Match(msgspec.Struct, frozen=True):
    """A rejection one of whose templates makes a part of the message, or all of it."""

    path: str
    rejection: Rejection
    template: Template
    start: int
    end: int
    """The part of the text that the template makes."""
    letters: int
    """Letters and digits of the text that the template's literals explain."""
    coverage: float
    """Share of the text's letters, those in holes left out, that the literals explain."""
    captured: tuple[str, ...] = ()
    """What fills each hole."""
    spans: tuple[tuple[int, int], ...] = ()
    """Where in the text each hole stands."""


def letters_in(text: str) -> int:
    return len(_LETTER.findall(text))


def matches(index: Index, text: str, files: Iterable[FileFacts]) -> list[Match]:
    """The rejections whose templates fit the text, most letters first.

    Reads what is loaded; the caller lets the text's words vote for files first.
    """
    text = text[:MAX_TEXT]
    total = letters_in(text)
    found: list[Match] = []
    for facts in files:
        for rejection in facts.rejections:
            best = best_match(facts.path, rejection, text, total)
            if best is not None:
                found.append(best)
    found.sort(key=lambda m: (-m.letters, bool(ASIDE.search(m.path)), m.path, m.rejection.line))
    return found[:MAX_MATCHES]


def best_match(path: str, rejection: Rejection, text: str, total: int) -> Match | None:
    """The best of a rejection's templates for the text."""
    best: Match | None = None
    for template in rejection.templates:
        match = _match(path, rejection, template, text, total)
        if match and (best is None or (match.letters, match.coverage) > (best.letters, best.coverage)):
            best = match
    return best


def _match(path: str, rejection: Rejection, template: Template, text: str, total: int) -> Match | None:
    literals = [part for part in template.parts if part]
    if max(map(len, literals), default=0) < 3 or not all(part in text for part in literals):
        return None
    placed = _place(template.parts, text)
    if placed is None:
        return None
    start, end, spans = placed
    letters = sum(letters_in(part) for part in literals)
    captured = tuple(text[a:b] for a, b in spans)
    outside = total - sum(letters_in(value) for value in captured)
    complete = start == 0 and end == len(text)
    if letters < MIN_LETTERS or (letters < 10 and not complete):
        return None
    return Match(path, rejection, template, start, end, letters, letters / max(outside, 1), captured, spans)


def _place(parts: Sequence[str | None], text: str) -> tuple[int, int, tuple[tuple[int, int], ...]] | None:
    """Start, end and the spans of the holes, with the literals found in order; None where they don't fit."""
    first_literal = next(part for part in parts if part)
    starts = [m.start() for m in re.finditer(re.escape(first_literal), text)][:4]
    for first in starts:
        placed = _place_from(parts, text, first)
        if placed is not None:
            return placed
    return None


def _place_from(
    parts: Sequence[str | None], text: str, first: int
) -> tuple[int, int, tuple[tuple[int, int], ...]] | None:
    position = 0 if parts[0] is None else first
    start = position
    spans: list[tuple[int, int]] = []
    hole_at = -1
    for place, part in enumerate(parts):
        if part is None:
            hole_at = position
            continue
        last = place == len(parts) - 1
        if hole_at < 0:
            if not text.startswith(part, position):
                return None
            at = position
        else:
            at = first if place == 1 and start == 0 and parts[0] is None else text.find(part, position)
            if last and text.endswith(part) and len(text) - len(part) >= position:
                at = len(text) - len(part)
            if at < 0:
                return None
            spans.append((hole_at, at))
            hole_at = -1
        position = at + len(part)
    if hole_at >= 0:
        spans.append((hole_at, len(text)))
        position = len(text)
    return start, position, tuple(spans)


def without_wrappers(found: list[Match], text: str) -> tuple[list[Match], list[Match]]:
    """(what speaks, what only wraps it): a template loses to one that explains what fills its hole."""
    total = letters_in(text)
    speaking: list[Match] = []
    wrapping: list[Match] = []
    for match in found:
        if any(_explains_hole(other, match) for other in found if other is not match):
            wrapping.append(match)
            continue
        shares = [
            _share_within(match, outer, total) for outer in found if outer is not match and _explains_hole(match, outer)
        ]
        speaking.append(msgspec.structs.replace(match, coverage=max(shares)) if shares else match)
    return speaking, wrapping


def _share_within(inner: Match, outer: Match, total: int) -> float:
    """The share of the text that a template and the wrapper around it explain together."""
    others = [
        v
        for v, (a, b) in zip(outer.captured, outer.spans, strict=True)
        if not (a <= inner.start and _ends_in(inner, b))
    ]
    open_letters = sum(map(letters_in, [*inner.captured, *others]))
    return max(inner.coverage, (inner.letters + outer.letters) / max(total - open_letters, 1))


def _ends_in(inner: Match, end: int) -> bool:
    """Whether a match ends before a place; one whose last part is open may be cut there."""
    if inner.template.parts[-1] is not HOLE:
        return inner.end <= end
    return inner.spans[-1][0] < end


def _explains_hole(inner: Match, outer: Match) -> bool:
    """Whether `inner` makes most of what fills a hole of `outer`, and lies in it."""
    names = outer.template.holes
    for place, ((start, end), value) in enumerate(zip(outer.spans, outer.captured, strict=True)):
        wraps = place < len(names) and EXCEPTION_NAME.match(names[place])
        if not wraps and inner.letters < outer.letters:
            continue  # a piece that the outer template is made of, rather than what it wraps
        filled = letters_in(value)
        if filled < 8 or " " not in value.strip() or not (start <= inner.start and _ends_in(inner, end)):
            continue
        made = min(inner.end, end) - inner.start
        if inner.letters >= 6 and made >= 0.7 * (end - start) and inner.start - start <= 3:
            return True
    return False
