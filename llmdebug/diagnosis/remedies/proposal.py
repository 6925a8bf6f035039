"""A remedy in the making: what changes, how likely it passes, and how much of the sender's intent it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llmdebug.http.exchange import Headers


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of the refused request; whatever is empty stays as it was."""

    title: str
    why: str
    bodies: tuple[Any, ...] = ()
    """The new bodies, one a request. Empty: the body stays."""
    odds: float = 0.5
    """How likely it passes, 0..1."""
    keeps: float = 0.8
    """How much of what the sender wanted is left, 0..1."""
    method: str = ""
    path: str = ""
    query: tuple[tuple[str, str], ...] | None = None
    headers: Headers = ()
    """Headers to set."""
    is_advice: bool = False
    """Whether there is nothing to send: it is to be done at the server."""
    is_tried: bool = False
    """Whether its bodies were held against the tree already."""

    @property
    def score(self) -> float:
        return self.odds * self.keeps


def advice(title: str, why: str, score: float = 0.2) -> Proposal:
    return Proposal(title, why, odds=score, keeps=1.0, is_advice=True)
