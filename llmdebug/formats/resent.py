"""Requests of a replay that were sent twice, since it was killed before the first one was answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

NOTE = "replay"
"""The note beside an exchange that tells which step of which run it was."""
_WITHIN = 1_000
"""So many exchanges behind an unanswered one, its step is looked for: a replay that is taken up begins with it."""


class Step(msgspec.Struct, frozen=True):
    """What that note tells."""

    run: str
    step: int


def sent_again(
    noted: Sequence[int], is_answered: Callable[[int], bool], step_of: Callable[[int], Step | None]
) -> frozenset[int]:
    """The unanswered exchanges whose step is the next one that was sent of their run.

    `noted` are the exchanges with the note, in order; few of them are read with `step_of`.
    """
    found: set[int] = set()
    later: dict[str, int] = {}
    for number in reversed(list(_near_unanswered(noted, is_answered))):
        mine = step_of(number)
        if mine is None:
            continue
        if not is_answered(number) and later.get(mine.run) == mine.step:
            found.add(number)
        later[mine.run] = mine.step
    return frozenset(found)


def _near_unanswered(noted: Sequence[int], is_answered: Callable[[int], bool]) -> Iterator[int]:
    left = 0
    for number in noted:
        if not is_answered(number):
            left = _WITHIN + 1
        if left:
            yield number
            left -= 1
