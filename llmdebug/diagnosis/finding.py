"""What one way of looking at a refusal found."""

from __future__ import annotations

from dataclasses import dataclass, field

from llmdebug.diagnosis.verdict import BlamedField, Kind, Place, Role


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a tree, before its excerpt is read."""

    file: str
    line: int
    end_line: int
    symbol: str
    role: Role
    score: float
    why: tuple[str, ...] = ()


@dataclass(slots=True)
class Finding:
    """A finding: kind, blame and places, best first; places without a claim in `related`."""

    kind: Kind
    fields: list[BlamedField] = field(default_factory=list)
    spots: list[Spot] = field(default_factory=list)
    related: list[Spot] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refuted: list[Kind] = field(default_factory=list)
    """Kinds that an experiment spoke against."""
    confidence: float = 0.0
    """How sure the finding is that this tree refused, 0..1; decides between several trees."""


def blamed(pointer: str, reason: str, confidence: float, place: Place = "body") -> BlamedField:
    return BlamedField(pointer=pointer, place=place, reason=reason, confidence=confidence)
